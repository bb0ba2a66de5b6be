"""Triggers, conditions and blueprints in automations."""
