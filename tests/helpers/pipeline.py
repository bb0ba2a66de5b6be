"""What the chat dialog of Home Assistant sees of a turn."""

from typing import Any


async def run_pipeline(
    client: Any, sentence: str, *, end_stage: str = "intent", **options: Any
) -> tuple[str, dict[str, Any], str | None]:
    """Ask as the dialog does; return what streamed, the result of the turn, and where the audio is."""
    run = {"type": "assist_pipeline/run", "start_stage": "intent", "end_stage": end_stage}
    await client.send_json_auto_id({**run, "input": {"text": sentence}, **options})
    streamed, output, audio = "", {}, None
    while True:
        event = (await client.receive_json()).get("event")
        if event is None:
            continue
        data = event["data"] or {}
        assert event["type"] != "error", event
        if event["type"] == "run-start":
            audio = data.get("tts_output", {}).get("token")
        elif event["type"] == "intent-progress":
            streamed += data.get("chat_log_delta", {}).get("content") or ""
        elif event["type"] == "intent-end":
            output = data["intent_output"]
        elif event["type"] == "run-end":
            return streamed, output, audio
