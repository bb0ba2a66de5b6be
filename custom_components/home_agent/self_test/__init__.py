"""home_agent.self_test: a small corpus against the configured model, in a home that does not exist."""
