"""Ways to reach people beside the conversation."""
