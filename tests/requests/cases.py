"""Conversations whose requests are compared with recorded ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.helpers.cloud import outside
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text, too_long, tool_calls

type Turn = tuple[str, Sequence[Reply]]
"""What the speaker says, and what the model answers."""

DONE = text("All right.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conversation. Anna speaks, at a satellite in the kitchen."""

    turns: Sequence[Turn]
    language: str = "en"
    options: Mapping[str, Any] = field(default_factory=dict)
    data: Callable[[ModelServer], dict[str, Any]] = field(default=lambda _server: {})
    """Settings of the entry, for a server."""


def control(**arguments: Any) -> Reply:
    return tool_calls([("ha_control", arguments)])


def query(**arguments: Any) -> Reply:
    return tool_calls([("ha_query", arguments)])


SENTENCES = {
    "de": ("Mach das Licht in der Küche an", "Wie warm ist es im Schlafzimmer?", "Es ist zu dunkel hier"),
    "fr": ("Allume la lumière de la cuisine", "Quelle température dans la chambre ?", "Il fait trop sombre"),
    "es": ("Enciende la luz de la cocina", "¿Qué temperatura hay en el dormitorio?", "Está muy oscuro"),
    "nl": ("Doe het licht in de keuken aan", "Hoe warm is het in de slaapkamer?", "Het is te donker"),
    "it": ("Accendi la luce in cucina", "Quanto fa caldo in camera da letto?", "È troppo buio"),
    "pt": ("Acende a luz da cozinha", "Qual é a temperatura no quarto?", "Está muito escuro"),
    "pl": ("Włącz światło w kuchni", "Jaka jest temperatura w sypialni?", "Jest za ciemno"),
    "sv": ("Tänd lampan i köket", "Hur varmt är det i sovrummet?", "Det är för mörkt"),
    "da": ("Tænd lyset i køkkenet", "Hvor varmt er der i soveværelset?", "Der er for mørkt"),
    "nb": ("Slå på lyset på kjøkkenet", "Hvor varmt er det på soverommet?", "Det er for mørkt"),
    "ru": ("Включи свет на кухне", "Какая температура в спальне?", "Слишком темно"),
    "ja": ("キッチンの電気をつけて", "寝室の温度は?", "暗すぎる"),
    "zh": ("打开厨房的灯", "卧室多少度?", "太暗了"),
    "ko": ("주방 불 켜 줘", "침실 온도가 몇 도야?", "너무 어두워"),
}

HOUSEHOLD = (
    "turn off all the lights upstairs",
    "is the garage door open",
    "which windows are open",
    "make it a bit warmer in the living room",
    "play some jazz in the living room",
    "good night",
    "what is on my shopping list",
    "close the blinds",
    "who is at home",
    "set the bedroom light to blue and dim it to 20 percent",
)

CASES: dict[str, Case] = {
    "command": Case(
        turns=(
            ("Turn on the kitchen light", (control(action="turn_on", entity_id="light.kitchen_light"), DONE)),
            ("And make it darker", (control(action="set", name="Kitchen Light", brightness=20), DONE)),
            ("Is it on now?", (query(entity_id="light.kitchen_light"), text("Yes, at 20 percent."))),
        )
    ),
    "household": Case(turns=tuple((sentence, (DONE,)) for sentence in HOUSEHOLD)),
    "refused": Case(
        turns=(
            ("Turn on the sauna", (control(action="turn_on", name="Sauna"), text("There is no sauna."))),
            ("Unlock the front door", (control(action="unlock", name="Front Door Lock"),)),
            ("yes", ()),
            ("Thank you", (DONE,)),
        )
    ),
    "repaired": Case(
        turns=(
            (
                "Kitchen light to half",
                (tool_calls([("HassTurnOn", {"name": "Kitchen Light", "brightness_pct": "50"})]), DONE),
            ),
            (
                "Turn on the kitchen light",
                (
                    text(
                        '<tool_call>{"name": "ha_control", "arguments": {"action": "turn_on", "name": '
                        '"Kitchen Light"}}</tool_call>'
                    ),
                    DONE,
                ),
            ),
            ("Turn on the bedroom light", (control(action="turn_on", colour="red", area="Bedroom"), DONE)),
        )
    ),
    "claimed": Case(
        turns=(
            (
                "Turn on the kitchen light",
                (
                    text("I have turned on the kitchen light."),
                    control(action="turn_on", name="Kitchen Light"),
                    text("The kitchen light is on."),
                ),
            ),
        )
    ),
    "remembered": Case(
        turns=(
            (
                "Remember that I drink tea with honey",
                (tool_calls([("store_memory", {"content": "Anna drinks her tea with honey"})]), DONE),
            ),
            ("What goes into my tea?", (text("Honey."),)),
            ("Call me Annie", (tool_calls([("update_profile", {"name": "Annie"})]), DONE)),
        ),
        options={"memory_extraction_enabled": False},
    ),
    "narrow": Case(
        turns=tuple((sentence, (DONE,)) for sentence in HOUSEHOLD[:4]), options={"max_context_tokens": 2000}
    ),
    "too_long": Case(
        turns=(
            ("Is the kitchen light on?", (text("No."),)),
            ("And the one in the bedroom?", (too_long(), text("No."))),
        )
    ),
    "outside": Case(
        turns=(
            ("Is the kitchen light on?", (query(entity_id="light.kitchen_light"), text("No."))),
            ("And the bedroom?", (text("No."),)),
        ),
        options={"cloud_send_ha_state": False},
        data=lambda server: {"llm_base_url": outside(server)},
    ),
    "ollama": Case(
        turns=(
            ("Turn on the kitchen light", (control(action="turn_on", entity_id="light.kitchen_light"), DONE)),
        ),
        data=lambda server: {"llm_base_url": server.ollama_url, "llm_dialect": "ollama"},
    ),
    "options": Case(
        turns=(
            ("What can you do?", (DONE,)),
            ("Turn on the kitchen light", (control(action="turn_on", name="Kitchen Light"), DONE)),
        ),
        options={
            "persona": "You are a butler.",
            "response_style": "detailed",
            "prompt_custom_additions": "Time: {{ 1 + 1 }}.",
            "prompt_include_labels": True,
            "context_format": "json",
            "direct_attributes": ["brightness"],
            "external_llm_enabled": True,
            "external_llm_base_url": "http://127.0.0.1:9/v1",
            "external_llm_model": "large",
            "thinking_enabled": False,
            "llm_temperature": 0.2,
            "tools_disabled": ["announce"],
            "allow_scripts_and_scenes": True,
        },
    ),
    **{
        f"language_{code}": Case(turns=tuple((sentence, (DONE,)) for sentence in said), language=code)
        for code, said in SENTENCES.items()
    },
}
