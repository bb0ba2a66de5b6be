"""What the agent knows about the household and its people."""
