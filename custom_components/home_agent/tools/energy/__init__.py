"""energy: consumption, production and cost as the Energy dashboard counts them."""
