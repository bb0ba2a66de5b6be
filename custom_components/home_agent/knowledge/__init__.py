"""What the home consists of."""
