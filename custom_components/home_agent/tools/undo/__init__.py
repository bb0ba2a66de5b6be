"""activity: what was done, and undoing it."""
