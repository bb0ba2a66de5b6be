"""Documents that can be searched, and the household's text files as passages."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
import os
from pathlib import Path, PurePosixPath
import stat
from typing import Final, NamedTuple, Protocol

from homeassistant.core import CALLBACK_TYPE

from ..regex import lazy_regex
from ..safety.disclosure import Disclosure


class Source(StrEnum):
    """Where a text of the knowledge comes from."""

    ENTITY = "entity"
    AUTOMATION = "automation"
    SCENE = "scene"
    SCRIPT = "script"
    AREA = "area"
    SUMMARY = "summary"
    """What happened in the last 24 hours."""
    PROFILE = "profile"
    MEMORY = "memory"
    FILE = "file"
    """A passage of a text file, in an additional collection; never among the home's own knowledge."""


class KnowledgeDocument(NamedTuple):
    """One text that can be found."""

    id: str
    """Unique over all sources: the entity id, or `source:name`."""
    source: Source
    title: str
    text: str
    entity_ids: tuple[str, ...] = ()
    """The entities it speaks of. Where none of them is exposed any more, it is not shown."""
    person: str | None = None
    """The owner; None is the household."""


class KnowledgeSource(Protocol):
    """One kind of knowledge."""

    source: Source

    async def async_documents(self) -> Iterable[KnowledgeDocument]:
        """Return all documents as of now; takes no time on the event loop."""
        ...

    def async_listen(self, changed: Callable[[], None]) -> CALLBACK_TYPE:
        """Call `changed` when documents may differ; return how to stop that."""
        ...


class PersonalSource(Protocol):
    """Finds what is known of a person, such as the profile.

    It belongs to one agent, and what it gives depends on who asks. So each search asks it, and its documents
    are not among those that agents share.
    """

    async def async_find(
        self, text: str, person_id: str | None, model: Disclosure
    ) -> list[KnowledgeDocument]:
        """Return the results that this person may see with this model, best first, without sensitive ones."""
        ...


SUFFIXES: Final = (".md", ".txt")
MAX_FILES: Final = 500
MAX_FILE_BYTES: Final = 1_000_000
MAX_PASSAGES: Final = 5_000
"""Of one collection."""
MAX_DEPTH: Final = 8
_ENCODINGS: Final = ("utf-8-sig", "cp1252")
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


PASSAGE_CHARS: Final = 700
"""How long a passage may be, without its headings: about 175 tokens of English."""
OVERLAP_CHARS: Final = 120
"""How much of a passage the next one repeats, so that a sentence keeps its context."""
HEADING_CHARS: Final = 120

_HEADING = lazy_regex(r"^ {0,3}(#{1,6})\s+(.+?)\s*#*\s*$")
_UNDERLINE = lazy_regex(r"^ {0,3}(=+|-+)\s*$")
_FENCE = lazy_regex(r"^ {0,3}(```|~~~)")
_SENTENCE_END = lazy_regex(r"(?<=[.!?…])\s+|(?<=[\u3002\uff01\uff1f])")


class FolderRefused(Exception):
    """A folder is not read; `key` names the sentence that says why."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class TextFile(NamedTuple):
    """One file as it was read."""

    digest: str
    """Of its content: a file that has it still is not cut up again."""
    passages: tuple[str, ...]


@dataclass(slots=True)
class FolderContent:
    """What a folder holds, by path from the configuration directory."""

    files: dict[str, TextFile] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """Files that were not taken, with the reason."""


def find_folder(root: Path, folder: str) -> tuple[str, Path | None]:
    """Return a folder as a path from the configuration directory, and its location if it exists.

    It lies inside the directory, also when links are followed, and nothing on the way is hidden.
    Raises FolderRefused.
    """
    path = Path(folder.strip().replace("\\", "/"))
    inner = _inside(path, root) if path.is_absolute() else path
    if ".." in inner.parts or "\x00" in folder:
        raise FolderRefused("folder_outside")
    name = PurePosixPath(*inner.parts).as_posix()
    if not inner.parts or _hidden(inner.parts):
        raise FolderRefused("folder_hidden")
    try:
        found = (root / inner).resolve(strict=True)
    except OSError, RuntimeError:
        return name, None
    real = _inside(found, root.resolve()).parts
    if not real or _hidden(real):
        raise FolderRefused("folder_hidden")
    return name, found if found.is_dir() else None


def _inside(path: Path, root: Path) -> Path:
    """Return a path as seen from a directory. Raises FolderRefused for one that leads elsewhere."""
    try:
        return path.relative_to(root)
    except ValueError as err:
        raise FolderRefused("folder_outside") from err


def _hidden(parts: Iterable[str]) -> bool:
    """Return whether a part of a path is hidden, as `.storage` is, or holds secrets."""
    return any(part.startswith(".") or part.lower().startswith("secrets.") for part in parts)


def read_folder(name: str, folder: Path, known: Mapping[str, TextFile], room: int) -> FolderContent:
    """Read the texts of a folder and of the folders in it, as far as there is `room` for passages.

    What is `known` and unchanged is not cut again. Links are not followed, hidden files are not read.
    """
    content = FolderContent()
    for number, file in enumerate(_files(folder)):
        path = PurePosixPath(name, file.relative_to(folder).as_posix()).as_posix()
        if number >= MAX_FILES:
            content.failed[path] = f"more than {MAX_FILES} files"
            break
        try:
            read = _read(file, known.get(path))
        except (OSError, ValueError) as err:
            content.failed[path] = str(err) if type(err) is ValueError else "it cannot be read"
            continue
        if len(read.passages) > room:
            content.failed[path] = f"more than {MAX_PASSAGES:,} passages in all"
            continue
        room -= len(read.passages)
        content.files[path] = read
    return content


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder, followlinks=False):
        here = Path(place)
        depth = len(here.relative_to(folder).parts)
        folders[:] = sorted(name for name in folders if not _hidden((name,)) and depth < MAX_DEPTH)
        for name in sorted(files):
            if name.lower().endswith(SUFFIXES) and not _hidden((name,)) and not (here / name).is_symlink():
                yield here / name


def _read(file: Path, known: TextFile | None) -> TextFile:
    """Return a file cut into passages. Raises OSError, and ValueError if it is not a text."""
    raw = _bytes(file)
    digest = sha256(raw).hexdigest()
    if known is not None and known.digest == digest:
        return known
    cut = passages(_text(raw), markdown=file.suffix.lower() == ".md")
    return TextFile(digest=digest, passages=tuple(dict.fromkeys(cut)))


def _bytes(file: Path) -> bytes:
    """Return the content of a plain file; neither links nor pipes are opened."""
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with os.fdopen(handle, "rb") as opened:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is no file")
        raw = opened.read(MAX_FILE_BYTES + 1)
    if len(raw) > MAX_FILE_BYTES:
        raise ValueError(f"it is larger than {MAX_FILE_BYTES // 1000:,} kB")
    return raw


def _text(raw: bytes) -> str:
    """Return bytes as text. Raises ValueError if they are not text."""
    if raw.startswith(_UTF_16):
        with suppress(UnicodeDecodeError):
            return raw.decode("utf-16")
    if b"\x00" not in raw:
        for encoding in _ENCODINGS:
            with suppress(UnicodeDecodeError):
                return raw.decode(encoding)
    raise ValueError("it is no text")


class _Paragraph(NamedTuple):
    """A paragraph with the headings above it."""

    headings: tuple[str, ...]
    text: str


def passages(text: str, *, markdown: bool) -> Iterator[str]:
    """Yield the passages of a text, each under one heading and beginning with it.

    Only Markdown has headings. Line breaks within a paragraph are lost.
    """
    headings: tuple[str, ...] = ()
    pieces: list[str] = []
    for paragraph in _paragraphs(text.splitlines(), markdown=markdown):
        if paragraph.headings != headings:
            yield from _packed(headings, pieces)
            headings, pieces = paragraph.headings, []
        pieces.append(paragraph.text)
    yield from _packed(headings, pieces)


def _paragraphs(lines: list[str], *, markdown: bool) -> Iterator[_Paragraph]:
    headings: list[str] = []
    taken: list[str] = []
    fenced = False
    for line in [*lines, ""]:
        fenced ^= markdown and bool(_FENCE.match(line))
        level, heading = _heading(line, taken) if markdown and not fenced else (0, "")
        if line.strip() and not level:
            taken.append(line.strip())
            continue
        if taken:
            yield _Paragraph(tuple(headings), " ".join(taken))
            taken = []
        if level:
            headings = [*headings[: level - 1], heading]


def _heading(line: str, taken: list[str]) -> tuple[int, str]:
    """Return level and text of a heading, 0 for another line; an underlined one leaves the paragraph."""
    if found := _HEADING.match(line):
        return len(found[1]), found[2]
    if len(taken) == 1 and (found := _UNDERLINE.match(line)):
        return (1 if found[1][0] == "=" else 2), taken.pop()
    return 0, ""


def _packed(headings: tuple[str, ...], pieces: Iterable[str]) -> Iterator[str]:
    """Yield the passages below one heading; each begins with the end of the previous one."""
    above = f"{' > '.join(headings)[-HEADING_CHARS:]}: " if headings else ""
    taken: list[str] = []
    for sentence in (part for piece in pieces for part in _sentences(piece)):
        if taken and len(" ".join((*taken, sentence))) > PASSAGE_CHARS:
            yield above + " ".join(taken)
            taken = _overlap(taken, PASSAGE_CHARS - len(sentence) - 1)
        taken.append(sentence)
    if taken:
        yield above + " ".join(taken)


def _overlap(taken: list[str], room: int) -> list[str]:
    """Return the last sentences of a passage, as many as the next one may begin with."""
    kept: list[str] = []
    for sentence in reversed(taken):
        if len(" ".join((sentence, *kept))) > min(OVERLAP_CHARS, room):
            break
        kept.insert(0, sentence)
    return kept


def _sentences(paragraph: str) -> Iterator[str]:
    """Yield the sentences of a paragraph; one longer than a passage is cut between words."""
    for sentence in _SENTENCE_END.split(paragraph):
        rest = sentence.strip()
        while len(rest) > PASSAGE_CHARS:
            cut = rest.rfind(" ", PASSAGE_CHARS // 2, PASSAGE_CHARS) + 1 or PASSAGE_CHARS
            yield rest[:cut].strip()
            rest = rest[cut:].strip()
        if rest:
            yield rest
