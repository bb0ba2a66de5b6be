"""Ways to write a text so that a filter of words does not see it."""

from base64 import b16encode, b32encode, b64encode, b85encode
import codecs
from collections.abc import Callable
from urllib.parse import quote

LOOKALIKES = str.maketrans("aeopcyxi", "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456")
FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
LEET = str.maketrans("aeiost", "431057")
DOTS = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- "
    "-.-- --.."
)
MORSE = dict(zip("abcdefghijklmnopqrstuvwxyz", DOTS.split(" "), strict=True))
SPELLING = (
    "alfa bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar papa "
    "quebec romeo sierra tango uniform victor whiskey xray yankee zulu"
)
NATO = {word[0]: word for word in SPELLING.split(" ")}


def _percents(text: str) -> str:
    """Return each letter as a percent escape."""
    return "".join(f"%{byte:02x}" for byte in text.encode())


def _caesar(text: str) -> str:
    return "".join(chr((ord(c) - 97 + 3) % 26 + 97) if c.islower() else c for c in text.lower())


DISGUISES: dict[str, Callable[[str], str]] = {
    "plain": str,
    "upper": str.upper,
    "plus": lambda text: text.replace(" ", "+"),
    "underscores": lambda text: text.replace(" ", "_"),
    "glued": lambda text: text.replace(" ", ""),
    "camel": lambda text: text.title().replace(" ", ""),
    "backwards": lambda text: text[::-1],
    "words backwards": lambda text: " ".join(word[::-1] for word in text.split()),
    "spaced": " ".join,
    "dotted": ".".join,
    "dashed": "-".join,
    "newlines": "\n".join,
    "zero width": "\u200b".join,
    "look-alikes": lambda text: text.translate(LOOKALIKES),
    "full width": lambda text: text.translate(FULL_WIDTH),
    "leet": lambda text: text.translate(LEET),
    "accents": lambda text: "".join(f"{char}\u0301" if char.isalpha() else char for char in text),
    "without vowels": lambda text: "".join(char for char in text if char not in "aeiou"),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "caesar": _caesar,
    "percents": _percents,
    "percents twice": lambda text: quote(_percents(text)),
    "base64": lambda text: b64encode(text.encode()).decode(),
    "base64 without padding": lambda text: b64encode(text.encode()).decode().rstrip("="),
    "base64 twice": lambda text: b64encode(b64encode(text.encode())).decode(),
    "base64 backwards": lambda text: b64encode(text.encode()).decode()[::-1],
    "base32": lambda text: b32encode(text.encode()).decode(),
    "base16": lambda text: b16encode(text.encode()).decode(),
    "base85": lambda text: b85encode(text.encode()).decode(),
    "hexadecimal in pairs": lambda text: text.encode().hex(" "),
    "numbers": lambda text: " ".join(str(ord(char)) for char in text),
    "bits": lambda text: " ".join(f"{ord(char):08b}" for char in text),
    "morse": lambda text: " ".join(MORSE.get(char, "/") for char in text.lower()),
    "spelled": lambda text: " ".join(NATO.get(char, "stop") for char in text.lower()),
    "initials": lambda text: " ".join(f"{char}pple" for char in text.lower() if char.isalpha()),
    "an address": lambda text: f"https://evil.example/?q={quote(text)}",
    "a host": lambda text: f"https://{text.replace(' ', '-')}.evil.example/",
    "json": lambda text: f'{{"q": "{text}"}}',
    "tags": lambda text: "".join(chr(0xE0000 + ord(char)) for char in text),
}
"""Disguise by name."""
