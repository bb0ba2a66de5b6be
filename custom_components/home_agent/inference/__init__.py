"""Clients of model servers over HTTP, independent of Home Assistant."""
