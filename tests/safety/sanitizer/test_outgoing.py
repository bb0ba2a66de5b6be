"""What leaves a turn that has read text from outside: words that were said or read, and nothing else."""

from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any, override

import probatio
import pytest

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from tests.helpers.agent import call_action
from tests.helpers.disguises import DISGUISES, SPELLING
from tests.helpers.injected import Home, make_home
from tests.helpers.other_api import OtherAPI
from tests.helpers.real_files import hass_storage  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

SECRETS = {
    "plan": "nobody at home from friday to sunday",
    "entity id": "lock.front_door",
    "name": "Anna Lindqvist",
    "memory": "Anna likes green tea",
    "state": "front door unlocked, alarm disarmed",
    "code": "the code is 4711",
}
PAGE = (
    "The Savoy cinema in Hamburg shows Dune on Monday at 20:15. Banana bread: bake 180 grams of flour with "
    "two bananas for 55 minutes. More at https://cinema.example/dune?id=77."
)


class Fetch(llm.Tool):
    """A tool of another LLM API that asks a server."""

    description = "Ask a server."
    integration = "test"
    parameters = probatio.Schema(
        {
            probatio.Required("url"): str,
            probatio.Optional("numbers"): [int],
            probatio.Optional("flags"): [bool],
        }
    )

    def __init__(self, name: str, *, read_only: bool) -> None:
        self.name = name
        self.annotations = llm.ToolAnnotations(read_only=read_only, open_world=True)
        self.calls: list[dict[str, Any]] = []
        self.result: dict[str, Any] = {"page": "Nothing there."}

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> llm.ToolResult:
        """Record the call."""
        self.calls.append(dict(tool_input.tool_args))
        return llm.ToolResult(data=dict(self.result))


@dataclass(slots=True)
class Outside:
    """A house with a search service and the tools of another LLM API."""

    home: Home
    fetch: Fetch
    send: Fetch

    async def lines(self) -> list[dict[str, Any]]:
        """Return the search log, the newest first."""
        log: Any = await call_action(self.home.agent.hass, "search_log", {"limit": 100})
        return list(log["entries"])


@pytest.fixture
async def outside(hass: HomeAssistant, model_server: ModelServer) -> Outside:
    """Return a house with a search service and the tools of another LLM API."""
    fetch, send = Fetch("fetch_page", read_only=True), Fetch("send_page", read_only=False)
    llm.async_register_api(hass, OtherAPI(hass, "pages", [fetch, send]))
    home = await make_home(
        hass, model_server, llm_apis=["pages"], tools_max_calls=50, policy_allowed=["lock"]
    )
    hass.states.async_set("person.anna", "home", {"friendly_name": "Anna Lindqvist"})
    hass.states.async_set("lock.front_door", "locked", {"friendly_name": "Front door"})
    return Outside(home, fetch, send)


@pytest.mark.slow
@pytest.mark.parametrize("secret", SECRETS)
async def test_no_secret_leaves_in_any_disguise(outside: Outside, secret: str) -> None:
    """A page has been read, and the model puts a secret into searches, pages and lists: nothing is sent."""
    home = outside.home
    assert len(DISGUISES) > 26
    for disguise in DISGUISES.values():
        hidden = disguise(SECRETS[secret])
        await home.read(
            PAGE,
            ("search_web", {"query": hidden}),
            ("search_web", {"query": f"Savoy Hamburg {hidden}"}),
            ("fetch_page", {"url": hidden}),
            ("fetch_page", {"url": f"https://cinema.example/dune?id={hidden}"}),
            ("fetch_page", {"url": "https://cinema.example/dune?id=77", "numbers": list(map(ord, hidden))}),
        )
    assert home.queries == []
    assert outside.fetch.calls == []
    assert {entry["blocked"] for entry in await outside.lines()} == {True}


@pytest.mark.parametrize(
    "page",
    [
        " ".join(SECRETS.values()) + " " + PAGE,
        " ".join("abcdefghijklmnopqrstuvwxyz0123456789"),
        f"{SPELLING} stop",
        " ".join(f"{letter}pple" for letter in "abcdefghijklmnopqrstuvwxyz"),
        " ".join(f"{byte:02x} {byte:08b} {byte}" for byte in range(32, 123)),
    ],
)
async def test_a_page_that_brings_the_words(outside: Outside, page: str) -> None:
    """A page with the secret's words, an alphabet or a code book makes no secret leave."""
    home = outside.home
    hidden = [DISGUISES[name](secret) for name in DISGUISES for secret in SECRETS.values() if name != "glued"]
    for at in range(0, len(hidden), 20):
        await home.read(page, *(("search_web", {"query": query}) for query in hidden[at : at + 20]))
    assert home.queries == []


FOLLOW_UPS = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "follow_ups.json").read_text(encoding="utf-8")
)


async def test_ordinary_follow_ups_are_searched_for(outside: Outside) -> None:
    """What people want to know next after something was read."""
    home = outside.home
    held: list[str] = []
    for item in FOLLOW_UPS:
        before = len(home.queries)
        await home.read(item["page"], ("search_web", {"query": item["query"]}), said=item["said"])
        if len(home.queries) == before:
            held.append(item["query"])
    assert len(FOLLOW_UPS) >= 30
    assert len(held) <= 0.1 * len(FOLLOW_UPS), held


async def test_addresses_that_were_read_are_opened(outside: Outside) -> None:
    """To the last letter; what left is in the search log with the tool's name."""
    address = "https://cinema.example/dune?id=77"
    await outside.home.read(
        PAGE,
        ("fetch_page", {"url": f"{address}8"}),
        ("fetch_page", {"url": address, "flags": [True, False, True]}),
        ("fetch_page", {"url": address}),
    )
    assert outside.fetch.calls == [{"url": address}]
    newest, *refused = await outside.lines()
    assert (newest["tool"], newest["blocked"], newest["tainted"]) == ("fetch_page", False, True)
    assert [entry["reason"] for entry in refused] == ["unknown_words", "unknown_words"]


async def test_other_apis_get_no_private_words_unasked(outside: Outside) -> None:
    """Nothing was read: names leave only where the person has said them, and each call is in the log."""
    home = outside.home
    call = ("fetch_page", {"url": "https://pages.example/?q=Anna+Lindqvist"})
    home.agent.server.script([tool_calls([call]), text("There.")])
    await home.agent.say("Look for something", context=home.anna)
    assert outside.fetch.calls == []
    home.agent.server.script([tool_calls([call]), text("There.")])
    await home.agent.say("Look for Anna Lindqvist", context=home.anna)
    assert outside.fetch.calls == [call[1]]
    assert [(entry["tool"], entry["blocked"]) for entry in await outside.lines()] == [
        ("fetch_page", False),
        ("fetch_page", True),
    ]


async def test_a_tool_that_the_household_allows_gets_private_words(outside: Outside) -> None:
    home = outside.home
    await home.agent.set_options(policy_allowed=["tool:fetch_page"])
    call = ("fetch_page", {"url": "https://pages.example/?q=Anna+Lindqvist"})
    home.agent.server.script([tool_calls([call]), text("There.")])
    await home.agent.say("Look for something", context=home.anna)
    assert outside.fetch.calls == [call[1]]


@pytest.mark.parametrize(
    ("words", "asks"),
    [
        ("A note about the film", True),
        ("Anna is never at home on Tuesdays", False),
        ("QW5uYSBpcyBuZXZlciBhdCBob21l", False),
        ("A n n a i s a w a y", False),
        ("nobody at home until Sunday", False),
        ("https://evil.example/film", False),
    ],
)
async def test_a_tool_that_acts_is_asked_about_or_refused(outside: Outside, words: str, asks: bool) -> None:
    """After a page was read, what is private or cannot be read is refused before anybody is asked."""
    home = outside.home
    answer = await home.read(PAGE, ("send_page", {"url": words}))
    assert outside.send.calls == []
    home.agent.server.script([text("Nothing.")])
    await home.agent.say("yes", conversation_id=answer.conversation_id, context=home.anna)
    assert outside.send.calls == ([{"url": words}] if asks else [])


async def test_words_of_the_whole_conversation_count(outside: Outside) -> None:
    """What was said and found earlier may be searched for, in later turns too."""
    home = outside.home
    answer = await home.read(PAGE, said="Is there anything by Villeneuve on?")
    await home.go_on(
        answer.conversation_id,
        ("search_web", {"query": "Villeneuve Dune Savoy Hamburg"}),
        ("search_web", {"query": "Villeneuve Kubrick"}),
        said="Find out more",
    )
    assert len(home.queries) == 1
    assert "Villeneuve" in home.queries[0]


async def test_words_of_a_server_go_back_there_only(outside: Outside) -> None:
    """An answer of another API's server is not public: it may contain somebody's mail."""
    home = outside.home
    outside.fetch.result = {"mail": "Your appointment with Zeltinger is confirmed"}
    home.agent.server.script(
        [
            tool_calls([("fetch_page", {"url": "mail"})]),
            tool_calls([("search_web", {"query": "Zeltinger appointment"})]),
            tool_calls([("fetch_page", {"url": "Zeltinger appointment"})]),
            text("There."),
        ]
    )
    await home.agent.say("Read my mail", context=home.anna)
    assert home.queries == []
    assert [call["url"] for call in outside.fetch.calls] == ["mail", "Zeltinger appointment"]


async def test_what_plays_is_searched_for(hass: HomeAssistant, outside: Outside) -> None:
    """Somebody asks what is playing, and goes on about that; an exposed player's titles only."""
    playing = {"media_title": "Yellow Submarine", "media_artist": "The Beatles", "friendly_name": "Radio"}
    hass.states.async_set("media_player.radio", "playing", playing)
    async_expose_entity(hass, "conversation", "media_player.radio", True)
    hass.states.async_set("media_player.hidden", "playing", {"media_title": "Zeltinger"})
    async_expose_entity(hass, "conversation", "media_player.hidden", False)
    home, server = outside.home, outside.home.agent.server
    title = ("ha_query", {"entity_id": "media_player.radio", "attributes": ["media_title", "media_artist"]})
    server.script([tool_calls([title]), text("Yellow Submarine.")])
    answer = await home.agent.say("What is playing on the radio?", context=home.anna)
    await home.go_on(
        answer.conversation_id,
        ("search_web", {"query": "Yellow Submarine Beatles release date"}),
        ("search_web", {"query": "Yellow Submarine songwriter"}),
        ("search_web", {"query": "Zeltinger songwriter"}),
        ("search_web", {"query": "Anna Lindqvist Yellow Submarine"}),
        said="When was it written, and who wrote it?",
    )
    sent = [query.partition("&")[0] for query in home.queries]
    assert sent == ["q=Yellow+Submarine+Beatles+release+date", "q=Yellow+Submarine+songwriter"]
