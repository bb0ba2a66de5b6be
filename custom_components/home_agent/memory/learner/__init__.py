"""Learns what a household does again and again."""
