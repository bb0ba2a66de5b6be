"""Embeddings in which unlike words have the same meaning."""

from tests.servers.loopback import Captured
from tests.servers.model_server import embedding
from tests.servers.replies import Reply, status

MEANINGS = {"thrilling": "lamp", "novel": "reading"}
"""What stands for what in the vectors of the scripted server, and in no word of the house."""


def understanding(request: Captured) -> Reply:
    """Return embeddings of a model that knows what words mean."""
    vectors = []
    for content in request.json["input"]:
        words = [MEANINGS.get(word, word) for word in content.lower().replace(",", " ").split()]
        vectors.append(embedding(" ".join(words), 256))
    return status(200, {"data": [{"index": i, "embedding": v} for i, v in enumerate(vectors)]})
