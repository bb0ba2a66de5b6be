"""Stands between the agent and a real Chroma server, and refuses what a test wants refused."""

from http.client import HTTPConnection
from typing import override

from .loopback import Captured, LoopbackServer, Rendered
from .replies import Reply, status


class ChromaBetween(LoopbackServer):
    """Passes requests on, except those whose path ends as `refuses` says: they get that status."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._to = port
        self.refuses: dict[str, int] = {}

    @override
    def choose(self, request: Captured) -> Reply:
        """Return the refusal or what the real server says."""
        for ending, code in self.refuses.items():
            if request.path.endswith(ending):
                return status(code, {"error": "Refused", "message": "not now"})
        connection = HTTPConnection("127.0.0.1", self._to, timeout=30)
        headers = {"Content-Type": "application/json"} if request.raw else {}
        path = f"{request.path}?{request.query}" if request.query else request.path
        connection.request(request.method, path, request.raw or None, headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return Reply(status=answer.status, body=body)

    @override
    def render(self, request: Captured, reply: Reply) -> Rendered:
        """Return the reply as it is."""
        return Rendered(reply.content_type, whole=reply.body or b"")
