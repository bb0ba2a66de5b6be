"""What the model can do, and the one guard in front of it."""
