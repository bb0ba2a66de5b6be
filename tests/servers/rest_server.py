"""A web service on loopback, well-behaved or hostile, as its routes say."""

from collections.abc import Callable
import json
from typing import Any, override

from .loopback import Captured, LoopbackServer, Rendered
from .replies import Reply

type Route = Reply | Callable[[Captured], Reply]


def data(value: Any, **options: Any) -> Reply:
    return Reply(body=json.dumps(value).encode(), **options)


def redirect(location: str, status: int = 302) -> Reply:
    """Send somewhere else."""
    return Reply(status=status, headers={"Location": location}, body=b"")


class RestServer(LoopbackServer):
    """Answers each path with its reply, everything else with 404."""

    def __init__(self) -> None:
        super().__init__()
        self.routes: dict[str, Route] = {}

    @override
    def choose(self, request: Captured) -> Reply:
        """Return the reply of the path, or of the longest one that it begins with."""
        fitting = [path for path in self.routes if path == request.path or path.endswith("/")]
        for path in sorted(fitting, key=len, reverse=True):
            if request.path.startswith(path):
                route = self.routes[path]
                return route(request) if callable(route) else route
        return Reply(status=404, body=b"{}")

    @override
    def render(self, request: Captured, reply: Reply) -> Rendered:
        """Return the body, whole or in pieces."""
        if reply.pieces is not None:
            return Rendered(reply.content_type, events=reply.pieces)
        return Rendered(reply.content_type, whole=reply.body or b"")
