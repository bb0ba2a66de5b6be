"""memory: one tool for what people want remembered; the five earlier names are accepted."""

from typing import Any

import pytest

from custom_components.home_agent.memory.records import Origin
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent
from tests.helpers.checks import for_each
from tests.helpers.remembering import FACT, anna, ben, told, user  # noqa: F401 - fixtures

OLDER = {"store_memory", "recall_memory", "forget_memory", "get_user_profile", "update_user_profile"}


async def memory(
    agent: Agent, action: str, said: str, words: str, context: Context | None = None, **more: Any
) -> dict[str, Any]:
    """Let the model call the tool; return what it got back."""
    call = ("memory", {"action": action, "text": words, **more})
    await agent.act(call, sentence=said, context=context)
    return agent.results[-1]


async def forget_all(agent: Agent) -> None:
    memories = agent.entry.runtime_data.memories
    await memories.async_drop([item.id for item in memories.all()])


def offered(agent: Agent) -> dict[str, Any]:
    """Return the tools that the last request carried, by name."""
    tools = agent.server.chats[-1].json["tools"]
    return {tool["function"]["name"]: tool["function"] for tool in tools}


async def test_one_tool_is_offered(hass: HomeAssistant, agent: Agent) -> None:
    """In place of five, which can still be called and are named in no error."""
    await told(agent, "Hello there, how are you?")
    names = set(offered(agent))
    assert "memory" in names
    assert not names & OLDER
    unknown = await agent.call("water_plants")
    assert "memory" in unknown["error"]
    assert not [name for name in OLDER if name in unknown["error"]]
    anna = user(hass, "Anna")
    assert (await agent.call("store_memory", content=FACT, context=anna))["success"]
    assert "honey" in str(await agent.call("recall_memory", query="tea", context=anna))
    assert "honey" in str(await agent.call("memory", action="recall", text="tea", context=anna))
    assert (await agent.call("forget_memory", memory="tea with honey", context=anna))["success"]


async def test_remembered_in_a_new_conversation(agent: Agent, anna: Context, ben: Context) -> None:
    """Beside the sentence and by recall, for its person alone; then it is forgotten."""
    kept = await memory(agent, "remember", "Remember that I drink tea with honey", FACT, anna)
    assert kept["result"] == {"remembered": FACT}
    again = await memory(agent, "remember", "Remember that I drink tea with honey", FACT, anna)
    assert again["result"]["known_before"] is True
    assert "honey" in await told(agent, "Make me some tea", anna)
    (line,) = (await memory(agent, "recall", "What do I drink?", "tea", anna))["result"]["remembered"]
    assert line.startswith(f"{FACT} (Anna, 20")
    assert "honey" not in str(await memory(agent, "recall", "What does Anna drink?", "tea", ben))
    assert not (await memory(agent, "forget", "Forget the tea", "tea with honey", ben))["success"]
    gone = await memory(agent, "forget", "Forget the tea", "tea with honey", anna)
    assert gone["result"] == {"forgotten": [FACT]}
    assert "honey" not in await told(agent, "Make me some tea", anna)


async def test_a_name_goes_into_the_profile(agent: Agent, anna: Context, subtests: pytest.Subtests) -> None:
    """It is sent with every sentence, and a later one replaces it."""
    for said, words, name in [
        ("Call me Annie from now on", "Anna wants to be called Annie", "Annie"),
        ("call me annie please", "The user's nickname is annie", "annie"),
        ("Merk dir: nenn mich bitte Annie", "Anna möchte Annie genannt werden", "Annie"),
        ("Ich heiße eigentlich Annegret", "Die Nutzerin heißt Annegret", "Annegret"),
        ("Appelle-moi Nanou", "Anna veut qu'on l'appelle Nanou", "Nanou"),
        ("Llámame Anita", "Anna quiere que la llamen Anita", "Anita"),
        ("Noem me maar Annemiek", "Anna wil Annemiek genoemd worden", "Annemiek"),
        ("Mów mi Aneczka", "Anna chce, by mówić do niej Aneczka", "Aneczka"),
        ("Называй меня Анюта", "Anna хочет, чтобы её звали Анюта", "Анюта"),
        ("What is my nickname? It is Annie", "nickname: Annie", "Annie"),
    ]:
        with subtests.test(said=said, words=words):
            kept = (await memory(agent, "remember", said, words, anna))["result"]["remembered"]
            assert kept.endswith(f"name: {name}")
            assert f'name": "{name}"' in await told(agent, "Is the door locked?", anna)
            assert name in str(await memory(agent, "recall", "What do you know about me?", "Anna", anna))
            later = await memory(agent, "remember", "Call me Mimi", kept.partition(":")[0] + ": Mimi", anna)
            assert later["result"]["remembered"].endswith("name: Mimi")
            assert name not in await told(agent, "Is the door locked?", anna)
            gone = await memory(agent, "forget", "Forget my nickname", "Anna wants to be called Mimi", anna)
            assert gone["result"]["forgotten"] == later["result"]["remembered"].splitlines()
            assert "Mimi" not in await told(agent, "Is the door locked?", anna)


@for_each(
    ("said", "words"),
    [
        ("Call me when the washing machine is done", "Call Anna when the washing machine is done"),
        ("My mother is called Ruth", "Anna's mother is called Ruth"),
        ("My name is Anna and my dog is Rex", "Anna has a dog named Rex"),
        ("Don't call me Annie", "Anna does not want to be called Annie"),
        ("Remember: the bins are due on Tuesday", "Note: the bins are due on Tuesday"),
    ],
)
async def test_other_sentences_are_memories(agent: Agent, anna: Context, said: str, words: str) -> None:
    """A profile has one value for each key, so what only resembles a name must not replace one."""
    await forget_all(agent)
    await memory(agent, "remember", "Call me Mimi", "Anna wants to be called Mimi", anna)
    kept = await memory(agent, "remember", said, words, anna)
    assert kept["result"] == {"remembered": words}
    assert '"Mimi"' in await told(agent, "Is the door locked?", anna)


async def test_a_name_for_a_device_is_not_that_of_the_speaker(agent: Agent, anna: Context) -> None:
    named = "nickname: Sparky = light.desk_lamp"
    kept = await memory(agent, "remember", "Call the desk lamp Sparky", named, anna)
    assert kept["result"] == {"remembered": named}
    assert "the speaker's" not in await told(agent, "Is the door locked?", anna)


async def test_the_rules_of_the_earlier_tools_hold(agent: Agent, anna: Context, ben: Context) -> None:
    """Codes only if a known person asks, persons' matters for nobody else, the household's for everybody."""
    code = "The alarm code is 4711"
    assert not (await memory(agent, "remember", "Remember the code", code, anna))["success"]
    assert not (await memory(agent, "remember", f"Remember that {code}", code))["success"]
    kept = await memory(agent, "remember", f"Remember that {code}", code, anna, household=True)
    assert kept["success"]
    assert "4711" not in str(await memory(agent, "recall", "What is known?", "*", ben))
    assert not (await memory(agent, "remember", "I am vegan", "diet: vegan"))["success"]
    assert (await memory(agent, "remember", "I am vegan", "diet: vegan", anna))["success"]
    assert "vegan" not in str(await memory(agent, "recall", "What is known?", "*", ben))
    bins = "The bins are collected on Tuesday"
    assert (await memory(agent, "remember", f"Remember that {bins}", bins, anna, household=True))["success"]
    assert "bins" in str(await memory(agent, "recall", "When are the bins due?", "bins", ben))


@for_each(
    ("said", "origin"),
    [
        ("Hazelnuts make Mia ill, everybody should know", Origin.TOLD),
        ("Remember what I told you", Origin.TOLD),
        ("Mia had a bad day after dinner", Origin.EXTRACTED),
    ],
)
async def test_a_persons_own_words_are_told(agent: Agent, anna: Context, said: str, origin: Origin) -> None:
    """What the person says in this very sentence needs no word such as "remember" to stay."""
    await forget_all(agent)
    await memory(agent, "remember", said, "Hazelnuts make Mia ill", anna, household=True)
    (kept,) = agent.entry.runtime_data.memories.all()
    assert kept.origin is origin


@for_each(
    ("known", "said", "right"),
    [
        ("Mia is allergic to hazelnuts", "It's walnuts, not hazelnuts", "Mia is allergic to walnuts"),
        ("Mia is allergic to hazelnuts", "Walnuts instead of hazelnuts", "Mia is allergic to walnuts"),
        ("Mia is allergic to cats", "Mia is no longer allergic to cats", "Mia is no longer allergic to cats"),
        ("Mia verträgt keine Haselnüsse", "Walnüsse, nicht Haselnüsse", "Mia verträgt keine Walnüsse"),
        ("У Мии аллергия на фундук", "На миндаль, а не на фундук", "У Мии аллергия на миндаль"),  # noqa: RUF001
        ("Dinner is at 18:00", "Dinner is at 19:00 now, not at 18:00", "Dinner is at 19:00"),
    ],
)
async def test_a_correction_replaces_the_wrong_fact(
    agent: Agent, anna: Context, ben: Context, known: str, said: str, right: str
) -> None:
    """The household's stays the household's, whoever of it corrects."""
    await forget_all(agent)
    await memory(agent, "remember", f"Remember, all of us: {known}", known, anna, household=True)
    fixed = await memory(agent, "remember", said, right, ben)
    assert fixed["result"] == {"remembered": right, "replaced": known}
    (kept,) = agent.entry.runtime_data.memories.all()
    assert (kept.content, kept.person, kept.origin) == (right, None, Origin.TOLD)
    beside = await told(agent, f"What about {right}?")
    assert f'- "{right}"' in beside
    assert known not in beside


async def test_what_corrects_nothing_replaces_nothing(
    hass: HomeAssistant, agent: Agent, subtests: pytest.Subtests
) -> None:
    """Neither what is added, nor what is said of somebody else, nor what the model has made up."""
    for said, new in [
        ("Mia is allergic to walnuts, not only to hazelnuts", "Mia is allergic to walnuts"),
        ("Mia is allergic to walnuts too", "Mia is allergic to walnuts"),
        ("Remember that Leo is not allergic to hazelnuts", "Leo is not allergic to hazelnuts"),
        ("It is not hazelnuts", "Mia is allergic to everything"),
    ]:
        with subtests.test(said=said, new=new):
            known = "Mia is allergic to hazelnuts"
            anna = user(hass, "Anna")
            await memory(agent, "remember", f"Remember, all of us: {known}", known, anna, household=True)
            assert "replaced" not in (await memory(agent, "remember", said, new, anna))["result"]
            assert known in {one.content for one in agent.entry.runtime_data.memories.all()}


async def test_only_who_may_change_it_corrects(agent: Agent, anna: Context, ben: Context) -> None:
    """A speaker that nobody knows replaces nothing, and nobody replaces what is another person's."""
    await memory(agent, "remember", "Remember that I drink tea with honey", FACT, anna)
    mine = await memory(
        agent, "remember", "With sugar, not with honey", "Anna drinks her tea with sugar", ben
    )
    assert "replaced" not in mine["result"]
    assert FACT not in str(mine)
    shared = "Our dog eats chicken"
    await memory(agent, "remember", f"Remember: {shared}", shared, anna, household=True)
    said = "Remember for all of us: fish, not chicken"
    await memory(agent, "remember", said, "Our dog eats fish", household=True)
    contents = {one.content for one in agent.entry.runtime_data.memories.all()}
    assert {FACT, shared} <= contents
