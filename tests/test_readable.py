"""Web pages as readable text: what a reader sees is kept in its structure, what nobody sees is not; nothing hangs."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsmith._readable import readable

pytest.importorskip("lxml")

PAGE = """\
<html><head><title>The  page</title><style>p { color: red }</style><script>steal()</script></head><body>
<nav><a href="/">Home</a></nav><header>The site</header>
<h1>Top <b>thing</b></h1>
<p>Hello <a href="/a b?c=(1)">a link</a> &amp; more<br>second line <code>x = 1</code>.</p>
<ul><li>one<li>two<ul><li>deep</ul><li>three</ul>
<ol start=3><li>first<li>second</ol>
<pre class="language-python"><code>def f():
    return 1 &lt; 2
</code></pre>
<blockquote><p>Quoted.</p></blockquote>
<table><tr><th>Size<th>Price<tr><td>small<td>2|3</table>
<img alt="A picture" src="x.png">
</body></html>"""

TEXT = """\
The site

# Top thing

Hello [a link](https://example.org/a%20b?c=%281%29) & more
second line `x = 1`.

- one
- two
  - deep
- three
1. first
2. second

```python
def f():
    return 1 < 2
```

> Quoted.

| Size | Price |
| --- | --- |
| small | 2\\|3 |

A picture"""


def test_structure_is_kept() -> None:
    page = readable(PAGE, url="https://example.org/docs/")
    assert (page.title, page.text, page.cut) == ("The page", TEXT, "")


def test_links_can_be_left_out() -> None:
    assert "Hello a link & more" in readable(PAGE, links=False).text


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>secret</p>",
        '<p style="display: none">secret</p>',
        '<p style="VISIBILITY:hidden">secret</p>',
        '<p style="font-size:0px">secret</p>',
        '<p style="opacity: 0.0;">secret</p>',
        '<p style="position:absolute; left:-9999px">secret</p>',
        '<p aria-hidden="true">secret</p>',
        "<template><p>secret</p></template>",
        "<noscript>secret</noscript>",
        "<!-- secret -->",
        "<script>secret</script>",
        "<svg><text>secret</text></svg>",
        "<iframe>secret</iframe>",
        "<dialog>secret</dialog>",
        '<div style="display:none"><div><p>secret</div></div>',
        '<div role="navigation">secret</div>',
        '<input value="secret"><textarea>secret</textarea>',
        "<p>" + "".join(chr(0xE0000 + ord(c)) for c in "secret") + "</p>",
    ],
)
def test_what_nobody_sees_is_left_out(hidden: str) -> None:
    """It is where instructions to a model are put; what follows is still read."""
    page = readable(f"<p>before</p>{hidden}<p>after</p>")
    assert page.text == "before\n\nafter"
    assert page.cut == ""


@pytest.mark.parametrize(
    "style", ["opacity: 0.5", "font-size: 0.8em", "left: -5px", "display: block", "font-size:10px"]
)
def test_what_is_seen_is_kept(style: str) -> None:
    assert readable(f'<p style="{style}">seen</p>').text == "seen"


def test_the_main_part_is_taken() -> None:
    page = "<header>Site</header><main><h1>News</h1><p>It rains.</p></main><footer>Imprint</footer>"
    assert readable(page).text == "# News\n\nIt rains."
    filler = "words " * 300
    assert "words" in readable(f"<main></main><p>{filler}</p>").text, "an empty main part is not all there is"


def test_links_lead_to_pages_alone() -> None:
    """No scripts, no data; addresses are resolved against the page's own and its base."""
    html = '<base href="/docs/">' + "".join(
        f'<p><a href="{href}">x</a></p>'
        for href in ("a", "//b.org/c", "javascript:alert(1)", "data:text/html,x", "#top", "mailto:a@b.org", "http://[")
    )
    assert readable(html, url="https://example.org").text.split("\n\n") == [
        "[x](https://example.org/docs/a)",
        "[x](https://b.org/c)",
        "x",
        "x",
        "x",
        "[x](mailto:a@b.org)",
        "x",
    ]


def test_tables_of_paragraphs_are_layout() -> None:
    html = "<table><tr><td><p>One.</p><p>Two.</p></td><td><table><tr><td>a<td>b</table></td></tr></table>"
    assert readable(html).text == "One.\n\nTwo.\n\n| a | b |\n| --- | --- |"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("<p>café".encode(), "café"),
        ("<p>café".encode("cp1252"), "café"),
        ('<meta charset="iso-8859-1"><p>café “q'.encode("cp1252"), "café “q"),
        ('<meta http-equiv=content-type content="text/html; charset=shift_jis"><p>東京'.encode("shift_jis"), "東京"),
        ("<p>café".encode("utf-16"), "café"),
        ("<p>café".encode("utf-8-sig"), "café"),
        ('<meta charset="no-such"><p>café'.encode(), "café"),
        ('<meta charset="base64"><p>café'.encode(), "café"),
        (b"", ""),
    ],
)
def test_encodings(data: bytes, text: str) -> None:
    assert readable(data).text == text


def test_text_cannot_pass_for_structure() -> None:
    """A paragraph that begins like a heading or a fence is still a paragraph."""
    assert readable("<p># no heading</p><p>``` no fence</p>").text == "\\# no heading\n\n\\``` no fence"
    assert readable("<pre>```\nx</pre>").text == "````\n```\nx\n````"


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 500_000,
        "<b>" * 300_000,
        "<table><tr><td>x" * 20_000,
        "<p>" + "<a " + " ".join(f"a{n}=1" for n in range(100_000)) + ">x</a>",
        "".join(f"<b id={n}><p>x" for n in range(30_000)),
        "<a href=x><p>x" * 30_000,
        "<" * 1_000_000,
        "&" * 1_000_000,
        "<!--" * 300_000,
        "<div>" * 4_000 + "</b>" * 100_000,
        f"<p style='{'opacity:0' * 100_000}'>x",
        f"<p style='left:{' ' * 1_900}'>x" * 500,
        "<ul><li>x" * 20_000,
        "<a href=y>" * 15_000 + "x" + "</a>" * 15_000,
        "<table><tr>" + "<td>x" * 200_000,
        "<pre>`" * 20_000,
        "\x00" * 500_000,
    ],
    ids=lambda html: repr(html[:12]),
)
def test_hostile_pages_cost_no_more_than_they_are_long(html: str) -> None:
    began = time.process_time()
    readable(html)
    assert time.process_time() - began < 5


def test_bounds() -> None:
    """What is cut is said."""
    page = "<p>some words</p>" * 10_000
    assert readable(page, max_bytes=1_000).cut == "longer than 1,000 bytes"
    cut = readable(page, max_text=1_000)
    assert cut.cut == "more than 1,000 characters of text"
    assert 900 < len(cut.text) < 20_000
    assert readable(page * 20, seconds=0.0).cut == "not read to its end within 0 s"
    assert readable("<div>" * 6_000 + "x").cut == "nested more than 5,000 deep"


NAMES = (
    "a b br p div ul ol li table tr td th pre code h1 h6 title main article blockquote script style img base hr "
    "template svg dialog html body head"
)
TAGS = st.sampled_from(NAMES.split())
PIECES = st.one_of(
    TAGS.map(lambda tag: f"<{tag}>"),
    TAGS.map(lambda tag: f"</{tag}>"),
    TAGS.map(lambda tag: f"<{tag} href='x' hidden alt='y' class='language-z' open>"),
    st.text(max_size=10),
    st.sampled_from(["<", ">", "&amp;", "&#0;", "&#xD800;", "<!--", "-->", "<![CDATA[", "]]>", "\x00", "\ud800"]),
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_whatever_the_page_is_something_readable_comes_of_it(html: str) -> None:
    """It never raises, and the text can be stored: no character 0, no halves of characters."""
    page = readable(html, url="https://example.org/")
    assert "\x00" not in page.text
    page.text.encode()
    assert "Error" not in page.cut, page.cut


@given(st.binary(max_size=300))
def test_bytes_of_any_kind(data: bytes) -> None:
    readable(data)
