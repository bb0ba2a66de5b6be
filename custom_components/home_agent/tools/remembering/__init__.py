"""What people want remembered: the tool for it, and the five older ones."""
