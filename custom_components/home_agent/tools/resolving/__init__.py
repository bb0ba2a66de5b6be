"""From what was said to entities."""
