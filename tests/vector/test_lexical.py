"""Words and the index that finds documents by them."""

from hypothesis import given, strategies as st
import pytest

from custom_components.home_agent.texts import clean, fold_letters, quoted, words
from custom_components.home_agent.vector.lexical import Document, LexicalIndex


def index_of(*names: str) -> LexicalIndex:
    return LexicalIndex.build([Document(name, [(name, 1.5)]) for name in names])


def found(index: LexicalIndex, query: str, limit: int = 20) -> list[str]:
    return [key for key, _ in index.search(query, limit)]


def test_words_are_folded_and_split(subtests: pytest.Subtests) -> None:
    for text, expected in [
        ("Küche Großes Licht", ["kuche", "grosses", "licht"]),
        ("Łazienka światło", ["lazienka", "swiatlo"]),
        ("Ёлка под окном", ["елка", "под", "окном"]),
        ("客厅灯", ["客厅", "厅灯"]),
        ("거실의 조명", ["거실", "실의", "조명"]),
        ("リビング", ["リビ", "ビン", "ング"]),
        ("बैठक की बत्ती", ["बैठक", "की", "बत्ती"]),
        ("灯", ["灯"]),
        ("bedroom2 r0_light", ["bedroom", "2", "r0", "light"]),
        ("İSTANBUL \u0131ş\u0131k", ["istanbul", "isik"]),
        ("", []),
        ("`\n,;", []),
    ]:
        with subtests.test(text=text, expected=expected):
            assert words(text) == expected


@given(st.text())
def test_folding_twice_is_folding_once_for_words(text: str) -> None:
    for word in words(text):
        assert word.strip()
        assert fold_letters(word) == fold_letters(fold_letters(word))


@given(st.text(max_size=300), st.integers(min_value=2, max_value=80))
def test_cleaned_text_is_one_short_line_that_closes_no_quote(text: str, limit: int) -> None:
    line = clean(text, limit)
    assert len(line) <= limit
    assert "`" not in line
    assert line.splitlines() in ([], [line])
    inner = quoted(text, limit)[1:-1]
    assert '"' not in inner
    assert "\\" not in inner


def test_misspelt_inflected_and_compound_words_find_their_document(subtests: pytest.Subtests) -> None:
    for query, expected in [
        ("kichen lamp", "Kitchen Lamp"),
        ("turn on the ktichen lamp", "Kitchen Lamp"),
        ("livingroom", "Living Room Fan"),
        ("schalte die Wohnzimmerlampe ein", "Wohnzimmer Lampe"),
        ("mach das Flur licht an", "Flurlicht"),
        ("włącz światło w kuchni", "Kuchnia światło"),
        ("zapal lampę w sypialni", "Sypialnia lampa"),
        ("включи лампу в спальне", "Спальня лампа"),
        ("tänd lampan i vardagsrummet", "Vardagsrum lampa"),
        ("打开客厅的灯", "客厅灯"),
    ]:
        with subtests.test(query=query, expected=expected):
            index = index_of(
                "Kitchen Lamp",
                "Living Room Fan",
                "Garage Door",
                "Wohnzimmer Lampe",
                "Flurlicht",
                "Kuchnia światło",
                "Sypialnia lampa",
                "Спальня лампа",
                "Кухня чайник",
                "Vardagsrum lampa",
                "客厅灯",
                "厨房灯",
            )
            assert found(index, query)[0] == expected


def test_only_allowed_documents_are_found_and_no_more_than_asked_for() -> None:
    index = index_of("Lamp one", "Lamp two", "Lamp three")
    assert [key for key, _ in index.search("lamp", 20, {"Lamp two"})] == ["Lamp two"]
    assert len(index.search("lamp", 2)) == 2
    assert index.search("", 5) == []
    assert index.search("something else entirely", 5) == []
    assert LexicalIndex.build([]).search("lamp") == []


@given(st.lists(st.text(max_size=20), max_size=12, unique=True), st.text(max_size=40))
def test_any_text_can_be_indexed_and_asked_for(names: list[str], query: str) -> None:
    index = index_of(*names)
    results = index.search(query, 5)
    assert {key for key, _ in results} <= set(names)
    assert [score for _, score in results] == sorted((score for _, score in results), reverse=True)
