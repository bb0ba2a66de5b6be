"""What may be spoken or shown of a model's words, decided while they stream.

Knows nothing of Home Assistant.
"""

from .filter import SpeechFilter, Spoken

__all__ = ["SpeechFilter", "Spoken"]
