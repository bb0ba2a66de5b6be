"""What every custom tool is made of: checked YAML, texts and addresses with templates, connections."""

from abc import abstractmethod
import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
import re
from time import monotonic
from typing import Any, ClassVar, Final, NamedTuple, override
from urllib.parse import quote, quote_plus, unquote, urlencode

from aiohttp import ClientResponse, ClientSession
from jinja2 import TemplateError as SyntaxProblem, Undefined
from jinja2.meta import find_undeclared_variables
import probatio
from yarl import URL

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import TemplateError
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.redact import REDACTED
from homeassistant.helpers.template import Template, TemplateEnvironment, is_template_string
from homeassistant.util.json import JsonValueType, json_loads

from ...const import CONF_REST_ALLOWED_HOSTS
from ...errors import PermissionDenied, ToolExecutionError
from ...regex import lazy_regex
from ...texts import leaves
from ..base import HomeAgentTool, Leaving, ToolRun
from ..calls.schema import MAX_CHARS, JsonSchema
from ..outside.fetch import Request, async_fetch, async_open, async_session, is_allowed, is_local_name
from ..outside.outgoing import declared_by

MAX_REASON: Final = 120
SINGLE: Final = lazy_regex(r"\s*\{\{-?((?:(?!\{\{|\}\}).)*?)-?\}\}\s*", re.DOTALL)
TEXT: Final = probatio.All(cv.string, probatio.Length(min=1))

type Variables = Mapping[str, Any]


def by_type(schemas: Mapping[str, Any]) -> Callable[[Any], dict[str, Any]]:
    """Return the check of a mapping whose `type` names the schema of its other keys.

    `cv.key_value_schemas` would repeat what was written there, which may be a secret.
    """
    kinds = probatio.Schema(
        {probatio.Required("type"): probatio.All(str, probatio.In(list(schemas)))}, extra=probatio.ALLOW_EXTRA
    )
    compiled = {name: probatio.Schema(schema) for name, schema in schemas.items()}

    def check(value: Any) -> dict[str, Any]:
        kind = kinds(value)["type"]
        return {"type": kind, **compiled[kind]({key: value[key] for key in value if key != "type"})}

    return check


class Text:
    """A text that may hold templates."""

    def __init__(self, hass: HomeAssistant, source: str, path: str) -> None:
        self.path = path
        self.source = source
        self.is_template = is_template_string(source)
        self._template = Template(source, hass)
        single = SINGLE.fullmatch(source)
        self._typed = (
            Template(f"{{{{ ({single[1]}) | default(none) | to_json }}}}", hass)
            if single and single[1].strip()
            else None
        )

    def render(self, variables: Variables) -> str:
        """Return the text. Raises ToolExecutionError for a template that fails."""
        if not self.is_template:
            return self.source
        try:
            return str(self._template.async_render(dict(variables), parse_result=False))
        except TemplateError as err:
            # The template itself may contain secrets.
            reason = str(err).replace(self.source, "…")[:MAX_REASON]
            raise ToolExecutionError(f"The template of {self.path} failed: {reason}") from err

    def value(self, variables: Variables) -> Any:
        """Return the value of a single expression with its type, else the text.

        An expression that has nothing to give, an argument that was left out for instance, gives None.
        """
        if self._typed is None:
            return self.render(variables)
        try:
            return json_loads(self._typed.async_render(dict(variables), parse_result=False))
        except TemplateError, ValueError:
            return self.render(variables)


class Templates(NamedTuple):
    """Makes the texts of one tool. All methods raise probatio.Invalid for templates that cannot work."""

    hass: HomeAssistant
    environment: TemplateEnvironment
    names: Collection[str]
    """The tool's arguments."""

    def text(self, source: str, *path: str | int, extra: Collection[str] = ()) -> Text:
        """Return a text; `extra` are variables that it has besides the arguments."""
        where = ["handler", *path]
        try:
            used = find_undeclared_variables(self.environment.parse(source))
        except (SyntaxProblem, RecursionError, ValueError, OverflowError) as err:
            reason = str(err).replace(source, "…")[:MAX_REASON]
            raise probatio.Invalid(f"invalid template ({reason})", where) from err
        if unknown := used - {*self.names, *extra} - self.environment.globals.keys():
            listed = ", ".join(sorted(unknown))
            raise probatio.Invalid(
                f"the template uses {listed}: not among the tool's parameters. A key is written as "
                "`!secret name`, outside of templates",
                where,
            )
        return Text(self.hass, source, ".".join(map(str, where)))

    def value(self, node: Any, *path: str | int) -> Any:
        """Return a value of any shape with its texts."""
        if isinstance(node, str):
            return self.text(node, *path)
        if isinstance(node, list):
            return [self.value(item, *path, number) for number, item in enumerate(node)]
        if isinstance(node, dict):
            return {key: self.value(item, *path, key) for key, item in node.items()}
        return node


def rendered(part: Any, variables: Variables) -> Any:
    """Return a value with its templates rendered; fields whose expression gives nothing are left out.

    Raises ToolExecutionError for a template that fails.
    """
    if isinstance(part, Text):
        return part.value(variables)
    if isinstance(part, list):
        pairs = [(item, rendered(item, variables)) for item in part]
        return [value for item, value in pairs if value is not None or not isinstance(item, Text)]
    if isinstance(part, Mapping):
        fields = [(key, item, rendered(item, variables)) for key, item in part.items()]
        return {key: value for key, item, value in fields if value is not None or not isinstance(item, Text)}
    return part


MAX_URL: Final = 8_000
MAX_QUOTED: Final = 5
"""How often a value may have been encoded before it is looked at."""
_EXPRESSION = lazy_regex(r"(\{\{.*?(?:\}\}|\Z))", re.DOTALL)
_ORIGIN = lazy_regex(r"(https?)://([^/?#{}\s\\]+)(?=[/?]|$)", re.IGNORECASE)
_LITERAL = "/:?[]@!$&'()*+,;=%-._~"
_SEPARATORS = lazy_regex(r"[/\\]")
MAX_BYTES: Final = 1_000_000
MAX_DEPTH: Final = 100
FORBIDDEN_HEADERS: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"}
)
HEADER = lazy_regex(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
CONTROL = lazy_regex(r"[\x00-\x1f\x7f]+")
SHORTEST_SECRET: Final = 6


class UrlTemplate(NamedTuple):
    """An address in parts: what was written, and templates whose values are encoded."""

    parts: tuple[str | Text, ...]
    host: str

    def build(self, variables: Variables, query: Sequence[tuple[str, str]]) -> str:
        """Return the address with more parameters.

        Raises ToolExecutionError for a value that would lead elsewhere.
        """
        url = ""
        for part in self.parts:
            if isinstance(part, str):
                url += part
                continue
            value = plain = part.render(variables)
            for _ in range(MAX_QUOTED):
                plain = unquote(plain)
            steps = {segment.strip() for segment in _SEPARATORS.split(plain)}
            if "?" not in url and (not value or not steps.isdisjoint((".", ".."))):
                shown = "is empty" if not value else "may not hold . or .. as a part of a path"
                raise ToolExecutionError(f"The value for {part.path} {shown}. Change the arguments")
            url += quote(value, safe="", errors="replace")
        if len(url) > MAX_URL:
            raise ToolExecutionError("The arguments are too long for an address")
        added = urlencode(query, quote_via=quote, safe="", errors="replace")
        return f"{url}{'&' if '?' in url else '?'}{added}" if added else url


def read_url(source: str, templates: Templates, key: str = "url") -> UrlTemplate:
    """Return an address that was checked."""
    parts = tuple(
        templates.text(part, key) if index % 2 else quote(part, safe=_LITERAL)
        for index, part in enumerate(_EXPRESSION.split(source))
        if part
    )
    return UrlTemplate(parts, (URL(_EXPRESSION.sub("x", source)).host or "").casefold())


def _address(value: str, *, is_fixed: bool = False) -> str:
    """Check an address, whose path and query may hold templates unless it is fixed."""
    source = value.strip()
    literals = _EXPRESSION.split(source)
    origin, written = _ORIGIN.match(literals[0]), "".join(literals[::2])
    if origin is None or (len(literals) > 1 and origin.end() == len(literals[0])):
        raise probatio.Invalid("must begin with scheme, host and / as plain text")
    if is_template_string(written) or "}}" in written:
        raise probatio.Invalid("only closed {{ }} templates are supported")
    if "@" in origin[2]:
        raise probatio.Invalid("no user name and password here: write them under auth, type basic")
    path = unquote(written).partition("?")[0]
    if "#" in written or any(segment in (".", "..") for segment in path.split("/")):
        raise probatio.Invalid("no #, and no . or .. as a part of the path")
    try:
        url = URL(_EXPRESSION.sub("x", source))
        is_complete = bool(url.host) and url.port is not None
    except ValueError:
        is_complete = False
    if not is_complete:
        raise probatio.Invalid("not an address")
    if is_fixed and is_template_string(source):
        raise probatio.Invalid("no templates here")
    return quote(source, safe=_LITERAL) if is_fixed else source


ADDRESS: Final = probatio.All(TEXT, _address)
FIXED_ADDRESS: Final = probatio.All(TEXT, partial(_address, is_fixed=True))


def header_name(refused: Collection[str]) -> Callable[[str], str]:
    """Return the check of a header's name."""

    def check(name: str) -> str:
        if not HEADER.fullmatch(name) or name.lower() in refused:
            raise probatio.Invalid("this header cannot be set")
        return name

    return check


AUTH: Final = by_type(
    {
        "bearer": {probatio.Required("token"): TEXT},
        "basic": {probatio.Required("username"): TEXT, probatio.Required("password"): TEXT},
        "oauth2": {
            probatio.Required("token_url"): FIXED_ADDRESS,
            probatio.Required("client_id"): TEXT,
            probatio.Required("client_secret"): TEXT,
            probatio.Optional("scope"): TEXT,
            probatio.Optional("audience"): TEXT,
            probatio.Optional("credentials_in", default="header"): probatio.In(("header", "body")),
        },
    }
)
EXPIRES_SECONDS: Final = 3600
EARLY_SECONDS: Final = 30

type Connect = Callable[[str], ClientSession]
"""Returns a session for a host."""


def _packed(user: str, password: str) -> str:
    return b64encode(f"{user}:{password}".encode()).decode()


@dataclass(slots=True)
class Auth:
    """Who we say we are: a token, a user and a password, or client credentials.

    For client credentials a token is fetched, kept until it expires, and fetched again when it is refused.
    """

    config: Mapping[str, Any]
    texts: Sequence[Text]
    """The token, or the user and the password."""
    _sent: str = ""
    """The header that was sent last."""
    _token: str = ""
    _expires: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def async_header(self, connect: Connect, variables: Variables) -> str:
        """Return the value of the Authorization header, fetched by one request for all that wait for it."""
        header = f"Bearer {await self._async_token(connect)}" if not self.texts else ""
        if self.texts:
            values = [text.render(variables) for text in self.texts]
            header = f"Basic {_packed(*values)}" if len(values) > 1 else f"Bearer {values[0].strip()}"
        self._sent = CONTROL.sub("", header)
        return self._sent

    async def _async_token(self, connect: Connect) -> str:
        session = connect(URL(self.config["token_url"]).host or "")
        async with self._lock:
            if self._token and monotonic() < self._expires:
                return self._token
            in_body = self.config["credentials_in"] == "body"
            keys = ("scope", "audience", *(("client_id", "client_secret") if in_body else ()))
            form = {"grant_type": "client_credentials"}
            form |= {key: self.config[key] for key in keys if key in self.config}
            headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
            if not in_body:
                headers["Authorization"] = f"Basic {self._client()}"
            url, body = self.config["token_url"], urlencode(form).encode()
            request = Request(method="POST", url=url, headers=headers, body=body)
            answer = await async_fetch(session, request, MAX_BYTES)
            if answer.status >= HTTPStatus.BAD_REQUEST:
                raise RefusedByServer("token server", answer.status)
            granted: Any = None
            with suppress(ValueError):
                granted = json_loads(answer.text)
            token = granted.get("access_token") if isinstance(granted, dict) else None
            if not isinstance(token, str) or not token.isprintable():
                raise ToolExecutionError("The token server's answer holds no access_token")
            seconds = granted.get("expires_in")
            valid = seconds if isinstance(seconds, (int, float)) and seconds > 0 else EXPIRES_SECONDS
            self._token, self._expires = token, monotonic() + max(valid - EARLY_SECONDS, valid / 2)
            return token

    def forget(self) -> bool:
        """Drop a token that was refused; return whether another one can be fetched."""
        self._token = ""
        return not self.texts

    def secrets(self) -> list[str]:
        """Return the secrets, which must never be shown."""
        sent = [self._sent, self._sent.partition(" ")[2]]
        if not self.texts:
            return [self.config["client_secret"], self._client(), *sent]
        sources = [text.source for text in self.texts]
        return [*sent, sources[-1], _packed(*sources)] if len(sources) > 1 else [*sent, *sources]

    def _client(self) -> str:
        return _packed(*(quote_plus(self.config[key]) for key in ("client_id", "client_secret")))


class RefusedByServer(ToolExecutionError):
    """A server answered with a status that is none of a success."""

    def __init__(self, server: str, status: int) -> None:
        is_about_keys = status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
        why = ": it refuses the credentials of this tool. The person has to correct them"
        super().__init__(f"The {server} answered with status {status}{why if is_about_keys else ''}")
        self.status = status


class AskAgain(ToolExecutionError):
    """A server no longer knows our session or our token; nothing was done, and a new one is asked for."""


class Connection(NamedTuple):
    """How a tool reaches its servers, who it says it is, and what the household says of it."""

    auth: Auth | None
    timeout: float
    verify_ssl: bool
    private_network: bool
    private_words: bool
    """Whether it may have private words."""
    read_only: bool | None
    """Whether it changes nothing; None if the household does not say."""

    @classmethod
    def of(cls, config: Mapping[str, Any], templates: Templates) -> Connection:
        """Return the connection of a handler. Raises probatio.Invalid for a template that cannot work."""
        auth: Auth | None = None
        if (written := config.get("auth")) is not None:
            keys = {"basic": ("username", "password"), "bearer": ("token",)}.get(written["type"], ())
            auth = Auth(written, [templates.text(written[key], "auth", key) for key in keys])
        return cls._make([auth, *(config.get(key) for key in cls._fields[1:])])

    def session(self, hass: HomeAssistant, host: str) -> ClientSession:
        """Return a session; private addresses are reached only if the configuration names them."""
        local = self.private_network or is_local_name(host)
        return async_session(hass, local=local, verify_ssl=self.verify_ssl)

    @asynccontextmanager
    async def async_open(
        self, server: str, request: Request, connect: Connect, variables: Variables
    ) -> AsyncIterator[ClientResponse]:
        """Send a request that says who we are, and yield the answer before it is read.

        Raises FetchError, RefusedByServer, and AskAgain where the token is no longer known.
        """
        session, auth = connect(URL(request.url, encoded=True).host or ""), self.auth
        if auth is not None:
            request.headers["Authorization"] = await auth.async_header(connect, variables)
        async with async_open(session, request) as response:
            if response.status >= HTTPStatus.BAD_REQUEST:
                refused = RefusedByServer(server, response.status)
                if response.status == HTTPStatus.UNAUTHORIZED and auth is not None and auth.forget():
                    raise AskAgain(str(refused))
                raise refused
            yield response

    async def async_ask[T](self, server: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Return what `ask` returns in time; it may raise AskAgain once. Raises ToolExecutionError."""
        try:
            async with asyncio.timeout(self.timeout) as limit:
                try:
                    return await ask()
                except AskAgain:
                    return await ask()
        except TimeoutError as err:
            if not limit.expired():
                raise
            raise ToolExecutionError(f"The {server} did not answer within {self.timeout:g} s") from err


def connection_schema(seconds: float, most: int) -> dict[probatio.Marker, Any]:
    """Return the keys of a connection; `seconds` is its usual time limit."""
    return {
        probatio.Optional("auth"): AUTH,
        probatio.Optional("private_words", default=False): bool,
        probatio.Optional("read_only"): bool,
        probatio.Optional("timeout", default=seconds): probatio.All(
            probatio.Coerce(float), probatio.Range(min=1, max=most)
        ),
        probatio.Optional("verify_ssl", default=True): bool,
        probatio.Optional("private_network", default=False): bool,
    }


def without_keys(value: Any, secrets: set[str], depth: int = MAX_DEPTH) -> Any:
    """Return an answer without the keys that were sent; some servers send them back.

    Raises ToolExecutionError for one that is nested too deeply.
    """
    if not depth:
        raise ToolExecutionError("The server's answer is nested too deeply")
    if isinstance(value, str):
        for secret in sorted(secrets, key=len, reverse=True):
            if len(secret) >= SHORTEST_SECRET:
                value = value.replace(secret, REDACTED)
        return value
    if isinstance(value, list):
        return [without_keys(item, secrets, depth - 1) for item in value]
    if isinstance(value, dict):
        return {
            without_keys(key, secrets): without_keys(item, secrets, depth - 1) for key, item in value.items()
        }
    return value


class Recipe(NamedTuple):
    """A tool that was read; each agent makes its own of it."""

    name: str
    description: str
    parameters: JsonSchema
    kind: type[CustomTool]
    handler: Any
    """What `kind.read` has returned."""
    optional: bool = False
    """Whether only agents whose options let MCP tools change things have it."""

    def make(self, settings: Mapping[str, Any]) -> CustomTool:
        """Return the tool for an agent with these options."""
        return self.kind(self, settings)


class CustomTool(HomeAgentTool):
    """A tool that the household wrote. Each handler type is a class of its own, see `HANDLERS`.

    One object serves one agent: `settings` are the options of its entry.
    """

    schema: ClassVar[Any]
    """The keys of its handler besides `type`."""
    judged = True
    component = "custom_tools"
    max_text = MAX_CHARS

    def __init__(self, recipe: Recipe, settings: Mapping[str, Any]) -> None:
        self.name = self.title = recipe.name
        self.description = recipe.description
        self.parameters: JsonSchema = recipe.parameters
        self.handler: Any = recipe.handler
        self.settings = settings

    @classmethod
    @abstractmethod
    def read(cls, config: Mapping[str, Any], templates: Templates) -> Any:
        """Return a handler that fits the schema. Raises probatio.Invalid for a template that cannot work."""

    @abstractmethod
    async def async_handle(self, variables: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Do the work; `variables` are the arguments as templates take them."""

    @override
    async def async_check(self, args: Mapping[str, Any], run: ToolRun) -> None:
        for text in leaves(args):
            if isinstance(text, str) and run.hass.states.get(text) is not None and not run.reader.sees(text):
                raise PermissionDenied("An entity does not exist or is not exposed to the assistant")

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        # Arguments that were left out are undefined and cause no warning.
        names = self.parameters.written.get("properties", {})
        return await self.async_handle({**{name: Undefined(name=name) for name in names}, **args}, run)


class ServerTool(CustomTool):
    """A tool that asks a server. Its results are untrusted, and what leaves the home is sanitised."""

    untrusted = True
    host: str
    connection: Connection

    @property
    @override
    def source(self) -> str | None:
        return None if is_local_name(self.host) else self.host

    def check_host(self, host: str) -> None:
        """Raise PermissionDenied for a host that the options do not allow."""
        if not is_allowed(host, self.settings.get(CONF_REST_ALLOWED_HOSTS) or ()):
            raise PermissionDenied(f"The host {host} is not among the allowed ones (rest_allowed_hosts)")

    @override
    def leaving(self, args: Mapping[str, Any]) -> Leaving | None:
        if self.source is None:
            return None
        return Leaving(
            tool=self.name,
            args=args,
            source=self.source,
            declared=declared_by(self),
            only_reads=self.only_reads(args),
            private=self.connection.private_words,
            allowing="If this tool is to have it, the person writes private_words: true into its handler.",
        )
