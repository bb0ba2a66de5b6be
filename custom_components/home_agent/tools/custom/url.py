"""Addresses with arguments in them that stay in their place: host and path are those that were written."""

from dataclasses import dataclass
import re
from typing import Final
from urllib.parse import quote, unquote

from yarl import URL

from ...errors import ToolExecutionError
from ...regex import lazy
from .checks import Section
from .templates import Text, Variables, Writer

MAX_URL: Final = 8_000
EXAMPLE: Final = 'url: "https://api.example.com/items/{{ item }}"'
_EXPRESSION = lazy(r"(\{\{.*?(?:\}\}|\Z))", re.DOTALL)
_ORIGIN = lazy(r"(https?)://([^/?#{}\s\\]+)(?=[/?]|$)", re.IGNORECASE)
_LITERAL = "/:?[]@!$&'()*+,;=%-._~"
_SEPARATORS = lazy(r"[/\\]")


@dataclass(frozen=True, slots=True)
class UrlTemplate:
    """An address in parts: what was written, and templates whose values are encoded."""

    parts: tuple[str | Text, ...]
    host: str
    path: str

    def build(self, variables: Variables) -> str:
        """Return the address. Raises ToolExecutionError for a value that would lead elsewhere."""
        done = ""
        for part in self.parts:
            done += part if isinstance(part, str) else self._value(part, variables, in_query="?" in done)
        if len(done) > MAX_URL:
            raise ToolExecutionError("The arguments are too long for an address")
        return done

    def _value(self, part: Text, variables: Variables, *, in_query: bool) -> str:
        """Return the value of one template, encoded."""
        value = part.render(variables)
        if not in_query:
            segments = _SEPARATORS.split(_unquoted(value))
            if not value or any(segment.strip() in (".", "..") for segment in segments):
                shown = "is empty" if not value else "may not hold . or .. as a part of a path"
                raise ToolExecutionError(f"The value for {part.path} {shown}. Change the arguments")
        return quote(value, safe="", errors="replace")


def _unquoted(value: str) -> str:
    """Return what a value means after however often it was encoded."""
    for _ in range(5):
        if (plain := unquote(value)) == value:
            break
        value = plain
    return value


def read_url(section: Section, writer: Writer, key: str = "url") -> UrlTemplate | None:
    """Return the address that a tool writes; None with the problem reported."""
    source = section.text(key, required=EXAMPLE)
    if source is None:
        return None
    source = source.strip()
    literals = _EXPRESSION.split(source)
    if problem := _problem_of(source, literals):
        section.problem(key, problem, example=f"`{EXAMPLE}`", braces="{{ }}")
        return None
    parts = tuple(
        writer.text(section, key, part) if index % 2 else quote(part, safe=_LITERAL)
        for index, part in enumerate(literals)
        if part
    )
    url = URL(_EXPRESSION.sub("x", source))
    return UrlTemplate(parts, (url.host or "").casefold(), section.at(key))


def _problem_of(source: str, literals: list[str]) -> str:
    """Return what is wrong with an address; empty if nothing is."""
    origin = _ORIGIN.match(literals[0])
    written = "".join(literals[::2])
    if origin is None or (len(literals) > 1 and origin.end() == len(literals[0])):
        return "address_begins"
    if any(mark in written for mark in ("{{", "}}", "{%", "{#")):
        return "address_templates"
    if "@" in origin[2]:
        return "address_password"
    path = unquote(written).partition("?")[0]
    if "#" in written or any(segment in (".", "..") for segment in path.split("/")):
        return "address_path"
    return "" if _has_host(source) else "no_address"


def _has_host(source: str) -> bool:
    """Return whether an address has a host and a possible port."""
    try:
        url = URL(_EXPRESSION.sub("x", source))
        return bool(url.host) and url.port is not None
    except ValueError:
        return False


def with_query(url: str, pairs: list[tuple[str, str]]) -> str:
    """Return an address with more parameters."""
    if not pairs:
        return url
    added = "&".join(
        f"{quote(name, safe='')}={quote(value, safe='', errors='replace')}" for name, value in pairs
    )
    return f"{url}{'&' if '?' in url else '?'}{added}"
