"""Where the parts of a context come from."""
