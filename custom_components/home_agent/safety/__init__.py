"""What may be done, by whom, and after which question."""
