"""search_web: the web by a search service. The query is sanitised before it leaves, and audited."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, override

import probatio

from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

from ...errors import HomeAgentError, ValidationError
from ...safety.disclosure import DataCategory
from ..base import HomeAgentTool, ToolRun
from .outgoing import Outgoing

if TYPE_CHECKING:
    from .search_services import SearchProvider

MAX_QUERY: Final = 400


class SearchTool(HomeAgentTool):
    """Asks a search service what the sanitiser lets through."""

    name = "search_web"
    discloses = DataCategory.NAMES
    max_text = 4 * MAX_QUERY
    title = "Web search"
    description = "Search the web. General words only: no names, addresses or plans of the household."
    parameters = probatio.Schema({probatio.Required("query"): str})
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=True)
    untrusted = True

    def __init__(self, provider: Callable[[], SearchProvider], outgoing: Outgoing) -> None:
        self._make = provider
        self._provider: SearchProvider | None = None
        self._outgoing = outgoing

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        query: str = " ".join(args["query"].split())
        if not query:
            raise ValidationError("query: write what to look for")
        sent = await self._outgoing.async_query(self.name, query[:MAX_QUERY], run)
        problem: str | None = "interrupted"
        try:
            self._provider = self._provider or self._make()
            results = await self._provider.async_search(sent.text, run.speaker.language)
            problem = None
        except HomeAgentError as err:
            problem = str(err)
            raise
        finally:
            self._outgoing.note(self.name, query, sent, run, problem)
        answer: dict[str, JsonValueType] = {"searched": sent.text} if sent.found else {}
        if not results:
            return {**answer, "results": [], "hint": "nothing was found; try other words"}
        return {
            **answer,
            "results": [
                {"title": result.title, "text": result.snippet, "source": result.url} for result in results
            ],
        }
