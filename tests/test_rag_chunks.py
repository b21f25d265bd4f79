"""How texts are cut: nothing is lost, nothing is too large, and each passage's lines are where it says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolsmith.rag._chunks import Chunk, Section, chunks

WORDS = st.text("abc dé東.!", min_size=1, max_size=60)
LINES = st.one_of(
    WORDS,
    st.just(""),
    WORDS.map(lambda text: f"- {text}"),
    st.sampled_from(
        ["# One", "## Two", "### Three ###", "```", "~~~", "```py", "====", "---", "| a | b |", "    x = 1"]
    ),
    st.integers(1, 5_000).map(lambda n: "x" * n),
    st.integers(1, 400).map(lambda n: "A sentence of words. " * n),
)
TEXTS = st.lists(LINES, max_size=60).map("\n".join)


def cut(text: str, target: int = 400, **how: bool) -> list[Chunk]:
    return list(chunks([Section(text, **how)], target=target))


def bare(text: str) -> str:
    return "".join(text.split())


@given(TEXTS)
def test_nothing_is_lost(text: str) -> None:
    """Each character that is no space is in one passage, in order; without Markdown there are no headings."""
    assert bare("".join(c.text for c in cut(text, markdown=False))) == bare(text)


@given(TEXTS)
def test_only_headings_are_in_no_passage(text: str) -> None:
    """Lines that no passage spans are blank, or make a heading."""
    lines = text.split("\n")
    spanned: set[int] = set()
    for chunk in cut(text):
        first, last = chunk.position.lines or (0, 0)
        spanned.update(range(first, last + 1))
    for number, line in enumerate(lines, 1):
        if number not in spanned and line.strip():
            below = lines[number] if number < len(lines) else ""
            assert line.startswith("#") or line in ("====", "---") or below in ("====", "---"), (number, line)


@given(TEXTS, st.sampled_from([200, 400, 1_000]))
def test_no_passage_is_too_large_or_empty(text: str, target: int) -> None:
    for chunk in cut(text, target):
        assert len(chunk.text) <= target * 1.6 + 1
        assert chunk.text.strip()


@given(TEXTS)
def test_lines_are_where_a_passage_says(text: str) -> None:
    """A passage is the text of its lines, or a piece of one long line; passages are counted from 0."""
    lines = text.split("\n")
    for part, chunk in enumerate(cut(text)):
        assert chunk.position.part == part
        first, last = chunk.position.lines or (0, 0)
        assert 1 <= first <= last <= len(lines)
        assert bare(chunk.text) in bare("".join(lines[first - 1 : last]))


def test_paragraphs_stay_together_and_sections_apart() -> None:
    text = "# A\n\none\n\ntwo\n\n## B\n\nthree\n\n# C\n\nfour"
    made = [(c.position.headings, c.text) for c in cut(text)]
    assert made == [(("A",), "one\n\ntwo"), (("A", "B"), "three"), (("C",), "four")]


def test_code_is_cut_at_lines_alone() -> None:
    code = "```py\n" + "\n".join(f"line_{n} = {n}  # and a comment. With a sentence." for n in range(60)) + "\n```"
    made = cut(code)
    assert len(made) > 3
    assert "\n".join(c.text for c in made) == code


def test_headings_go_on_over_pages() -> None:
    """Sections of one document are one text."""
    made = list(chunks([Section("# A\n\none", page=1), Section("two", page=2)]))
    assert [(c.position.headings, c.position.page) for c in made] == [(("A",), 1), (("A",), 2)]
