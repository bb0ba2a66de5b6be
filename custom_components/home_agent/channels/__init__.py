"""Ways to reach people outside a conversation."""
