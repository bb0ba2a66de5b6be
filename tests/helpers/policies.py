"""Actions, and whether the default policy asks before them."""

SERVICES = [
    ("unlock", "lock.front_door", "lock.unlock", True),
    ("open", "lock.front_door", "lock.open", True),
    ("lock", "lock.front_door", "lock.lock", False),
    ("disarm", "alarm_control_panel.home", "alarm_control_panel.alarm_disarm", True),
    ("arm_away", "alarm_control_panel.home", "alarm_control_panel.alarm_arm_away", False),
    ("open", "cover.garage", "cover.open_cover", True),
    ("close", "cover.garage", "cover.close_cover", False),
    ("open", "cover.blind", "cover.open_cover", False),
    ("open", "valve.water", "valve.open_valve", True),
    ("close", "valve.water", "valve.close_valve", False),
    ("turn_on", "siren.roof", "siren.turn_on", True),
    ("turn_off", "camera.yard", "camera.turn_off", True),
    ("turn_on", "light.hall", "light.turn_on", False),
]
