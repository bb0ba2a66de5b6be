"""Ways to reach people outside of a conversation."""
