"""One module for each kind of knowledge."""
