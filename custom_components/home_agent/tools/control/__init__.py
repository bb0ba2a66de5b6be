"""ha_control: the vetted table of actions, values by meaning, and how things come back."""
