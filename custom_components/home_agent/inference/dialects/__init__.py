"""How each kind of server wants its requests and gives its answers."""
