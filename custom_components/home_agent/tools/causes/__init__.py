"""Why something changed, and who or what changed it."""
