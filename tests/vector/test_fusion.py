"""One ranking of several."""

from hypothesis import given, strategies as st

from custom_components.home_agent.vector.lexical import fuse

RANKING = st.lists(st.sampled_from("abcdefghij"), max_size=10)
WEIGHT = st.floats(0.1, 2)


@given(st.lists(st.tuples(RANKING, WEIGHT), max_size=4))
def test_everything_is_there_once(rankings: list[tuple[list[str], float]]) -> None:
    fused = fuse(rankings)
    assert sorted(fused) == sorted({key for ranking, _ in rankings for key in ranking})


@given(RANKING, WEIGHT)
def test_one_ranking_stays(ranking: list[str], weight: float) -> None:
    once = list(dict.fromkeys(ranking))
    assert fuse([(ranking, weight)]) == once
    assert fuse([(ranking, weight), ([], 1.0), (ranking, weight)]) == once


@given(RANKING, RANKING, WEIGHT)
def test_what_is_ahead_everywhere_stays_ahead(one: list[str], other: list[str], weight: float) -> None:
    fused = fuse([(one, 1.0), (other, weight)])
    for key in one:
        for behind in other:
            ahead = [
                key in ranking and (behind not in ranking or ranking.index(key) < ranking.index(behind))
                for ranking in (one, other)
            ]
            if all(ahead):
                assert fused.index(key) < fused.index(behind)


def test_agreement_beats_one_good_place() -> None:
    assert fuse([(["a", "b"], 1.0), (["c", "b"], 1.0)])[0] == "b"
    assert fuse([(["a", "b"], 1.0), (["c"], 0.5)]) == ["a", "b", "c"]
