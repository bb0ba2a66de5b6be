"""What the model can do, and the one guard in front of it.

A call passes these files: `calls/` reads and repairs what the model wrote, `turn_calls.py` counts it and
knows repeats, `handler.py` checks and runs the tool, whose base is `base.py`. The services that it calls
are judged in `guard.py`, made in `run.py`, or frozen in `pending.py` until a person says yes. `results.py` is
what the model reads then. `own_calls.py` makes the few calls in which no model has a part.

The tools: `ha_control.py` (with `control/` and `resolving/`), `ha_query.py`
(with `query/`), `activity.py` (with `causes.py`), `energy.py`, `remembering.py` (`memory` and the earlier
five), `knowledge_tools.py` (`retrieve_knowledge`, `get_ha_entities`), `script_tool.py` (exposed scripts),
`everyday/` (a file for each: timers, lists, calendars, weather, media, messages, cameras), `automating/`
(automations), `outside/web_search.py` (`search_web`), `outside/external_llm.py` (`query_external_llm`),
`custom/` (the household's YAML). `intents.py` and `outside/other_apis.py` are for
tools of other integrations.
"""
