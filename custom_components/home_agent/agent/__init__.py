"""One turn, from sentence to answer."""
