"""The one door for arguments: what a model may send, what is mended, what is refused and how that is said."""

from __future__ import annotations

import datetime as dt
import enum
import json
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

from toolsmith import tool
from toolsmith.dialects import OPENAI, plan
from toolsmith.tool import Checked

NOT_JSON = "not valid JSON"


class Colour(enum.Enum):
    RED = "red"
    DARK_BLUE = "dark-blue"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


class Tree(BaseModel):
    label: str
    children: list[Tree] = Field(default_factory=list["Tree"])


@dataclass
class Stop:
    x: int
    y: int = 0


@dataclass
class Route:
    name: str
    stops: list[Stop] = field(default_factory=list[Stop])


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


@tool
def search(query: str, limit: int = 10, exact: bool = False) -> str:
    """Search."""
    return f"{query} {limit} {exact}"


@tool
def total(ns: list[int], by_name: dict[str, int] | None = None) -> int:
    """Add up."""
    return sum(ns) + sum((by_name or {}).values())


@tool
def restock(stock: dict[str, int]) -> str:
    """Restock."""
    return str(stock)


@tool
def paint(colour: Colour, days: Annotated[list[Literal["mon", "tue"]], Field(max_length=7)] | None = None) -> str:
    """Paint."""
    return f"{colour} {days}"


@tool
def adopt(pet: Annotated[Cat | Dog, Field(discriminator="kind")], other: Cat | Dog | None = None) -> str:
    """Adopt."""
    return f"{pet} {other}"


@tool
def drive(route: Route) -> str:
    """Drive."""
    return str(route)


@tool
def grow(tree: Tree) -> str:
    """Grow."""
    return str(tree)


@tool
def book(
    at: dt.datetime,
    day: dt.date,
    span: dt.timedelta,
    ident: UUID,
    price: Decimal,
    note: Annotated[str, AfterValidator(_not_blank)],
) -> str:
    """Book."""
    return f"{at} {day} {span} {ident} {price} {note}"


@tool
def mixed(key: int | str, ratio: float = 0.5, at: int | dt.date = 0, anything: Any = None) -> str:
    """Mix."""
    return f"{key} {ratio} {at} {anything}"


@tool(coerce=True)
def lenient(n: int, ratio: float = 0.5, flag: bool = False, ns: list[int] | None = None, text: str = "") -> str:
    """Take more than is written."""
    return f"{n} {ratio} {flag} {ns} {text}"


TOOLS = [search, total, restock, paint, adopt, drive, grow, book, mixed, lenient]


def values(checked: Checked) -> Any:
    assert checked.error is None, checked.error
    return checked.values


def refused(checked: Checked) -> str:
    assert checked.error is not None, f"accepted: {checked.values}"
    assert checked.values is None
    return checked.error


class TestText:
    """From the text as it is to JSON."""

    @pytest.mark.parametrize(
        ("text", "sent"),
        [
            ('{"query": "a"}', {"query": "a"}),
            ('\n {"query": "a"}\t', {"query": "a"}),
            ('\ufeff{"query": "a"}', {"query": "a"}),
            ('{"query": "\\ud83c\\udf78"}', {"query": "\U0001f378"}),
            ('{"query": "a\\u0000b"}', {"query": "a\x00b"}),
            ('{"query": "NaN Infinity 1e999"}', {"query": "NaN Infinity 1e999"}),
        ],
    )
    def test_accepted_as_it_is(self, text: str, sent: dict[str, Any]) -> None:
        """What is JSON goes through, and a byte order mark is no reason to refuse it."""
        assert search.check(text) == Checked(sent)

    @pytest.mark.parametrize("text", ["", " \n", "{}", "\ufeff"])
    def test_nothing_stands_for_no_arguments(self, text: str) -> None:
        """Services send an empty text for a call without arguments."""

        @tool
        def ping() -> str:
            """Ping."""
            return "pong"

        assert values(ping.check(text)) == {}
        assert "`query` is missing" in refused(search.check(text))

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('{"query": "a", "limit": NaN}', "NaN"),
            ('{"query": "a", "limit": -Infinity}', "-Infinity"),
            ('{"query": "a", "query": "b"}', "`query` is given more than once"),
            ('{"query": "a", "qu\\u0065ry": "b"}', "`query` is given more than once"),
            ('{"query": "a"}{"query": "b"}', "a second JSON value begins at character 15"),
            ('{"query": "a"} I hope this helps.', "other text follows the JSON at character 16"),
            ("{'query': 'a'}", "double quotes"),
            ('{query: "a"}', "double quotes"),
            ('{"query": "a", "exact": True}', "true, false and null"),
            ('{"query": "a", }', "no comma after the last entry"),
            ('{"query": "a" /* the text */}', "no comments"),
            ('{"query": "a\nb"}', "a line break is written \\n"),
            ('{"query": "C:\\dir"}', "a backslash is written \\\\"),
            ('{"query": "say "hi" now"}', 'a double quote is written \\"'),
            ('{"query": "ab\\ud800"}', "half of a character"),
            ('{"query": "a", "limit": ' + "7" * 5000 + "}", "4,300 digits"),
            ('{"query": ' + "[" * 3000 + "]" * 3000 + "}", "nested too deeply"),
            ('{"query": ' + "[" * 3000, "nested too deeply"),
            ('{"query": \x01\x02}', "at character 11"),
            ("query=a", "at character 1"),
            ('{"query": "a\udfff"}', "Unicode"),
        ],
    )
    def test_broken(self, text: str, said: str) -> None:
        """What is no JSON is refused as such: the model must not be told of missing arguments."""
        error = refused(search.check(text))
        assert error.startswith("`search` was not run, because its arguments are not valid JSON: ")
        assert said in error
        assert "missing" not in error

    def test_every_prefix_was_cut_off(self) -> None:
        """Wherever the output limit cuts the text, the model learns that it was cut."""
        text = '{"query": "a \\"b\\" \\u00e9\\\\", "limit": -1.5e+3, "exact": true, "x": [null, {"y": false}, 10]}'
        for size in range(1, len(text)):
            error = refused(search.check(text[:size]))
            assert "was cut off" in error, text[:size]
            assert NOT_JSON in error

    @pytest.mark.parametrize("text", ["[1]", "123", "true", "null", '"hello"', '"[1]"'])
    def test_roots_that_are_no_object(self, text: str) -> None:
        """Arguments are an object; a bare value is not guessed to be one of them."""
        assert "The arguments must be an object with `query`" in refused(search.check(text))

    def test_not_utf_8(self) -> None:
        """Bytes are taken too, if they are UTF-8."""
        assert values(search.check('{"query": "é"}'.encode())) == {"query": "é"}  # type: ignore[arg-type]
        assert "Unicode" in refused(search.check(b'{"query": "\xff"}'))  # type: ignore[arg-type]

    def test_too_long(self) -> None:
        """Megabytes are fine; without end they are not."""
        assert len(values(search.check(json.dumps({"query": "y" * 5_000_000})))["query"]) == 5_000_000
        assert "Send less at a time" in refused(search.check(json.dumps({"query": "y" * 16_000_001})))


class TestRepairs:
    """What has one certain meaning is taken, and said aloud."""

    @pytest.mark.parametrize(
        ("made", "text", "sent", "notes"),
        [
            (total, '{"ns": "[1, 2]"}', {"ns": [1, 2]}, ["`ns` was JSON inside a string and was read as the list."]),
            (
                total,
                '{"ns": [], "by_name": "{\\"a\\": 1}"}',
                {"ns": [], "by_name": {"a": 1}},
                ["`by_name` was JSON inside a string and was read as the object."],
            ),
            (drive, '{"route": "{\\"name\\": \\"r\\"}"}', {"route": Route("r")}, ["`route` was JSON inside a string"]),
            (
                drive,
                '{"route": {"name": "r", "stops": "[{\\"x\\": 1.0}]"}}',
                {"route": Route("r", [Stop(1)])},
                ["`route.stops` was JSON inside a string"],
            ),
            (
                adopt,
                '{"pet": "{\\"kind\\": \\"dog\\", \\"tricks\\": []}"}',
                {"pet": Dog(kind="dog", tricks=[])},
                ["`pet` was JSON inside a string"],
            ),
            (
                adopt,
                '{"pet": {"kind": "CAT", "lives": 9}}',
                {"pet": Cat(kind="cat", lives=9)},
                ['`pet.kind` was "CAT"'],
            ),
            (
                paint,
                '{"colour": "Dark-Blue"}',
                {"colour": Colour.DARK_BLUE},
                ['"Dark-Blue" and was read as "dark-blue"'],
            ),
            (
                paint,
                '{"colour": "red", "days": ["Mon", "tue"]}',
                {"colour": Colour.RED, "days": ["mon", "tue"]},
                ['`days[0]` was "Mon" and was read as "mon".'],
            ),
            (search, '```json\n{"query": "a"}\n```', {"query": "a"}, ["Markdown code fence"]),
            (search, '"{\\"query\\": \\"a\\"}"', {"query": "a"}, ["JSON inside a string and were read as the object"]),
        ],
        ids=lambda v: v if isinstance(v, str) else "",
    )
    def test_mended(self, made: Any, text: str, sent: dict[str, Any], notes: list[str]) -> None:
        """The function gets what was meant, the model is told what was mended."""
        checked = made.check(text)
        assert values(checked) == sent
        assert len(checked.notes) == len(notes)
        for note, words in zip(checked.notes, notes, strict=True):
            assert words in note

    def test_the_note_goes_with_the_result(self) -> None:
        """What was mended is told with the result of the call."""
        result = total.call_json_sync('{"ns": "[1, 2]"}')
        assert result.success
        assert result.data == 3
        assert "`ns` was JSON inside a string" in result.notes[0]

    @pytest.mark.parametrize(
        ("made", "text"),
        [
            (mixed, '{"key": "[1, 2]"}'),
            (mixed, '{"key": "5"}'),
            (mixed, '{"key": "a", "anything": "{\\"a\\": 1}"}'),
            (search, '{"query": "{\\"a\\": 1}"}'),
            (search, '{"query": "null"}'),
        ],
    )
    def test_text_stays_text(self, made: Any, text: str) -> None:
        """Where a string is accepted a string is meant, whatever stands in it."""
        checked = made.check(text)
        assert checked.notes == ()
        sent = json.loads(text)
        assert {k: values(checked)[k] for k in sent} == sent

    @pytest.mark.parametrize(
        ("made", "text", "said"),
        [
            (total, '{"ns": "1, 2"}', "must be a list of whole numbers"),
            (total, '{"ns": "[1, 2"}', "must be a list of whole numbers"),
            (total, '{"ns": "{}"}', "must be a list of whole numbers"),
            (total, '{"ns": "[1, NaN]"}', "The string holds NaN, which JSON does not have."),
            (total, '{"ns": "[1, \\"x\\"]"}', "not as a string that holds JSON"),
            (total, '{"ns": "[1, 1e999]"}', "must be a list of whole numbers"),
            (total, '{"ns": [], "by_name": "{\\"a\\": 1, \\"a\\": 2}"}', "In the string, `a` is given more than once"),
            (paint, '{"colour": "dark blue"}', 'Did you mean "dark-blue"?'),
            (paint, '{"colour": "DARK_BLUE"}', 'Did you mean "dark-blue"?'),
            (paint, '{"colour": "pink"}', 'must be "red" or "dark-blue"; you sent "pink".'),
            (search, '{"query": "a", "limit": "3"}', "Send it without quotes: 3."),
            (search, '{"query": "a", "exact": "true"}', "Send it without quotes: true."),
            (search, '{"query": "a", "exact": 1}', "must be true or false; you sent 1."),
            (search, '{"query": "a", "limit": null}', "Leave it out to use its default."),
            (search, '{"query": 5}', "must be a string; you sent 5."),
            (search, '{"query": ["a"]}', 'must be a string; you sent ["a"].'),
        ],
    )
    def test_not_mended(self, made: Any, text: str, said: str) -> None:
        """What might mean something else is refused, with the way out."""
        assert said in refused(made.check(text))

    def test_a_case_that_fits_twice_is_not_guessed(self) -> None:
        """Case is mended only where one value matches."""

        @tool
        def pick(letter: Literal["ab", "AB"]) -> str:
            """Pick."""
            return letter

        assert values(pick.check('{"letter": "AB"}')) == {"letter": "AB"}
        assert 'must be "ab" or "AB"; you sent "Ab"' in refused(pick.check('{"letter": "Ab"}'))

    @pytest.mark.parametrize(
        ("text", "sent"),
        [
            ('{"ns": [1.0, 2e2, -0.0]}', [1, 200, 0]),
            ('{"ns": "[3.0]"}', [3]),
            ('{"ns": [9007199254740993.0]}', [9007199254740993]),
            ('{"ns": [1e23]}', [10**23]),
            ('{"ns": [123456789012345678901234567890]}', [123456789012345678901234567890]),
        ],
    )
    def test_whole_numbers_written_as_floats(self, text: str, sent: list[int]) -> None:
        """JSON Schema calls 5.0 an integer, so it is one: exactly, at any depth, without a word."""
        checked = total.check(text)
        assert values(checked) == {"ns": sent}
        assert all(type(n) is int for n in values(checked)["ns"])

    @pytest.mark.parametrize("number", ["5.5", "1e-3", "5.00000000000000000000001", "9007199254740993.5"])
    def test_fractions_are_not_rounded(self, number: str) -> None:
        """A number that a float would round to a whole one is none."""
        assert f"must be a whole number; you sent {number}" in refused(total.check(f'{{"ns": [{number}]}}')).replace(
            "0.001", "1e-3"
        )

    @pytest.mark.parametrize(
        "number",
        ["1e400", "-1E+999", "9" * 400 + ".5", "1" * 310 + "e5"],
        ids=["exponent", "capital", "digits", "both"],
    )
    def test_numbers_too_large_for_a_float(self, number: str) -> None:
        """Infinity never reaches a function: not by its name, and not by overflow, wherever the number stands."""
        assert "`ratio` is a number too large" in refused(mixed.check(f'{{"key": 1, "ratio": {number}}}'))
        assert "`anything.a[0]` is a number too large" in refused(
            mixed.check(f'{{"key": 1, "anything": {{"a": [{number}]}}}}')
        )

    def test_coerce(self) -> None:
        """Only a tool that says so takes numbers and truth values from strings, and null for what was left out."""
        checked = lenient.check('{"n": "3", "ratio": "2.5", "flag": "True", "ns": ["1", "2.0"], "text": null}')
        assert values(checked) == {"n": 3, "ratio": 2.5, "flag": True, "ns": [1, 2]}
        assert checked.notes == (
            '`n` was "3" and was read as 3.',
            '`ratio` was "2.5" and was read as 2.5.',
            '`flag` was "True" and was read as true.',
            '`ns[0]` was "1" and was read as 1.',
            '`ns[1]` was "2.0" and was read as 2.',
            "1 more value was mended in the same way.",
        )

    @pytest.mark.parametrize("word", ["three", "", "3.5", "0x10", "1_000", "١", "1e999", "NaN", "true"])
    def test_coerce_takes_json_numbers_only(self, word: str) -> None:
        """What JSON would not read as a whole number is not one in quotes either."""
        assert "`n` must be a whole number" in refused(lenient.check(json.dumps({"n": word})))

    def test_coerce_leaves_text_alone(self) -> None:
        """A string argument stays what it is."""
        assert values(lenient.check('{"n": 1, "text": "3"}')) == {"n": 1, "text": "3"}


class TestProblems:
    """Each problem is named: where, what was sent, what is accepted."""

    def test_all_at_once(self) -> None:
        """One round trip is enough to mend all."""
        error = refused(search.check('{"querry": 1, "limit": "x", "exact": [], "depth": 2}'))
        assert error == (
            "`search` was not run. There are 4 problems with its arguments:\n"
            "- `querry` is not an argument of `search`. Did you mean `query`, which is missing?\n"
            '- `limit` must be a whole number; you sent "x".\n'
            "- `exact` must be true or false; you sent [].\n"
            "- `depth` is not an argument of `search`. `search` takes `query`, `limit` and `exact`.\n"
            "Correct all of them and call `search` again."
        )

    @pytest.mark.parametrize(
        ("made", "text", "said"),
        [
            (search, "{}", "`query` is missing; it must be a string."),
            (search, '{"query": "a", "Limit": 3}', "Did you mean `limit`?"),
            # One object too many around them: they are not missing, and nothing like it is meant.
            (
                search,
                '{"arguments": {"query": "a", "limit": 3}}',
                "`search` was not run. `arguments` is not an argument of `search`. It holds `query` and `limit`: send "
                "them without `arguments` around them. Correct this",
            ),
            (search, '{"input": {"query": "a"}}', "It holds `query`: send it without `input` around it."),
            (search, '{"query": "a", "input": {"query": "b"}}', "`search` takes `query`, `limit` and `exact`."),
            (search, '{"qery": {"limit": 1}}', "Did you mean `query`, which is missing?"),
            (adopt, '{"pet": {"knd": "cat"}}', "`pet.knd` is not accepted. Did you mean `kind`, which is missing?"),
            (adopt, '{"pet": {"species": "cat"}}', '`pet.kind` is missing; it must be "cat" or "dog".'),
            (search, 'Sure: {"query": "a"}', "other text stands before the JSON, at character 1, at `Sure: {"),
            (search, '{"query": "a", "isExact": true}', "Did you mean `exact`?"),
            (
                drive,
                '{"route": {"name": "r", "stops": [{"x": 1}, {"x": "e"}]}}',
                "`route.stops[1].x` must be a whole number",
            ),
            (drive, '{"route": {"name": "r", "stops": [{"z": 1}]}}', "`route.stops[0].z` is not accepted."),
            (drive, '{"route": {"nam": "r"}}', "`route.nam` is not accepted. Did you mean `name`, which is missing?"),
            (grow, '{"tree": {"label": "a", "children": [{"children": []}]}}', "`tree.children[0].label` is missing"),
            (total, '{"ns": [1], "by_name": {"a b": "x"}}', '`by_name["a b"]` must be a whole number'),
            (adopt, '{"pet": {"kind": "dog", "tricks": [1]}}', "`pet.tricks[0]` must be a string; you sent 1."),
            (adopt, '{"pet": {"kind": "cat", "tricks": []}}', "`pet.lives` is missing"),
            (adopt, '{"pet": {"kind": "bird"}}', '`pet.kind` must be "cat" or "dog"; you sent "bird".'),
            (adopt, '{"pet": {}}', '`pet.kind` is missing; it must be "cat" or "dog".'),
            (adopt, '{"pet": {"kind": "cat", "lives": 1}, "other": {"kind": "dog"}}', "`other.tricks` is missing"),
            (mixed, '{"key": [1]}', "`key` must be a whole number or a string; you sent [1]."),
            (mixed, '{"key": 1, "at": "soon"}', "`at` must be a whole number or a date such as"),
        ],
    )
    def test_where_and_what(self, made: Any, text: str, said: str) -> None:
        """Paths lead to the place at any depth; of a union only the branch that was meant is spoken of."""
        error = refused(made.check(text))
        assert said in error
        assert "`pet.lives`" not in error or "dog" not in text

    def test_a_tag_with_a_default_may_be_absent(self) -> None:
        """Where the member that tells branches apart may be left out, its absence is not the problem."""

        class Disc(BaseModel):
            form: Literal["disc"] = "disc"
            radius: float

        class Box(BaseModel):
            form: Literal["box"] = "box"
            side: float

        @tool
        def cut(shape: Disc | Box) -> str:
            """Cut."""
            return str(shape)

        assert values(cut.check('{"shape": {"side": 2}}')) == {"shape": Box(side=2)}
        error = refused(cut.check('{"shape": {"side": "2"}}'))
        assert "`shape.side` must be a number" in error
        assert "form" not in error

    def test_a_union_is_not_listed_branch_by_branch(self) -> None:
        """A wrong dog is no reason to speak of cats."""
        error = refused(adopt.check('{"pet": {"kind": "dog", "tricks": "sit"}}'))
        assert error == (
            '`adopt` was not run. `pet.tricks` must be a list of strings; you sent "sit". '
            "Correct this and call `adopt` again."
        )

    def test_formats_and_own_checks(self) -> None:
        """Formats come with an example, and a tool's own check speaks in its own words."""
        error = refused(
            book.check('{"at": "soon", "day": "1.2.26", "span": "5m", "ident": "x", "price": "a lot", "note": " "}')
        )
        for said in (
            "`at` must be a date and time such as 2026-11-30T18:05:00Z; you sent",
            "`day` must be a date such as 2026-11-30",
            "`span` must be a duration such as PT5M",
            "`ident` must be a UUID such as",
            "`price` must be a decimal number such as 12.50",
            '`note`: must not be blank (you sent " ").',
        ):
            assert said in error

    def test_examples_in_texts_are_accepted(self) -> None:
        """What an error text gives as an example passes."""
        sent = {
            "at": "2026-11-30T18:05:00Z",
            "day": "2026-11-30",
            "span": "PT5M",
            "ident": "12345678-1234-5678-1234-567812345678",
            "price": "12.50",
            "note": "a",
        }
        assert values(book.check(json.dumps(sent)))["price"] == Decimal("12.50")

    def test_a_check_that_crashes(self, caplog: pytest.LogCaptureFixture) -> None:
        """What a tool's own check raises unexpectedly may hold a secret: the log has it, the model a reference."""

        def boom(_: str) -> str:
            raise KeyError("sk-live-123")

        @tool
        def fragile(x: Annotated[str, AfterValidator(boom)]) -> str:
            """Break."""
            return x

        with caplog.at_level(logging.ERROR, logger="toolsmith"):
            checked = fragile.check('{"x": "a"}')
        error = refused(checked)
        assert "sk-live" not in error
        assert "was not run" in error
        assert checked.reference
        assert checked.reference in error
        assert checked.reference in caplog.text
        assert isinstance(checked.exception, KeyError)

    def test_no_foreign_words(self) -> None:
        """No class names, no links, no words of the libraries beneath."""

        def refuse(_: str) -> str:
            Cat.model_validate({"kind": "dog"})
            return ""

        @tool
        def nested(x: Annotated[str, AfterValidator(refuse)], route: Route) -> str:
            """Nest."""
            return f"{x} {route}"

        error = refused(nested.check('{"x": "a", "route": 5}'))
        for word in ("pydantic", "http", "Route", "input_value", "dataclass", "type="):
            assert word not in error


class TestStrictModes:
    """What a strict mode makes the model send is read back first, and then goes through the same door."""

    @staticmethod
    def offered(made: Any) -> Any:
        (found,) = plan([(made.spec, True)], OPENAI)
        return found

    @pytest.mark.parametrize(
        ("made", "text", "sent"),
        [
            (search, '{"query": "a", "limit": null, "exact": null}', {"query": "a"}),
            (total, '{"ns": [1], "by_name": [{"key": "a", "value": 2}]}', {"ns": [1], "by_name": {"a": 2}}),
            (total, '{"ns": [1.0], "by_name": [{"key": "a", "value": 1e23}]}', {"ns": [1], "by_name": {"a": 10**23}}),
            (search, '```json\n{"query": "a", "limit": null, "exact": true}\n```', {"query": "a", "exact": True}),
            (search, '"{\\"query\\": \\"a\\", \\"limit\\": null}"', {"query": "a"}),
            (paint, '{"colour": "RED", "days": null}', {"colour": Colour.RED}),
        ],
    )
    def test_read_back(self, made: Any, text: str, sent: dict[str, Any]) -> None:
        """Repairs work on what was read back, exactly."""
        found = values(made.check(text, self.offered(made)))
        assert {k: v for k, v in found.items() if v is not None} == sent

    @pytest.mark.parametrize(
        ("made", "text", "said"),
        [
            (
                total,
                '{"ns": [], "by_name": [{"key": "a", "value": 1}, {"key": "a", "value": 2}]}',
                '`by_name` has the key "a" more than once; send each key once.',
            ),
            (restock, '{"stock": [{"key": "a", "value": "x"}]}', "`stock[0].value` must be a whole number; you sent"),
            (search, '{"query": null, "limit": null, "exact": 1}', "`exact` must be true or false; you sent 1."),
            (search, '{"query": "a", "limit": 3', NOT_JSON),
            (search, '{"query": "a", "limit": 1, "limit": 2, "exact": null}', "`limit` is given more than once"),
            (search, "[]", "must be an object"),
        ],
    )
    def test_refused(self, made: Any, text: str, said: str) -> None:
        """Problems are told of the arguments as the model has sent them."""
        assert said in refused(made.check(text, self.offered(made)))


class TestBounds:
    """However much is sent, the answer is short and comes soon."""

    @pytest.mark.parametrize(
        ("made", "text"),
        [
            (total, json.dumps({"ns": "z" * 200_000})),
            (total, json.dumps({"ns": ["x" * 100] * 20_000})),
            (total, json.dumps({"ns": [], **{f"key_{i}": i for i in range(20_000)}})),
            (total, json.dumps({"ns": [1], "k" * 100_000: 1})),
            (total, json.dumps({"ns": [1], "by_name": {"k" * 100_000: "x"}})),
            (search, '{"query": "' + '\\"' * 500_000),
            (search, "{" + ",".join(['"a":1'] * 50_000) + "}"),
            (search, "[" * 1_000_000),
            (search, "}{" * 500_000),
            (search, "```json\n" + "`" * 500_000),
            (paint, json.dumps({"colour": ["RED"] * 10_000})),
        ],
        ids=lambda v: v[:12] if isinstance(v, str) else "",
    )
    def test_texts_are_short(self, made: Any, text: str) -> None:
        """No input is echoed at length."""
        error = refused(made.check(text))
        assert len(error) <= 2_000
        assert "was not run" in error

    def test_notes_are_few(self) -> None:
        """A list of mended values is not told value by value."""
        checked = paint.check(json.dumps({"colour": "RED", "days": ["MON"] * 7}))
        assert len(values(checked)["days"]) == 7
        assert len(checked.notes) == 6
        assert checked.notes[-1] == "3 more values were mended in the same way."

    def test_deep_but_allowed(self) -> None:
        """A recursive model may be 90 levels deep, right or wrong."""
        text = '{"label": "x"}'
        for _ in range(90):
            text = f'{{"label": "a", "children": [{text}]}}'
        assert values(grow.check(f'{{"tree": {text}}}'))
        error = refused(grow.check(f'{{"tree": {text.replace(chr(34) + "x" + chr(34), "5")}}}'))
        assert "must be a string; you sent 5" in error
        assert len(error) < 500

    def test_no_recursion_error(self) -> None:
        """On a stack that is all but full the answer is a text too."""
        text = '{"tree": ' + '{"label": 1, "children": [' * 90 + "]}" * 90 + "}"

        def at_depth(left: int) -> list[str]:
            found = [] if left > 60 else [refused(grow.check(text))]
            return found + (at_depth(left - 1) if left else [])

        frames = 0
        frame = sys._getframe()  # pyright: ignore[reportPrivateUsage]
        while frame is not None:
            frames, frame = frames + 1, frame.f_back
        texts = at_depth(sys.getrecursionlimit() - frames - 80)
        assert all("was not run" in t for t in texts)
        assert any("nested too deeply" in t for t in texts)


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["red", "RED", "cat", "[1]", "5"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["x", "name", "stops", "kind", "lives", "tricks", "label"]) | st.text(), inner, max_size=4
        )
    ),
    max_leaves=12,
)
NAMES = sorted({name for made in TOOLS for name in made.input_schema["properties"]})
ARGUMENTS = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=6), JSON_VALUES, max_size=5)
SLOWLY = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _mangled(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    text = json.dumps(draw(ARGUMENTS), ensure_ascii=draw(st.booleans()))
    at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 3))
    return text[:at] + draw(st.text(max_size=3)) + text[at + length :]


def _bounded(checked: Checked) -> None:
    assert checked.exception is None
    assert (checked.error is None) != (checked.values is None)
    assert checked.error is None or (0 < len(checked.error) <= 2_000 and "was not run" in checked.error)
    assert len(checked.notes) <= 6
    assert all(len(n) < 600 for n in checked.notes)
    for text in (checked.error or "", *checked.notes):
        text.encode()


class TestLaws:
    """What holds for whatever a model may send."""

    @SLOWLY
    @given(st.sampled_from(TOOLS), st.text() | st.binary())
    def test_any_text(self, made: Any, text: str | bytes) -> None:
        """`check` never raises, and its texts are bounded and can be encoded."""
        _bounded(made.check(text))

    @SLOWLY
    @given(st.sampled_from(TOOLS), st.composite(_mangled)())
    def test_broken_json(self, made: Any, text: str) -> None:
        """The same for JSON that was damaged in one place."""
        _bounded(made.check(text))

    @SLOWLY
    @given(st.sampled_from(TOOLS), ARGUMENTS)
    def test_any_json(self, made: Any, sent: dict[str, Any]) -> None:
        """The same for any JSON; and what is accepted though the schema rejects it was mended aloud, or was 5.0."""
        text = json.dumps(sent)
        checked = made.check(text)
        _bounded(checked)
        if checked.error is None:
            assert set(checked.values) <= set(made.input_schema["properties"])

    @SLOWLY
    @given(st.lists(st.integers() | st.integers(-(2**53), 2**53).map(float)), st.booleans())
    def test_repairs_are_valid(self, numbers: list[int | float], quoted: bool) -> None:
        """What is mended has the value that was sent, and the type that is due."""
        inner = json.dumps(numbers)
        checked = total.check(json.dumps({"ns": inner if quoted else numbers}))
        assert values(checked)["ns"] == numbers
        assert all(type(n) is int for n in checked.values["ns"])
        assert bool(checked.notes) == quoted

    @SLOWLY
    @given(ARGUMENTS)
    def test_unknown_garbage_never_reaches_a_function(self, sent: dict[str, Any]) -> None:
        """A function sees only names that it declared, and values of the declared types."""
        seen: list[tuple[Any, ...]] = []

        def watch(name: str, limit: int = 1, lives: float = 0.0) -> str:
            seen.append((name, limit, lives))
            return "ok"

        result = tool(watch).call_json_sync(json.dumps(sent))
        assert result.success == bool(seen)
        for name, limit, lives in seen:
            assert (type(name), type(limit), type(lives)) == (str, int, float)
            assert set(sent) <= {"name", "limit", "lives"}
