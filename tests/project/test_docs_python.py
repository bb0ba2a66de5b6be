"""The tool that docs/developers/custom-tools.md writes works as its own test says."""

from typing import Any

import pytest

from custom_components.home_agent import runtime
from custom_components.home_agent.tools import everyday, native
from custom_components.home_agent.tools.base import HomeAgentTool
from homeassistant.core import HomeAssistant
from tests.helpers.documents import code, examples, rows, section
from tests.servers.model_server import ModelServer

PAGE = "docs/developers/custom-tools.md"


def written(number: int, package: str) -> dict[str, Any]:
    """Return the names of a Python example, run as a module of a package."""
    example = [param.values[0] for param in examples("python") if str(param.id).startswith(PAGE)][number]
    names: dict[str, Any] = {"__name__": f"{package}.example", "__package__": package}
    exec(compile(example, PAGE, "exec"), names)  # noqa: S102 - our own documentation
    return names


async def test_the_tool(
    hass: HomeAssistant, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is registered as the page says, and its test is run."""
    tool = written(0, everyday.__name__)["FlashTool"]
    everyday_tools = everyday.everyday_tools
    monkeypatch.setitem(native.NATIVE, tool.name, tool)
    monkeypatch.setattr(runtime, "everyday_tools", lambda *args: [*everyday_tools(*args), tool()])
    await written(1, "tests.tools.everyday")["test_flash_light"](hass, model_server)
    offered = [function["function"]["name"] for function in model_server.chats[0].json["tools"]]
    assert tool.name in offered


def test_facts() -> None:
    """The facts of the table are attributes of each tool, with the defaults that it names."""
    table = {code(cells[0])[0]: cells[1] for cells in rows(section(PAGE, "A tool in Python"), 3)}
    assert len(table) > 5
    for fact, default in table.items():
        value = getattr(HomeAgentTool, fact)
        if code(default) and not callable(value):
            assert repr(value) == code(default)[0]
        elif "characters" in default:
            assert default == f"{value} characters"
