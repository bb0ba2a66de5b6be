"""The steps that ask a model for its capabilities, with a page that shows that it takes a while."""

import asyncio
from typing import Any, Final

from homeassistant.data_entry_flow import FlowHandler, FlowResultType

from ..inference.models import Endpoint, Probe
from .probe import async_probe_model

UNSEEN_SECONDS: Final = 3
"""How long a form waits before a page says that the model is asked: a server may have to load it first."""


class ProbeSteps(FlowHandler[Any, Any, Any]):
    """Asks a model. The flow goes on in `async_step_probed`, which takes the result from `probed`."""

    _asked: Endpoint | None = None
    _probing: asyncio.Task[Probe] | None = None

    async def async_ask_model(self, endpoint: Endpoint) -> Any:
        """Begin; return the page that is shown next."""
        self._asked = endpoint
        return await self.async_step_probing()

    async def async_step_probing(self, _user_input: dict[str, Any] | None = None) -> Any:
        """Ask the model, and show that if it takes longer."""
        assert self._asked is not None
        if self._probing is None:
            task = async_probe_model(self.hass, self._asked)
            self._probing = self.hass.async_create_background_task(task, "home_agent probe of a model")
            await asyncio.wait([self._probing], timeout=UNSEEN_SECONDS)
        if not self._probing.done():
            return self.async_show_progress(
                step_id="probing",
                progress_action="probing",
                progress_task=self._probing,
                description_placeholders={"model": self._asked.model},
            )
        if self.cur_step is not None and self.cur_step["type"] is FlowResultType.SHOW_PROGRESS:
            return self.async_show_progress_done(next_step_id="probed")
        return await self.async_step_probed()

    async def async_step_probed(self, _user_input: dict[str, Any] | None = None) -> Any:
        """Go on with what was found out."""
        raise NotImplementedError

    def probed(self) -> Probe:
        """Return what was found out, once. Raises InvalidInput if the model could not be asked."""
        assert self._probing is not None
        task, self._probing = self._probing, None
        return task.result()
