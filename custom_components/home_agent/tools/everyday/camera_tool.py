"""look_at_camera: what can be seen through a camera."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, override

import probatio

from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

from ...errors import ToolExecutionError, ValidationError
from ...inference.models import Caller
from ...safety.frozen import FrozenCall, FrozenLook
from ...texts import one_line
from ..base import HomeAgentTool, PartlyFailed, ToolRun
from ..recipients import NOTIFY, People
from .choosing import choose_one, records_of, user_of

DOMAIN: Final = "camera"
MAX_QUESTION: Final = 300

type See = Callable[[bytes, str, str, Caller], Awaitable[str]]
"""Answers a question from a picture of a media type for somebody."""


class CameraTool(HomeAgentTool):
    """Shows one picture to a vision model. Anybody may have written the text in a picture."""

    name = "look_at_camera"
    max_text = 4 * MAX_QUESTION
    title = "Look through a camera"
    description = "Look through a camera and answer a question about it."
    domain = DOMAIN
    untrusted = True
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=False, open_world=False)

    def __init__(self, see: See, people: People) -> None:
        self._see = see
        self._people = people
        slots: dict[Any, Any] = {probatio.Optional("camera"): str, probatio.Optional("question"): str}
        if people:
            slots[probatio.Optional("send", description="to the speaker's phone")] = bool
        self.parameters = probatio.Schema(slots)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Get one picture through the guard; it needs a confirmation unless the household allows it."""
        chosen = choose_one(run, records_of(run, DOMAIN), args.get("camera"), "camera")
        question = args.get("question") or run.sentence or "What can be seen?"
        question = one_line(question.strip(), MAX_QUESTION)
        # The phone that is spoken to shows the picture without being asked to.
        phones = self._people.phones(user_of(run))
        if "send" not in args:
            phones = [route for route in phones if self._people.is_phone(route, run.speaker.device_id)]
        elif not args["send"]:
            phones = []
        elif not phones:
            raise ValidationError("no phone of the speaker is known; look without send")

        async def look() -> str:
            # Its packages are there only where there is a camera.
            from homeassistant.components.camera import async_get_image  # noqa: PLC0415

            try:
                image = await async_get_image(run.hass, chosen.entity_id, timeout=10, width=1024)
            except HomeAssistantError as err:
                raise ToolExecutionError(f"The camera gives no picture: {err}") from err
            if not image.content_type.startswith("image/"):
                raise ToolExecutionError("The camera gives no picture")
            if len(image.content) > 8_000_000:
                raise ToolExecutionError("The picture of the camera is too large")
            return await self._see(image.content, image.content_type, question, run.calls.caller)

        name = one_line(chosen.name, 80)
        shown = {"message": name, "data": {"image": f"/api/camera_proxy/{chosen.entity_id}"}}
        frozen = FrozenLook(
            entity_id=chosen.entity_id,
            question=question,
            look=look,
            sends=tuple(
                FrozenCall(domain=NOTIFY, service=route.service, entity_ids=(), data=shown)
                for route in phones
            ),
        )
        seen = await run.guard.async_look(frozen, run.speaker, run.draft)
        result: dict[str, JsonValueType] = {"camera": name, "seen": seen}
        if frozen.unsent:
            raise PartlyFailed("The picture could not be sent to the phone", result)
        if frozen.sends:
            result["picture"] = "sent to the speaker's phone"
        return result
