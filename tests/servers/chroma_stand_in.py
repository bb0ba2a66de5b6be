"""A stand-in for Chroma on loopback: it captures what is asked and answers well, or whatever a test wants."""

from collections.abc import Callable
import json
from typing import Any, override

from .loopback import Captured, LoopbackServer, Rendered
from .replies import Reply

COLLECTION_ID = "5b8d3b10-1111-4c35-8cd3-1d1b1d1b1d1b"
type Answer = Reply | Callable[[Captured], Reply]


class ChromaStandIn(LoopbackServer):
    """Has every collection that is asked for, ours and empty."""

    def __init__(self) -> None:
        super().__init__()
        self.fingerprint = "test|words|3"
        self.max_batch_size = 1000
        self._rules: list[tuple[str, Answer]] = []

    def on(self, ending: str, answer: Answer) -> None:
        """Answer requests whose path ends like this so; later rules win."""
        self._rules.insert(0, (ending, answer))

    def clear(self) -> None:
        """Be well again and forget what was asked."""
        self._rules.clear()
        self.requests.clear()

    def described(self, name: str) -> dict[str, Any]:
        """Return a collection as the server describes it."""
        metadata = {"hnsw:space": "cosine", "home_agent:fingerprint": self.fingerprint}
        configuration = {"hnsw": {"space": "cosine"}}
        return {"id": COLLECTION_ID, "name": name, "metadata": metadata, "configuration_json": configuration}

    @override
    def choose(self, request: Captured) -> Reply:
        """Return what a rule says, or what a server that is well says."""
        for ending, answer in self._rules:
            if request.path.endswith(ending):
                return answer if isinstance(answer, Reply) else answer(request)
        return Reply(body=json.dumps(self._well(request)).encode())

    @override
    def render(self, request: Captured, reply: Reply) -> Rendered:
        """Return the reply as it is."""
        return Rendered(reply.content_type, whole=reply.body or b"{}")

    def _well(self, request: Captured) -> Any:
        name = request.path.rpartition("/")[2]
        if (request.method, name) == ("POST", "collections"):
            self.fingerprint = request.json["metadata"]["home_agent:fingerprint"]
            return self.described(request.json["name"])
        empty = {"ids": [[]], "documents": [[]], "metadatas": [[]], "distances": [[]]}
        known: dict[tuple[str, str], Any] = {
            ("GET", "pre-flight-checks"): {"max_batch_size": self.max_batch_size},
            ("GET", "collections"): [self.described("things")],
            ("GET", "count"): 0,
            ("POST", "get"): {"ids": [], "metadatas": []},
            ("POST", "query"): empty,
        }
        named = self.described(name) if request.method == "GET" and "/collections/" in request.path else {}
        return known.get((request.method, name), named)
