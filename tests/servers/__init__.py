"""Servers on loopback that the tests and benchmarks talk to."""
