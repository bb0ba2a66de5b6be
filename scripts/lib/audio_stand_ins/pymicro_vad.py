"""Stands in for pymicro-vad where it cannot be built: chats work, voice says why it does not."""


class MicroVad:
    """Voice activity detection that is not there."""

    def __init__(self) -> None:
        """Refuse: raises RuntimeError."""
        raise RuntimeError("pymicro-vad is missing: install a C++ compiler, delete .cache/ha-*, start again")
