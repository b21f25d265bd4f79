"""Mistakes with the JSON itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from toolsmith._simulate.places import Case, Slip

_PYTHON: Final = {"true": "True", "false": "False", "null": "None"}
_WORD = re.compile(r'("(?:[^"\\]|\\.)*")|\b(true|false|null)\b')


def cut_off(case: Case) -> Iterator[Slip]:
    """The text ends early, with and without the service saying so."""
    text = case.write(case.value)
    if len(text) > 4:
        yield Slip(text=text[: len(text) * 2 // 3], wants=("cut off",), spot=True)
        yield Slip(text=text[: len(text) * 2 // 3], wants=("length limit",), length=True)


def python_literal(case: Case) -> Iterator[Slip]:
    """Single quotes; and Python's words for true, false and null."""
    text = case.write(case.value)
    if '"' in text:
        yield Slip(text=repr(json.loads(text)), wants=("double quotes", "true, false and null"), spot=True)
    if (python := _WORD.sub(lambda m: m[1] or _PYTHON[m[2]], text)) != text:
        yield Slip(text=python, wants=("true, false and null",), spot=True)


def loose_json(case: Case) -> Iterator[Slip]:
    """What other notations have."""
    text = case.write(case.value)
    if not case.value:
        return
    yield Slip(text=f"{text[:-1]},}}", wants=("comma",), spot=True)
    yield Slip(text=f"{text[:-1]} // as asked\n}}", wants=("comments",), spot=True)
    name, value = next(iter(json.loads(text).items()))
    yield Slip(text=f"{text[:-1]}, {json.dumps(name)}: {json.dumps(value)}}}", wants=("once",))
    yield Slip(text=re.sub(r'^\{"([A-Za-z_]\w*)"', r"{\1", text), wants=("double quotes",), spot=True)
    number = next((p for p in case.places if len(p.path) == 1 and p.types & {"integer", "number"}), None)
    if number is not None:
        sent = case.write(case.changed(number.path, "NaN")).replace('"NaN"', "NaN", 1)
        yield Slip(text=sent, wants=("NaN",))


def text_around(case: Case) -> Iterator[Slip]:
    """A Markdown fence; a sentence before, and one after."""
    text = case.write(case.value)
    yield Slip(text=f"```json\n{text}\n```", wants=("code fence",))
    yield Slip(text=f"Here are the arguments: {text}", wants=("before the JSON",), spot=True)
    yield Slip(text=f"{text}\n\nThis should do.", wants=("follows the JSON",), spot=True)
