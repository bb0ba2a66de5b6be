"""What is watched and becomes a repair issue: the server, pipelines, automations, names in options."""
