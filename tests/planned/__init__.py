"""Commands for later."""
