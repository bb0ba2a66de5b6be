"""The embedded store's matrix and files against the simplest thing that does the same."""

from collections.abc import Mapping
from pathlib import Path
import tempfile

from hypothesis import HealthCheck, given, settings, strategies as st
import numpy as np
import pytest

from custom_components.home_agent.vector import matrix as matrix_module
from custom_components.home_agent.vector.files import Disk, Stored
from custom_components.home_agent.vector.matrix import Matrix
from custom_components.home_agent.vector.store import Entry, StoreProblem, Value, VectorStoreError

from .examples import many

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


@pytest.fixture(autouse=True)
def _soon_moved_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the rows grow and be moved together after a few changes."""
    monkeypatch.setattr(matrix_module, "FIRST_ROWS", 2)
    monkeypatch.setattr(matrix_module, "MIN_DEAD", 3)


def apply(changes: list[object]) -> tuple[Matrix, dict[str, Entry]]:
    """Make the same changes to a matrix and to a dictionary."""
    matrix = Matrix()
    expected: dict[str, Entry] = {}
    for change in changes:
        if isinstance(change, set):
            assert matrix.delete(change) is any(key in expected for key in change)
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
            assert matrix.new(entries) == len({entry.id for entry in entries} - expected.keys())
            matrix.upsert(entries)
            expected.update((entry.id, entry) for entry in entries)
    return matrix, expected


def similarity(entry: Entry, query: np.ndarray) -> float:
    """Return the cosine similarity, cut to 0-1, with more digits than the matrix has."""
    one, other = entry.vector.astype(float), query.astype(float)
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return min(1.0, max(0.0, float(one @ other) / lengths)) if lengths else 0.0


def check(
    matrix: Matrix, expected: Mapping[str, Entry], query: np.ndarray, limit: int, where: Mapping[str, Value]
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
    hits = matrix.search(query, limit, where)
    best = sorted(fitting.values(), reverse=True)[:limit]
    assert [hit.similarity for hit in hits] == pytest.approx(best, abs=1e-5)
    assert len({hit.id for hit in hits}) == len(hits)
    for hit in hits:
        assert hit.similarity == pytest.approx(fitting[hit.id], abs=1e-5)
        assert (hit.text, hit.metadata) == (expected[hit.id].text, expected[hit.id].metadata)


@TYPICAL
@given(changes=CHANGES, query=VECTORS, limit=st.integers(0, 40), where=METADATA)
def test_search(changes: list[object], query: list[float], limit: int, where: dict[str, Value]) -> None:
    matrix, expected = apply(changes)
    assert len(matrix) == len(expected)
    assert matrix.hashes() == {key: entry.content_hash for key, entry in expected.items()}
    for condition in ({}, where):
        check(matrix, expected, np.array(query, np.float32), limit, condition)


@TYPICAL
@given(changes=CHANGES, later=CHANGES, query=VECTORS, name=st.text(max_size=60))
def test_files(changes: list[object], later: list[object], query: list[float], name: str) -> None:
    """What is read is what was written, and goes on as before."""
    matrix, expected = apply(changes)
    with tempfile.TemporaryDirectory() as folder:
        disk = Disk(Path(folder))
        disk.write(Stored(name, "made by", matrix))
        ((stored,), unreadable) = disk.read_all()
        assert unreadable == []
        assert (stored.collection, stored.fingerprint) == (name, "made by")
        assert stored.matrix.hashes() == matrix.hashes()
        check(stored.matrix, expected, np.array(query, np.float32), 10, {})
        gone = set(list(expected)[::2])
        stored.matrix.delete(gone)
        left = {key: entry for key, entry in expected.items() if key not in gone}
        check(stored.matrix, left, np.array(query, np.float32), 10, {})
        more, expected_more = apply(later)
        if len(expected_more) and len(expected):
            stored.matrix.upsert(list(expected_more.values()))
            check(stored.matrix, left | expected_more, np.array(query, np.float32), 10, {})
        assert len(more) == len(expected_more)


@TYPICAL
@given(changes=CHANGES, damage=st.binary(min_size=1, max_size=40), at=st.floats(0, 1), cut=st.booleans())
def test_damaged_files(changes: list[object], damage: bytes, at: float, cut: bool) -> None:
    """A damaged file is read as it was, or set aside with every byte; nothing is ever raised or invented."""
    matrix, expected = apply(changes)
    with tempfile.TemporaryDirectory() as folder:
        disk = Disk(Path(folder))
        disk.write(Stored("things", "made by", matrix))
        path = disk.path_of("things")
        whole = path.read_bytes()
        place = int(at * len(whole))
        broken = whole[:place] if cut else whole[:place] + damage + whole[place + len(damage) :]
        path.write_bytes(broken)
        found, unreadable = disk.read_all()
        assert len(found) + len(unreadable) == 1
        for file in unreadable:
            assert file.path != path
            assert file.path.read_bytes() == broken
        for stored in found:
            assert stored.matrix.hashes() == {key: entry.content_hash for key, entry in expected.items()}


def test_a_search_sees_one_state() -> None:
    """What a search has begun with is not moved under its feet."""
    matrix = Matrix()
    entries = [
        Entry(id=str(number), text="", vector=np.eye(8, dtype=np.float32)[number], content_hash="#")
        for number in range(8)
    ]
    matrix.upsert(entries)
    before = matrix._state
    matrix.delete([str(number) for number in range(7)])
    matrix.upsert(entries[:3])
    assert matrix._state.vectors is not before.vectors
    assert before.vectors[7] @ entries[7].vector == 1
    assert before.rows[7] is not None
    assert {hit.id for hit in matrix.search(entries[7].vector, 10)} == {"0", "1", "2", "7"}


def test_all_or_none() -> None:
    matrix = Matrix()
    good = Entry(id="a", text="", vector=np.ones(3, np.float32), content_hash="#")
    for wrong in (np.ones(2, np.float32), np.ones((3, 1), np.float32), np.array([], np.float32)):
        with pytest.raises(VectorStoreError) as caught:
            matrix.upsert([good, Entry(id="b", text="", vector=wrong, content_hash="#")])
        assert caught.value.problem is StoreProblem.DIMENSION
        assert len(matrix) == 0
    with pytest.raises(VectorStoreError):
        matrix.upsert([Entry(id="b", text="", vector=np.array([], np.float32), content_hash="#")])
