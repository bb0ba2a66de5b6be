"""Stands in for pyspeex-noise where it cannot be built: chats work, voice says why it does not."""


class AudioProcessor:
    """Noise suppression that is not there."""

    def __init__(self, *_args: float) -> None:
        """Refuse: raises RuntimeError."""
        raise RuntimeError(
            "pyspeex-noise is missing: install a C++ compiler, delete .cache/ha-*, start again"
        )
