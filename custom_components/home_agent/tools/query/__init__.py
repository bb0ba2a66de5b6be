"""ha_query: what is read of states and history."""
