"""Ways round the policy through scenes, scripts, groups and automations: each is opened to its end."""

from itertools import product
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_mock_service

from custom_components.home_agent.safety.contents import MAX_EFFECTS, effects
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent
from tests.helpers.policies import SERVICES
from tests.helpers.secure_house import SecureHouse
from tests.servers.replies import text, tool_calls

ALLOWED = {"allow_scripts_and_scenes": True}
SATELLITE = "satellite-1"
GARAGES = {"entity_id": ["cover.garage"], "supported_features": 15}

Scene = dict[str, Any]

RISKY_SCENES: dict[str, Scene] = {
    "plain": {"lock.front_door": "unlocked"},
    "unlatched": {"lock.front_door": "open"},
    "on the way": {"lock.front_door": "unlocking"},
    "hidden": {"lock.cellar": "unlocked"},
    "old group": {"group.doors": "unlocked"},
    "old group of a hidden lock": {"group.hidden": "unlocked"},
    "group of groups": {"group.everything": "unlocked"},
    "cover group": {"cover.all": "open"},
    "old group of covers": {"group.garages": "open"},
    "position": {"cover.garage": {"state": "closed", "current_position": 60}},
    "tilt": {"cover.garage": {"state": "closed", "current_tilt_position": 60}},
    "position of a group": {"cover.all": {"state": "closed", "current_position": 60}},
    "automation": {"automation.unlocker": "on"},
    "disarmed": {"alarm_control_panel.home": "disarmed"},
    "triggered": {"alarm_control_panel.home": "triggered"},
    "valve": {"valve.water": "open"},
    "valve position": {"valve.water": {"state": "closed", "current_position": 20}},
    "siren": {"siren.roof": True},
    "unheard of": {"lock.front_door": "ajar"},
    "of nobody's domain": {"someones_own.thing": "on"},
}
HARMLESS_SCENES: dict[str, Scene] = {
    "light": {"light.hall": "on", "switch.oven": False},
    "locks": {"lock.front_door": "locked", "group.doors": "locked", "alarm_control_panel.home": "armed_away"},
    "closes": {"cover.garage": {"state": "closed", "current_position": 0}, "valve.water": "closed"},
    "blind": {"cover.blind": {"state": "open", "current_position": 60, "current_tilt_position": 5}},
    "player": {"media_player.hall": {"state": "playing", "volume_level": 0.2, "source": "radio"}},
    "switched off": {"automation.unlocker": "off"},
    "sensor": {"sensor.outside": "21"},
}


class Rooms:
    """The house, and requests to it."""

    def __init__(self, hass: HomeAssistant, secure: SecureHouse, agent: Agent) -> None:
        self.hass, self.secure, self.agent = hass, secure, agent

    async def asks(self, action: str, entity_id: str, **came: Any) -> str:
        """Have the model use an entity; return the question, empty if there is none."""
        self.secure.reset()
        self.agent.server.clear()
        call = ("ha_control", {"action": action, "entity_id": entity_id})
        self.agent.server.script([tool_calls([call]), text("Done.")])
        await self.agent.say("Make it so", **came)
        confirmations = self.agent.entry.runtime_data.confirmations
        questions = [action.question for action in confirmations.pending]
        await confirmations.async_stop()
        return " ".join(questions)

    def origins(self) -> list[dict[str, Any]]:
        """Return the ways a sentence arrives."""
        return [
            {"context": Context(user_id=self.secure.anna.id)},
            {"context": Context(), "device_id": SATELLITE},
            {"context": Context()},
        ]


@pytest.fixture
async def rooms(hass: HomeAssistant, secure: SecureHouse) -> Rooms:
    """Return a house with groups and an automation that unlocks."""
    assert await async_setup_component(hass, "sensor", {})
    hass.states.async_set("group.doors", "locked", {"entity_id": ["lock.front_door"]})
    hass.states.async_set("group.hidden", "locked", {"entity_id": ["lock.cellar"]})
    hass.states.async_set("group.everything", "locked", {"entity_id": ["light.hall", "group.doors"]})
    hass.states.async_set("group.garages", "closed", GARAGES)
    hass.states.async_set("cover.all", "closed", {"entity_id": ["cover.blind", "cover.garage"]})
    async_mock_service(hass, "notify", "family")
    async_mock_service(hass, "tts", "speak")
    async_mock_service(hass, "remote", "send_command")
    hass.states.async_set("media_player.hall", "off", {"supported_features": 0})
    unlocker = {
        "alias": "Unlocker",
        "triggers": [{"trigger": "event", "event_type": "never"}],
        "actions": [{"action": "lock.unlock", "target": {"entity_id": "lock.front_door"}}],
    }
    assert await async_setup_component(hass, "automation", {"automation": [unlocker]})
    scenes = [{"name": name, "entities": states} for name, states in (RISKY_SCENES | HARMLESS_SCENES).items()]
    assert await async_setup_component(hass, "scene", {"scene": scenes})
    await hass.async_block_till_done()
    return Rooms(hass, secure, await secure.async_with(ALLOWED))


def _id(domain: str, name: str) -> str:
    return f"{domain}.{name.replace(' ', '_').replace(chr(39), '_')}"


@pytest.mark.parametrize("applied", ["scene", "script"])
async def test_scenes(rooms: Rooms, applied: str) -> None:
    """Every state of a scene is judged as the service that core calls for it, alone or in a script."""
    cases = [*product(RISKY_SCENES.items(), [True]), *product(HARMLESS_SCENES.items(), [False])]
    if applied == "script":
        scripts = {
            name.replace(" ", "_").replace("'", "_"): {
                "sequence": [{"action": "scene.apply", "data": {"entities": states}}]
            }
            for (name, states), _ in cases
        }
        assert await async_setup_component(rooms.hass, "script", {"script": scripts})
    wrong = []
    for (name, _), risky in cases:
        entity_id = _id(applied, name)
        async_expose_entity(rooms.hass, "conversation", entity_id, True)
        for came in rooms.origins():
            asked = await rooms.asks("turn_on", entity_id, **came)
            if bool(asked) is not risky or (risky and rooms.secure.calls):
                wrong.append((name, came, asked, rooms.secure.moved()))
    assert wrong == []


LIGHT = {"action": "light.turn_on", "target": {"entity_id": "light.hall"}}
UNLOCK = {"action": "lock.unlock", "target": {"entity_id": "lock.front_door"}}
RISKY_STEPS: dict[str, list[Any]] = {
    "nested": [{"if": [], "then": [{"parallel": [{"sequence": [UNLOCK]}]}]}],
    "chosen": [{"choose": [{"conditions": [], "sequence": [UNLOCK]}], "default": []}],
    "generic": [{"action": "homeassistant.turn_off", "target": {"entity_id": "lock.front_door"}}],
    "event": [{"event": "open_sesame"}],
    "mqtt": [{"action": "mqtt.publish", "data": {"topic": "lock/set", "payload": "OPEN"}}],
    "usercode": [
        {
            "action": "zwave_js.set_lock_usercode",
            "target": {"entity_id": "lock.front_door"},
            "data": {"code_slot": 1, "usercode": "1234"},
        }
    ],
    "on_a_light": [{"action": "zwave_js.set_value", "target": {"entity_id": "light.hall"}}],
    "zigbee": [{"action": "zha.issue_zigbee_cluster_command", "data": {"cluster_id": 257}}],
    "update": [{"action": "update.install", "target": {"entity_id": "update.core"}}],
    "shell": [{"action": "shell_command.open_sesame"}],
    "python": [{"action": "python_script.open_sesame"}],
    "rest": [{"action": "rest_command.open_sesame"}],
    "sentence": [{"action": "conversation.process", "data": {"text": "unlock the door"}}],
    "satellite": [{"action": "assist_satellite.ask_question", "data": {"question": "?"}}],
    "task": [{"action": "ai_task.generate_data", "data": {"instructions": "unlock", "task_name": "a"}}],
    "infrared": [{"action": "remote.send_command", "data": {"command": "gate"}}],
    "members": [{"action": "group.set", "data": {"object_id": "a", "entities": ["lock.front_door"]}}],
    "raw": [{"action": "vacuum.send_command", "data": {"command": "x"}}],
    "loaded_anew": [{"action": "automation.reload"}],
    "spaces": [{"action": "cover.open_cover", "data": {"entity_id": " cover.garage , cover.blind"}}],
    "capitals": [{"action": "cover.open_cover", "data": {"entity_id": ["COVER.Garage"]}}],
    "all": [{"action": "cover.toggle", "data": {"entity_id": "ALL"}}],
    "data_template": [{"action": "cover.open_cover", "data_template": {"entity_id": "cover.garage"}}],
    "target_template": [{"action": "cover.open_cover", "target": "{{ {'entity_id': 'cover.garage'} }}"}],
    "by_state": [{"action": "light.turn_on", "target": {"entity_id": "{{ states('input_text.it') }}"}}],
    "generic_group": [{"action": "homeassistant.turn_on", "target": {"entity_id": "group.garages"}}],
    "generic_script": [{"action": "homeassistant.turn_on", "target": {"entity_id": "script.event"}}],
    "triggered": [{"action": "automation.trigger", "target": {"entity_id": "automation.unlocker"}}],
    "switched_on": [{"action": "automation.toggle", "target": {"entity_id": "automation.unlocker"}}],
    "scene_step": [{"scene": "scene.plain"}],
    "scene_by_template": [
        {"action": "scene.turn_on", "target": {"entity_id": "{{ 'scene.' ~ states('input_text.it') }}"}}
    ],
    "created": [
        {"action": "scene.create", "data": {"scene_id": "new", "entities": {"lock.front_door": "unlocked"}}},
        {"action": "scene.turn_on", "target": {"entity_id": "scene.new"}},
    ],
    "snapshot": [{"action": "scene.create", "data": {"scene_id": "old", "snapshot_entities": "LOCK.cellar"}}],
    "nowhere_yet": [{"action": "cover.open_cover", "target": {"area_id": "not_there"}}],
    "else": [{"if": [], "then": [], "else": [{"event": "open_sesame"}]}],
    "default": [{"choose": [], "default": [{"event": "open_sesame"}]}],
    "until": [{"repeat": {"until": "{{ true }}", "sequence": [{"event": "open_sesame"}]}}],
    "at_once": [{"parallel": [LIGHT, {"event": "open_sesame"}]}],
    "in_order": [{"sequence": [LIGHT, {"event": "open_sesame"}]}],
    "after_a_stop": [{"stop": "Enough"}, {"event": "open_sesame"}],
}
HARMLESS_STEPS: dict[str, list[Any]] = {
    "quiet": [
        {"delay": 0},
        {"variables": {"a": 1}},
        {"wait_for_trigger": [{"trigger": "event", "event_type": "never"}], "timeout": 0},
        {"wait_template": "{{ true }}"},
        {"condition": "state", "entity_id": "lock.front_door", "state": "unlocked"},
        {"set_conversation_response": "Done"},
        {"stop": "Enough"},
    ],
    "telling": [
        {"action": "notify.family", "data": {"message": "Dinner"}},
        {"action": "tts.speak", "target": {"entity_id": "tts.own"}, "data": {"message": "Dinner"}},
        {"action": "persistent_notification.create", "data": {"message": "Dinner"}},
    ],
    "rendered": [{"action": "light.turn_on", "target": {"entity_id": "{{ 'light.' ~ 'hall' }}"}}],
    "light_before": [
        {"action": "scene.create", "data": {"scene_id": "before", "snapshot_entities": ["light.hall"]}},
        {"action": "scene.turn_on", "target": {"entity_id": "scene.before"}},
    ],
    "refreshed": [{"action": "homeassistant.update_entity", "target": {"entity_id": "light.hall"}}],
    "closing": [{"action": "homeassistant.turn_off", "target": {"entity_id": "cover.garage"}}],
    "generic_light": [{"action": "homeassistant.turn_on", "target": {"entity_id": "light.hall"}}],
    "switched_off": [LIGHT, {**UNLOCK, "enabled": False}],
}
FORBIDDEN_STEPS: dict[str, list[Any]] = {
    "restart": [{"action": "homeassistant.restart"}],
    "confirms_itself": [{"action": "home_agent.confirm_action", "data": {"action_id": "x"}}],
}


@pytest.mark.slow
async def test_steps(rooms: Rooms) -> None:
    """A step is free only if its service is known to reach nothing but the entities that it names.

    Some are neither done nor asked about.
    """
    cases = [*product(RISKY_STEPS.items(), [True]), *product(HARMLESS_STEPS.items(), [False])]
    cases += product(FORBIDDEN_STEPS.items(), [False])
    scripts = {name: {"sequence": sequence} for (name, sequence), _ in cases}
    assert await async_setup_component(rooms.hass, "script", {"script": scripts})
    wrong = []
    for (name, _), risky in cases:
        async_expose_entity(rooms.hass, "conversation", f"script.{name}", True)
        for came in rooms.origins():
            asked = await rooms.asks("turn_on", f"script.{name}", **came)
            stays = risky or name in FORBIDDEN_STEPS
            if bool(asked) is not risky or (stays and rooms.secure.calls):
                wrong.append((name, came, asked, rooms.secure.moved()))
    assert wrong == []


async def test_a_rule_for_the_service_lifts_the_question(rooms: Rooms) -> None:
    """A household that trusts its infrared remote is not asked, and keeps being asked about the rest."""
    scripts = {name: {"sequence": RISKY_STEPS[name]} for name in ("infrared", "mqtt", "event")}
    assert await async_setup_component(rooms.hass, "script", {"script": scripts})
    await rooms.agent.set_options(**ALLOWED, policy_allowed=["remote.send_command", "event.fire"])
    for name, risky in (("infrared", False), ("event", False), ("mqtt", True)):
        async_expose_entity(rooms.hass, "conversation", f"script.{name}", True)
        assert bool(await rooms.asks("turn_on", f"script.{name}")) is risky, name


async def test_what_is_restricted_asks_for_hidden_entities_always(rooms: Rooms) -> None:
    """A rule for a service is about exposed entities only, a rule for the script about everything in it."""
    scripts = {
        name: {"sequence": [{"action": "lock.unlock", "target": {"entity_id": f"lock.{name}"}}]}
        for name in ("front_door", "cellar")
    }
    assert await async_setup_component(rooms.hass, "script", {"script": scripts})
    for rules, hidden in ((["lock.unlock"], True), (["lock.unlock", "script.cellar"], False)):
        await rooms.agent.set_options(**ALLOWED, policy_allowed=rules)
        for name, risky in (("front_door", False), ("cellar", hidden)):
            async_expose_entity(rooms.hass, "conversation", f"script.{name}", True)
            assert bool(await rooms.asks("turn_on", f"script.{name}")) is risky, (rules, name)


async def test_scripts_that_call_each_other_end(rooms: Rooms) -> None:
    """Scripts that go round in circles, or too far, are not looked through for ever, and ask."""
    wide = [{"action": "script.turn_on", "target": {"entity_id": f"script.s{n}"}} for n in range(12)]
    scripts = {f"s{n}": {"sequence": wide} for n in range(12)}
    far = [{"action": "light.turn_on", "target": {"entity_id": f"light.x{n}"}} for n in range(MAX_EFFECTS)]
    assert await async_setup_component(
        rooms.hass, "script", {"script": {**scripts, "far": {"sequence": far}}}
    )
    assert len(effects(rooms.hass, "script", "turn_on", ["script.s0"])) < MAX_EFFECTS
    found = effects(rooms.hass, "script", "turn_on", ["script.far"])
    assert len(found) == MAX_EFFECTS + 1
    assert not found[-1].known


NIGHT: list[Any] = [
    LIGHT,
    {"action": "lock.unlock", "target": {"entity_id": ["lock.front_door", "lock.cellar"]}},
    {"action": "siren.turn_on", "target": {"entity_id": "siren.roof"}},
    {"action": "mqtt.publish", "data": {"topic": "a"}},
    {"action": "switch.turn_on", "target": {"entity_id": "{{ states('input_text.it') }}"}},
]
TOLD = {
    "en": "Should I start Night, unlock the Cellar and the Front Door, turn on the Roof and use "
    "mqtt.publish? Part of what it does is not known until it runs.",
    "de": "Soll ich Night starten, Cellar und Front Door aufschließen, Roof einschalten und "
    "mqtt.publish benutzen? Ein Teil davon steht erst fest, wenn es läuft.",
}


async def test_the_question_says_what_a_script_does(rooms: Rooms) -> None:
    """The person hears what is not free in it, by name."""
    script = {"night": {"alias": "Night", "sequence": NIGHT}}
    assert await async_setup_component(rooms.hass, "script", {"script": script})
    async_expose_entity(rooms.hass, "conversation", "script.night", True)
    # The state of a camera counts as text from outside, after which such a script is refused.
    async_expose_entity(rooms.hass, "conversation", "camera.yard", False)
    for language, told in TOLD.items():
        assert await rooms.asks("turn_on", "script.night", language=language) == told
    async_expose_entity(rooms.hass, "conversation", "scene.position", True)
    assert (
        await rooms.asks("activate", "scene.position")
        == "Should I activate the scene position and move the Garage?"
    )
    async_expose_entity(rooms.hass, "conversation", "cover.all", True)
    rooms.hass.states.async_set(
        "cover.all", "closed", {"entity_id": ["cover.blind", "cover.garage"], "supported_features": 15}
    )
    assert await rooms.asks("open", "cover.all") == "Should I open cover.all and open the Garage?"


async def test_a_scene_that_changes_before_the_yes(rooms: Rooms) -> None:
    """What was asked about is what runs: a group that has got another member by then is not moved."""
    async_expose_entity(rooms.hass, "conversation", "scene.old_group", True)
    for member, runs in (("lock.front_door", True), ("lock.cellar", False)):
        rooms.secure.reset()
        rooms.hass.states.async_set("group.doors", "locked", {"entity_id": ["lock.front_door"]})
        rooms.agent.server.clear()
        call = ("ha_control", {"action": "activate", "entity_id": "scene.old_group"})
        rooms.agent.server.script([tool_calls([call]), text("Done.")])
        came = {"context": Context(user_id=rooms.secure.anna.id)}
        asked = await rooms.agent.say("Make it so", **came)
        rooms.hass.states.async_set("group.doors", "locked", {"entity_id": [member]})
        await rooms.agent.say("Yes", conversation_id=asked.conversation_id, **came)
        await rooms.hass.async_block_till_done()
        assert (rooms.secure.moved() == [("lock.unlock", ("lock.front_door",))]) is runs
        assert bool(rooms.secure.calls) is runs


async def test_whoever_confirms_may_control_what_is_inside(rooms: Rooms) -> None:
    """The script alone is not enough: the answer moves the lock in it."""
    script = {"open_up": {"sequence": RISKY_STEPS["scene_step"]}}
    assert await async_setup_component(rooms.hass, "script", {"script": script})
    async_expose_entity(rooms.hass, "conversation", "script.open_up", True)
    rooms.agent.server.clear()
    call = ("ha_control", {"action": "turn_on", "entity_id": "script.open_up"})
    rooms.agent.server.script([tool_calls([call]), text("Done.")])
    await rooms.agent.say("Make it so", context=Context(), device_id=SATELLITE)
    (action,) = rooms.agent.entry.runtime_data.confirmations.pending
    assert action.entity_ids == {"script.open_up", "lock.front_door"}


STEPS_OF: dict[str, Any] = {
    "step": lambda service, target: [{"action": service, "target": {"entity_id": target}}],
    "area": lambda service, _: [{"action": service, "target": {"area_id": "hall"}}],
    "data": lambda service, target: [{"action": service, "data": {"entity_id": f" {target.upper()} "}}],
    "rendered": lambda service, target: [
        {"action": f"{{{{ '{service}' }}}}", "target": {"entity_id": f"{{{{ '{target}' }}}}"}}
    ],
    "branch": lambda service, target: [
        {"if": [], "then": [], "else": [{"action": service, "target": {"entity_id": target}}]}
    ],
}
WAYS = [*STEPS_OF, "script", "old group"]


@pytest.mark.parametrize("way", WAYS)
async def test_matrix_of_contents(rooms: Rooms, way: str) -> None:
    """Each service of the policy's matrix, in each kind of container, from each origin: judged alike."""
    scripts: dict[str, Any] = {}
    for number, (_, entity_id, service, _) in enumerate(SERVICES):
        steps = STEPS_OF.get(way, STEPS_OF["step"])(service, entity_id)
        if way == "old group":
            rooms.hass.states.async_set(f"group.g{number}", "off", {"entity_id": [entity_id]})
            steps = STEPS_OF["step"](service, f"group.g{number}")
        scripts[f"inner_{number}"] = {"sequence": steps}
        scripts[f"outer_{number}"] = {"sequence": [{"action": f"script.inner_{number}"}]}
    assert await async_setup_component(rooms.hass, "script", {"script": scripts})
    wrong = []
    for number, (_, _, service, restricted) in enumerate(SERVICES):
        name = f"script.{'outer' if way == 'script' else 'inner'}_{number}"
        async_expose_entity(rooms.hass, "conversation", name, True)
        expected = restricted or (way == "area" and service == "cover.open_cover")
        for came in rooms.origins():
            asked = await rooms.asks("turn_on", name, **came)
            if bool(asked) is not expected or (expected and rooms.secure.calls):
                wrong.append((service, came, asked))
    assert wrong == []
