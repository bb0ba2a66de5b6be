"""Speaking up unasked: rules that are watched, habits that could become automations. Off by default."""
