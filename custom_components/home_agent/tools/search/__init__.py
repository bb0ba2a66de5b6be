"""Search services of the web, behind one interface."""
