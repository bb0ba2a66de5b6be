"""How each kind of server wants its requests and gives its answers."""

from ..models import Dialect
from .base import Wire
from .ollama import OllamaWire
from .openai import AzureWire, OpenAIWire

WIRES: dict[Dialect, Wire] = {
    Dialect.OPENAI: OpenAIWire(),
    Dialect.OLLAMA: OllamaWire(),
    Dialect.AZURE: AzureWire(),
}
