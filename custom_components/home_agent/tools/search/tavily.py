"""Tavily: a search service for models, with a key."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final, override

import orjson

from .base import (
    MAX_RESULTS,
    SearchError,
    SearchProvider,
    SearchResult,
    SearchTrouble,
    async_parsed,
    best,
    check_status,
    make_result,
)

USED_UP: Final = (432, 433)
"""Statuses of an account whose plan or pay-as-you-go limit is used up."""


class Tavily(SearchProvider):
    """The key travels in a header."""

    default_url = "https://api.tavily.com"
    needs_key = True

    @override
    async def async_search(self, query: str, language: str) -> Sequence[SearchResult]:
        """Ask for a basic search: one credit."""
        base = self._url if self._url.name == "search" else self._url / "search"
        body = {"query": query, "max_results": MAX_RESULTS, "search_depth": "basic"}
        answer = await self._async_ask(base, headers=self._bearer(), body=body)
        if answer.status in USED_UP:
            raise SearchError(SearchTrouble.RATE_LIMIT, "the account is used up")
        if answer.status >= HTTPStatus.BAD_REQUEST:
            check_status(answer, self._shown(_detail(answer.content)))
        return await async_parsed(_results, answer.content)


def _results(content: bytes) -> list[SearchResult]:
    """Return the results of an answer."""
    found: list[dict[str, Any]] = orjson.loads(content)["results"]
    return best([make_result(item.get("title"), item.get("content"), item.get("url")) for item in found])


def _detail(content: bytes) -> str:
    """Return why a request was refused, as far as the answer says so."""
    try:
        detail = orjson.loads(content)["detail"]
        return str(detail["error"] if isinstance(detail, dict) else detail)
    except ValueError, LookupError, TypeError:
        return ""
