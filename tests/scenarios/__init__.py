"""Conversations of a household, as data."""
