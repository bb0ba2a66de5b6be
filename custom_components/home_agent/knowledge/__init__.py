"""What the house consists of."""
