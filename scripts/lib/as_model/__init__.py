"""A model server whose answers are written by hand, to show what a model sees."""
