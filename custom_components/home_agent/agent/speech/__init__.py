"""What may be spoken or shown of a model's words, decided while they stream.

Independent of Home Assistant.
"""

from .calls import MAX_CALLS
from .filter import SpeechFilter, Spoken

__all__ = ["MAX_CALLS", "SpeechFilter", "Spoken"]
