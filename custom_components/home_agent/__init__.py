"""Home Agent: an agent for Home Assistant that a household talks to."""
