"""The file of automations: one is added, replaced or removed, and everything else stays as it is."""

import pytest
import yaml

from custom_components.home_agent.tools.automating.kept import AutomationRefusedError, automations_in, edited
from tests.helpers.checks import for_each

ITEM = {"id": "two", "alias": "Evening", "triggers": [{"trigger": "time", "at": "22:00:00"}], "actions": []}
FIRST = """# Our automations. Keep the comments!
- id: "1"
  alias: Morning   # before the first coffee
  actions: !include actions.yaml
"""
OURS = """- id: two
  alias: Night
  triggers:
  - trigger: time
    at: "23:00:00"
  actions: []
"""
LAST = """
# The last one
- id: "3"
  alias: Noon
  actions: []
"""


@for_each(("before", "behind"), [("", ""), (FIRST, ""), ("", LAST), (FIRST, LAST)])
@for_each("newline", ["\n", "\r\n"])
def test_one_is_replaced_and_removed(before: str, behind: str, newline: str) -> None:
    before, ours, behind = (part.replace("\n", newline) for part in (before, OURS, behind))
    text = edited(before + ours + behind, "two", ITEM)
    assert text.startswith(before)
    assert text.endswith(behind)
    found = automations_in(text)
    assert [item["id"] for item in found] == [item["id"] for item in automations_in(before + ours + behind)]
    assert ITEM in found
    removed = edited(text, "two", None)
    assert automations_in(removed) == [item for item in found if item != ITEM]
    assert removed.startswith(before)
    assert removed.endswith(behind) or not before


def test_one_is_added_at_the_end() -> None:
    assert edited("", "two", ITEM).startswith("- id: two")
    assert edited("[]\n", "two", ITEM).startswith("- id: two")
    text = edited(FIRST, "two", ITEM)
    assert text.startswith(FIRST)
    assert automations_in(text)[1:] == [ITEM]


def test_the_list_may_be_indented_and_a_dash_stand_alone() -> None:
    text = "  -\n    id: two\n    alias: Night\n  - id: '3'\n    alias: Noon\n"
    found = yaml.safe_load(edited(text, "two", ITEM))
    assert found == [ITEM, {"id": "3", "alias": "Noon"}]


def test_the_last_one_leaves_an_empty_list() -> None:
    assert yaml.safe_load(edited(OURS, "two", None)) == []
    assert yaml.safe_load(edited("# ours\n" + OURS, "two", None)) == []


def test_nothing_is_removed_that_is_not_there() -> None:
    assert edited(FIRST, "two", None) == FIRST


@for_each("text", ["[{id: two, alias: Night}]\n", "two: {}\n", "- id: two\n  alias: [\n"])
def test_what_is_not_written_as_a_list_of_blocks_is_left_alone(text: str) -> None:
    with pytest.raises(AutomationRefusedError):
        edited(text, "two", ITEM)
