"""The embedded store's table and files against the simplest thing that does the same."""

from collections.abc import Mapping
from pathlib import Path
import tempfile

from hypothesis import HealthCheck, given, settings, strategies as st
import numpy as np
import pytest

from custom_components.home_agent.vector.embedded import Table, file_name, read_table
from custom_components.home_agent.vector.store import Entry, StoreProblem, Value, VectorStoreError
from tests.helpers.examples import many

DIMENSION = 4
TYPICAL = settings(
    max_examples=many(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
KEYS = st.integers(0, 30).map(str)
NUMBERS = st.floats(-100, 100, width=32).map(lambda number: round(number, 3))
VECTORS = st.lists(NUMBERS, min_size=DIMENSION, max_size=DIMENSION)
METADATA: st.SearchStrategy[dict[str, Value]] = st.dictionaries(
    st.sampled_from(("a", "b")), st.sampled_from([0, 1, True, False, "1", 1.0, "x"]), max_size=2
)
ENTRIES = st.lists(st.tuples(KEYS, st.text(max_size=5), VECTORS, METADATA), max_size=12)
CHANGES = st.lists(st.one_of(ENTRIES, st.sets(KEYS, max_size=12)), max_size=12)


def apply(changes: list[object]) -> tuple[Table, dict[str, Entry]]:
    """Make the same changes to a table and to a dictionary."""
    table = Table("made by")
    expected: dict[str, Entry] = {}
    for change in changes:
        if isinstance(change, set):
            changed = table.without(change)
            assert (changed is not table) is any(key in expected for key in change)
            table = changed
            expected = {key: entry for key, entry in expected.items() if key not in change}
        elif isinstance(change, list):
            entries = [
                Entry(
                    id=key,
                    text=text,
                    vector=np.array(vector, np.float32),
                    content_hash=f"#{text}",
                    metadata=metadata,
                )
                for key, text, vector, metadata in change
            ]
            table = table.with_entries(entries)
            expected.update((entry.id, entry) for entry in entries)
    return table, expected


def similarity(entry: Entry, query: np.ndarray) -> float:
    """Return the cosine similarity, cut to 0-1, with more digits than the matrix has."""
    one, other = entry.vector.astype(float), query.astype(float)
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return min(1.0, max(0.0, float(one @ other) / lengths)) if lengths else 0.0


def check(
    table: Table, expected: Mapping[str, Entry], query: np.ndarray, limit: int, where: Mapping[str, Value]
) -> None:
    """Compare a search with looking at everything."""
    fitting = {
        key: similarity(entry, query)
        for key, entry in expected.items()
        if all(
            type(entry.metadata.get(name)) is type(value) and entry.metadata.get(name) == value
            for name, value in where.items()
        )
    }
    hits = table.search(query, limit, where)
    best = sorted(fitting.values(), reverse=True)[:limit]
    assert [hit.similarity for hit in hits] == pytest.approx(best, abs=1e-5)
    assert len({hit.id for hit in hits}) == len(hits)
    for hit in hits:
        assert hit.similarity == pytest.approx(fitting[hit.id], abs=1e-5)
        assert (hit.text, hit.metadata) == (expected[hit.id].text, expected[hit.id].metadata)


@TYPICAL
@given(changes=CHANGES, query=VECTORS, limit=st.integers(0, 40), where=METADATA)
def test_search(changes: list[object], query: list[float], limit: int, where: dict[str, Value]) -> None:
    table, expected = apply(changes)
    assert len(table) == len(expected)
    assert table.hashes == {key: entry.content_hash for key, entry in expected.items()}
    for condition in ({}, where):
        check(table, expected, np.array(query, np.float32), limit, condition)


@TYPICAL
@given(changes=CHANGES, later=CHANGES, query=VECTORS, name=st.text(max_size=60))
def test_files(changes: list[object], later: list[object], query: list[float], name: str) -> None:
    """What is read is what was written, and goes on as before."""
    table, expected = apply(changes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file_name(name)
        path.write_bytes(b"".join(table.file_parts(name)))
        collection, stored = read_table(path)
        assert (collection, stored.fingerprint) == (name, "made by")
        assert stored.hashes == table.hashes
        check(stored, expected, np.array(query, np.float32), 10, {})
        gone = set(list(expected)[::2])
        stored = stored.without(gone)
        left = {key: entry for key, entry in expected.items() if key not in gone}
        check(stored, left, np.array(query, np.float32), 10, {})
        more, expected_more = apply(later)
        if len(expected_more) and len(expected):
            stored = stored.with_entries(expected_more.values())
            check(stored, left | expected_more, np.array(query, np.float32), 10, {})
        assert len(more) == len(expected_more)


@TYPICAL
@given(changes=CHANGES, damage=st.binary(min_size=1, max_size=40), at=st.floats(0, 1), cut=st.booleans())
def test_damaged_files(changes: list[object], damage: bytes, at: float, cut: bool) -> None:
    """A damaged file is read as it was, or not at all; nothing is ever invented."""
    table, expected = apply(changes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file_name("things")
        whole = b"".join(table.file_parts("things"))
        place = int(at * len(whole))
        broken = whole[:place] if cut else whole[:place] + damage + whole[place + len(damage) :]
        path.write_bytes(broken)
        try:
            collection, stored = read_table(path)
        except Exception:  # noqa: BLE001 - the store moves it aside whatever is raised
            assert broken != whole
        else:
            assert collection == "things"
            assert stored.hashes == {key: entry.content_hash for key, entry in expected.items()}


def test_a_search_sees_one_state() -> None:
    """A table is never changed: a search that has begun sees what was there."""
    entries = [
        Entry(id=str(number), text="", vector=np.eye(8, dtype=np.float32)[number], content_hash="#")
        for number in range(8)
    ]
    before = Table("made by").with_entries(entries)
    after = before.without([str(number) for number in range(7)]).with_entries(entries[:3])
    assert {hit.id for hit in before.search(entries[7].vector, 10)} == set("01234567")
    assert {hit.id for hit in after.search(entries[7].vector, 10)} == {"0", "1", "2", "7"}


def test_all_or_none() -> None:
    table = Table("made by")
    good = Entry(id="a", text="", vector=np.ones(3, np.float32), content_hash="#")
    for wrong in (np.ones(2, np.float32), np.ones((3, 1), np.float32), np.array([], np.float32)):
        with pytest.raises(VectorStoreError) as caught:
            table.with_entries([good, Entry(id="b", text="", vector=wrong, content_hash="#")])
        assert caught.value.problem is StoreProblem.DIMENSION
        assert len(table) == 0
    with pytest.raises(VectorStoreError):
        table.with_entries([Entry(id="b", text="", vector=np.array([], np.float32), content_hash="#")])
