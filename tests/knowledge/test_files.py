"""Reading the household's texts: which folders, which files, how they are cut into passages."""

from itertools import pairwise
import os
from pathlib import Path

from hypothesis import given, settings, strategies as st
import pytest

from custom_components.home_agent.knowledge import library
from custom_components.home_agent.knowledge.library import (
    HEADING_CHARS,
    PASSAGE_CHARS,
    FolderRefused,
    find_folder,
    passages,
    read_folder,
)
from tests.helpers.examples import many

MANUAL = """\
# Coffee machine

It makes coffee.

## Descaling

Fill the tank.
Press *Clean* for five seconds.

```
# no heading
```

## Errors

E24 means that the tank is empty.
"""


def read(root: Path, folder: str) -> tuple[library.Files, dict[str, str]]:
    """Return what a folder holds, and what was not taken."""
    name, place = find_folder(root, folder)
    assert place is not None
    return read_folder(name, place, library.MAX_PASSAGES)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a configuration directory with a folder of texts."""
    config = tmp_path / "config"
    (config / "texts" / "kitchen").mkdir(parents=True)
    (config / "texts" / "kitchen" / "coffee.md").write_text(MANUAL, encoding="utf-8")
    (config / "texts" / "bins.txt").write_text("# Paper goes out on Tuesday.", encoding="utf-8")
    return config


# Passages


def test_headings_stand_before_what_is_under_them() -> None:
    assert list(passages(MANUAL, markdown=True)) == [
        "Coffee machine: It makes coffee.",
        "Coffee machine > Descaling: Fill the tank. Press *Clean* for five seconds. ``` # no heading ```",
        "Coffee machine > Errors: E24 means that the tank is empty.",
    ]


def test_long_texts_are_cut_between_sentences_with_overlap() -> None:
    text = " ".join(f"Sentence number {number} says nothing." for number in range(100))
    cut = list(passages(text, markdown=True))
    assert len(cut) > 4
    assert all(len(passage) <= PASSAGE_CHARS and passage.endswith(".") for passage in cut)
    for earlier, later in pairwise(cut):
        assert later.split(". ")[0] in earlier
    assert {word for passage in cut for word in passage.split()} == set(text.split())


@settings(max_examples=many(200), deadline=None)
@given(st.text(alphabet=st.sampled_from("ab .!?。\n#=-`~é漢"), max_size=4000), st.booleans())
def test_any_text_is_cut_into_bounded_passages(text: str, markdown: bool) -> None:
    for passage in passages(text, markdown=markdown):
        assert passage.strip()
        assert len(passage) <= PASSAGE_CHARS + HEADING_CHARS + 2


# Folders


def test_a_folder_is_read_with_the_folders_in_it(root: Path) -> None:
    files, failed = read(root, "texts")
    assert set(files) == {"texts/bins.txt", "texts/kitchen/coffee.md"}
    assert files["texts/bins.txt"].passages == ("# Paper goes out on Tuesday.",)
    assert not failed
    assert set(read(root, str(root / "texts" / "kitchen"))[0]) == {"texts/kitchen/coffee.md"}


def test_folders_that_are_not_read(root: Path, subtests: pytest.Subtests) -> None:
    (root / ".storage").mkdir()
    (root / "way_out").symlink_to("/etc")
    (root / "back_door").symlink_to(root / ".storage")
    (root / "itself").symlink_to(root)
    for folder, key in [
        ("..", "folder_outside"),
        ("texts/../..", "folder_outside"),
        ("/etc", "folder_outside"),
        ("texts\x00", "folder_outside"),
        ("way_out", "folder_outside"),
        ("", "folder_hidden"),
        (".", "folder_hidden"),
        (".storage", "folder_hidden"),
        ("texts/.git", "folder_hidden"),
        ("back_door", "folder_hidden"),
        ("itself", "folder_hidden"),
    ]:
        with subtests.test(folder=folder, key=key):
            with pytest.raises(FolderRefused) as refused:
                find_folder(root, folder)
            assert refused.value.key == key


def test_files_that_are_never_read(root: Path) -> None:
    """Links, hidden files, secrets and other kinds are passed over without a word."""
    texts = root / "texts"
    (root / "secrets.yaml").write_text("pin: 1234")
    (texts / "link.md").symlink_to(root / "secrets.yaml")
    (texts / "linked").symlink_to(root)
    (texts / ".hidden.md").write_text("hidden")
    (texts / ".obsidian").mkdir()
    (texts / ".obsidian" / "note.md").write_text("hidden")
    (texts / "secrets.txt").write_text("pin: 1234")
    (texts / "program.py").write_text("print()")
    assert set(read(root, "texts")[0]) == {"texts/bins.txt", "texts/kitchen/coffee.md"}


def test_files_that_cannot_be_taken(root: Path) -> None:
    texts = root / "texts"
    (texts / "large.txt").write_bytes(b"a" * (library.MAX_FILE_BYTES + 1))
    (texts / "binary.txt").write_bytes(b"PK\x00\x01")
    (texts / "neither.txt").write_bytes(b"\x81\x8d")
    os.mkfifo(texts / "pipe.txt")
    files, failed = read(root, "texts")
    assert failed == {
        "texts/large.txt": "it is larger than 1,000 kB",
        "texts/binary.txt": "it is no text",
        "texts/neither.txt": "it is no text",
        "texts/pipe.txt": "it is no file",
    }
    assert len(files) == 2
