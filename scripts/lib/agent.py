"""Home Agent in a running Home Assistant: set up through its own forms, then talked to."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from .client import CallError, Client, Json

DOMAIN = "home_agent"
MAX_STEPS = 12
GO_ON = "finish"
"""What is chosen where the flow has doubts about a model."""
OPTIONS = "config/config_entries/options/flow"
EXPERT = "expert"
"""The second menu of the options."""
NO_PAGES = (EXPERT, "init", "message_rules", "server")
"""What the menus of the options offer beside pages."""
STORE = "vector_save"
"""What is chosen where a page of the options reports something before it is stored."""

VOICE_SETTINGS = (
    "stt_engine",
    "stt_language",
    "tts_engine",
    "tts_language",
    "tts_voice",
    "wake_word_entity",
    "wake_word_id",
)


class FlowError(RuntimeError):
    """A form of the config or options flow did not take the answers."""


@dataclass(slots=True)
class Answer:
    """What the agent said, and how it came."""

    text: str
    conversation_id: str
    continue_conversation: bool
    processed_locally: bool
    deltas: list[Json] = field(default_factory=list)
    """The deltas of the chat log in the order in which they were streamed."""

    @property
    def tool_calls(self) -> list[str]:
        """Return the names of the tools that were called."""
        return [call["tool_name"] for delta in self.deltas for call in delta.get("tool_calls") or ()]


def fill(schema: list[Json], answers: Json) -> Json:
    """Return the data for a form: our answers, else what the form suggests, else its defaults."""
    data: Json = {}
    for part in schema:
        name = part["name"]
        if part.get("type") == "expandable":
            data[name] = fill(part["schema"], answers)
        elif name in answers:
            data[name] = answers[name]
        elif (suggested := (part.get("description") or {}).get("suggested_value")) is not None:
            data[name] = suggested
        elif part.get("default") is not None:
            data[name] = part["default"]
    return data


def field_names(schema: list[Json]) -> set[str]:
    """Return the names of all fields of a form, those in sections included."""
    names: set[str] = set()
    for part in schema:
        names |= field_names(part["schema"]) if part.get("type") == "expandable" else {part["name"]}
    return names


async def _walk(client: Client, path: str, step: Json, answers: Json) -> Json:
    """Go through the steps of a flow until it ends; return the last one. Raises FlowError."""
    for _ in range(MAX_STEPS):
        kind = step["type"]
        if kind in ("create_entry", "abort"):
            return step
        if kind == "form":
            if step.get("errors"):
                raise FlowError(f"step {step['step_id']}: {step['errors']}")
            body = fill(step["data_schema"], answers)
            step = await client.rest("POST", f"{path}/{step['flow_id']}", body)
        elif kind == "menu" and GO_ON in step["menu_options"]:
            step = await client.rest("POST", f"{path}/{step['flow_id']}", {"next_step_id": GO_ON})
        elif kind == "progress":
            await asyncio.sleep(0.5)
            step = await client.rest("GET", f"{path}/{step['flow_id']}")
        else:
            raise FlowError(f"step {step['step_id']}: a {kind} that nobody expected")
    raise FlowError(f"the flow does not end; it is at {step.get('step_id')}")


async def add_entry(client: Client, answers: Json) -> str:
    """Add Home Agent with these connection data; return the entry's id."""
    path = "config/config_entries/flow"
    step = await client.rest("POST", path, {"handler": DOMAIN, "show_advanced_options": True})
    step = await _walk(client, path, step, answers)
    if step["type"] != "create_entry":
        raise FlowError(f"the flow ended with {step.get('reason')}")
    return str(step["result"]["entry_id"])


async def open_options(client: Client, entry_id: str, *names: str) -> Json:
    """Begin an options flow and go through its menus; return the step that is shown then."""
    step = await client.rest("POST", OPTIONS, {"handler": entry_id})
    for name in names:
        step = await client.rest("POST", f"{OPTIONS}/{step['flow_id']}", {"next_step_id": name})
    return dict(step)


async def option_pages(client: Client, entry_id: str) -> list[tuple[str, ...]]:
    """Return the way to each page of the options: the names to choose in the menus."""
    pages: list[tuple[str, ...]] = []
    for way in ((), (EXPERT,)):
        menu = await open_options(client, entry_id, *way)
        pages += [(*way, name) for name in menu["menu_options"] if name not in NO_PAGES]
        await client.rest("DELETE", f"{OPTIONS}/{menu['flow_id']}")
    return pages


async def save_page(client: Client, step: Json, answers: Json) -> Json:
    """Submit a page of the options and what it asks before it stores; return the menu. Raises FlowError."""
    step = await client.rest("POST", f"{OPTIONS}/{step['flow_id']}", fill(step["data_schema"], answers))
    while step["type"] == "menu" and STORE in step["menu_options"]:
        step = await client.rest("POST", f"{OPTIONS}/{step['flow_id']}", {"next_step_id": STORE})
    if step["type"] != "menu":
        raise FlowError(f"step {step['step_id']}: {step.get('errors')}")
    return dict(step)


async def set_options(client: Client, entry_id: str, options: Json) -> None:
    """Set options, each on the page that has it, as a person would. Raises FlowError."""
    missing = dict(options)
    for way in await option_pages(client, entry_id):
        if not missing:
            break
        step = await open_options(client, entry_id, *way)
        here = field_names(step.get("data_schema") or []) & missing.keys()
        if here:
            step = await save_page(client, step, {name: missing.pop(name) for name in here})
        await client.rest("DELETE", f"{OPTIONS}/{step['flow_id']}")
    if missing:
        raise FlowError(f"no page has the options {sorted(missing)}")
    await reload(client, entry_id)


async def reload(client: Client, entry_id: str) -> None:
    """Set the entry up anew, after any reload that is under way."""
    await client.rest("POST", f"config/config_entries/entry/{entry_id}/reload", {})


async def entries(client: Client) -> list[Json]:
    """Return the config entries of Home Agent."""
    return list(await client.command("config_entries/get", domain=DOMAIN))


async def agent_of(client: Client, entry_id: str) -> str:
    """Return the entity id of the entry's conversation agent. Raises CallError."""
    for entity in await client.command("config/entity_registry/list"):
        if entity["config_entry_id"] == entry_id and entity["entity_id"].startswith("conversation."):
            return str(entity["entity_id"])
    raise CallError("the entry has no conversation agent: the log says why")


async def prefer_agent(client: Client, agent: str, name: str = "Home Agent") -> str:
    """Make a pipeline with this agent the preferred one; return its id."""
    body = {
        "name": name,
        "language": "en",
        "conversation_engine": agent,
        "conversation_language": "en",
        "prefer_local_intents": False,
    } | dict.fromkeys(VOICE_SETTINGS)
    listed = (await client.command("assist_pipeline/pipeline/list"))["pipelines"]
    known = next((pipeline["id"] for pipeline in listed if pipeline["name"] == name), None)
    if known is None:
        known = (await client.command("assist_pipeline/pipeline/create", **body))["id"]
    else:
        await client.command("assist_pipeline/pipeline/update", pipeline_id=known, **body)
    await client.command("assist_pipeline/pipeline/set_preferred", pipeline_id=known)
    return str(known)


async def say(
    client: Client,
    text: str,
    *,
    pipeline: str,
    conversation_id: str | None = None,
    device_id: str | None = None,
) -> Answer:
    """Say something through the pipeline, as the chat dialog or a device does. Raises CallError."""
    body: dict[str, Any] = {
        "start_stage": "intent",
        "end_stage": "intent",
        "input": {"text": text},
        "pipeline": pipeline,
        "conversation_id": conversation_id,
    }
    if device_id is not None:
        body["device_id"] = device_id
    deltas: list[Json] = []
    async with client.subscribe("assist_pipeline/run", **body) as events:
        async for event in events:
            data = event.get("data") or {}
            if event["type"] == "intent-progress" and "chat_log_delta" in data:
                deltas.append(data["chat_log_delta"])
            elif event["type"] == "error":
                raise CallError(f"{data['code']}: {data['message']}")
            elif event["type"] == "intent-end":
                output = data["intent_output"]
                return Answer(
                    output["response"]["speech"].get("plain", {}).get("speech", ""),
                    output["conversation_id"],
                    bool(output.get("continue_conversation")),
                    bool(data.get("processed_locally")),
                    deltas,
                )
    raise CallError("the pipeline ended without an answer")
