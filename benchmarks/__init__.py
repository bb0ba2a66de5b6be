"""Figures that anyone can print: `python -m benchmarks [table ...]`."""
