"""Text from outside: instructions are taken out, and the turn that read it is marked."""
