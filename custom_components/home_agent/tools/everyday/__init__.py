"""What a household does every day: lists, calendar, weather, timers, music, cameras and energy.

`notify_tool` is apart: it uses the times of `control/`, which use the times of this package.
"""

from ...planned.scheduler import Scheduler
from ..base import HomeAgentTool
from ..energy import EnergyTool
from ..recipients import People
from .calendar_tool import CalendarTool
from .camera_tool import CameraTool, See
from .media_tool import MediaTool
from .timer_tool import TimerTool
from .todo_tool import TodoTool
from .weather_tool import WeatherTool


def everyday_tools(planned: Scheduler, people: People, see: See) -> list[HomeAgentTool]:
    """Return the everyday tools; which of them a model gets depends on the home."""
    return [
        TodoTool(),
        CalendarTool(),
        WeatherTool(),
        TimerTool(planned),
        CameraTool(see, people),
        MediaTool(),
        EnergyTool(),
    ]
