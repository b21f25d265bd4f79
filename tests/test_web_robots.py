"""robots.txt as RFC 9309 has it, beside a second reader of the same rules, and made to be slow."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsmith.web._robots import Rules, rules_for

# RFC 9309, 5.1 and 5.2
SIMPLE = """User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
"""
LONGEST = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n"


@pytest.mark.parametrize(
    ("text", "program", "path", "allowed"),
    [
        (SIMPLE, "other", "/example/page.html", False),
        (SIMPLE, "other", "/x/image.gif", False),
        (SIMPLE, "other", "/x/image.gif?y", True),
        (SIMPLE, "other", "/publications/image", True),
        (SIMPLE, "FooBot", "/", False),
        (SIMPLE, "foobot", "/example/page.html", True),
        (SIMPLE, "bazbot", "/example/page.html", False),
        (SIMPLE, "bazbot", "/example/", True),
        (SIMPLE, "quxbot", "/example/", True),
        (LONGEST, "foobot", "/example/page/disallowed.gif", False),
        (LONGEST, "foobot", "/example/page/allowed.gif", True),
        ("", "x", "/", True),
        ("Disallow: /", "x", "/", True),
        ("User-agent: *\nDisallow: /", "x", "/robots.txt", True),
        ("User-agent: *\nDisallow:", "x", "/a", True),
        ("\ufeffUSER-AGENT : *  # all\r\nDISALLOW : /a # no", "x", "/a/b", False),
        ("User-agent: x\nDisallow: /1\n\nUser-agent: y\nDisallow: /2\n\nUser-agent: x\nDisallow: /3", "x", "/3", False),
        ("User-agent: x\nDisallow: /1\n\nUser-agent: y\nDisallow: /2\n\nUser-agent: x\nDisallow: /3", "x", "/2", True),
        ("User-agent: x\nAllow: /p\nDisallow: /p", "x", "/p", True),
        ("User-agent: x\nDisallow: /a*b$", "x", "/aXXb", False),
        ("User-agent: x\nDisallow: /a*b$", "x", "/aXXbc", True),
        ("User-agent: x\nDisallow: /a*b$", "x", "/a", True),
        ("User-agent: x\nDisallow: /ab*b$", "x", "/ab", True),
        ("User-agent: x\nDisallow: /a$", "x", "/a", False),
        ("User-agent: x\nDisallow: /a$", "x", "/ab", True),
        ("User-agent: x\nDisallow: /caf%C3%A9", "x", "/caf%c3%a9", False),
        ("User-agent: x\nDisallow: /café", "x", "/caf%C3%A9", False),
        ("User-agent: x\nDisallow: /%61", "x", "/a", False),
        ("User-agent: x\nDisallow: /a", "x", "/%61", False),
        ("User-agent: x\nDisallow: /a%2Fb", "x", "/a/b", True),
        ("User-agent: x\nDisallow: /*?q=", "x", "/s?q=1", False),
        ("User-agent: toolsmith-agents\nDisallow: /", "toolsmith", "/", True),
        ("User-agent: toolsmith/1.0\nDisallow: /", "toolsmith", "/", False),
    ],
)
def test_rules(text: str, program: str, path: str, allowed: bool) -> None:
    assert rules_for(program, text).allow(path) == allowed


PATHS = st.text("ab/*$", min_size=1, max_size=8).map(lambda text: "/" + text.replace("$", "", text.count("$") - 1))
LINES = st.lists(st.tuples(st.sampled_from(["Allow", "Disallow"]), PATHS), max_size=6)


@given(LINES, st.text("ab/", max_size=8))
def test_another_reader_reads_the_same(lines: list[tuple[str, str]], path: str) -> None:
    """Scrapy's Protego, over generated groups: the longest rule decides, a tie allows."""
    protego = pytest.importorskip("protego")
    clean = [(key, pattern) for key, pattern in lines if "$" not in pattern[:-1]]
    text = "User-agent: x\n" + "".join(f"{key}: {pattern}\n" for key, pattern in clean)
    theirs = protego.Protego.parse(text).can_fetch(f"http://s.example/{path}", "x")
    assert rules_for("x", text).allow(f"/{path}") == theirs, text


@given(st.text(), st.text())
def test_no_file_and_no_path_breaks_it(text: str, path: str) -> None:
    assert isinstance(rules_for("x", text).allow(path), bool)


@pytest.mark.parametrize(
    "text",
    [
        "User-agent: *\n" + "Disallow: /" + "a*" * 20_000 + "b\n",
        "User-agent: *\n" + "Disallow: /*a*a*a*a*a*a*a*a*a*a*a*b$\n" * 20_000,
        "User-agent: *\n" * 40_000 + "Disallow: /",
        "User-agent: x\nDisallow: /y\n" * 15_000,
    ],
)
def test_a_file_made_to_be_slow(text: str) -> None:
    """Half a megabyte of rules with many stars, and a long path."""
    began = time.monotonic()
    rules: Rules = rules_for("x", text[:512_000])
    rules.allow("/" + "a" * 1_990)
    assert time.monotonic() - began < 5
