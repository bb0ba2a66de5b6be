"""Text that can be encoded: servers split characters, and models write incomplete characters."""


class Characters:
    """Joins characters that a server cut in two halves of a surrogate pair."""

    def __init__(self) -> None:
        """Start without a half."""
        self._half = ""

    def mend(self, text: str) -> str:
        """Return text that can be encoded; half a character at its end waits for the other half."""
        if text.isascii() and not self._half:
            return text
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return mended(text)


def mended(text: str) -> str:
    """Return a whole text that can be encoded: halves that belong together are joined, others replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
