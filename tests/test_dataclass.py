"""Our quick `dataclass` means what the standard library's means, for each class that the package makes with it."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_type_hints

import pytest

import toolsmith
from toolsmith._dataclass import dataclass as quick
from toolsmith.messages import Message, Text, ToolCall, Usage

FLAGS: list[dict[str, bool]] = [
    {"frozen": frozen, "eq": eq, "repr": shown, "kw_only": named}
    for frozen in (False, True)
    for eq in (False, True)
    for shown in (False, True)
    for named in (False, True)
]
FLAG_IDS = ["-".join(name for name, on in flags.items() if on) or "none" for flags in FLAGS]

PROBES: list[Callable[[Any, Any], object]] = [
    lambda x, y: x == y,
    lambda x, y: x == copy.copy(x),
    lambda x, y: (copy.deepcopy(x) == x, dataclasses.asdict(copy.deepcopy(x)) == dataclasses.asdict(x)),
    lambda x, y: repr(x) if x.__dataclass_params__.repr else "",
    lambda x, y: hash(x) if x.__dataclass_params__.eq else 0,
    lambda x, y: dataclasses.asdict(y),
    lambda x, y: dataclasses.asdict(dataclasses.replace(x, a=7)),
    lambda x, y: setattr(x, "a", 3) or dataclasses.asdict(x) if dataclasses.fields(x) else None,
    lambda x, y: x == 3,
    lambda x, y: delattr(y, "a") if dataclasses.fields(y) else None,
    lambda x, y: type(x)() and None,
    lambda x, y: type(x)(1, "x", [], 4, 5, 6, 7, 8),
]


def bodies() -> dict[str, type[Any]]:
    """Fresh class bodies, for a decorator may change the class that it is given."""

    class Plain:
        """Doc."""

        a: int
        b: str = "x"
        c: list[int] = dataclasses.field(default_factory=list[int])
        d: int = dataclasses.field(default=4, repr=False, compare=False)

    class Named:
        a: int
        _: dataclasses.KW_ONLY
        b: str = "x"
        c: list[int] = dataclasses.field(default_factory=list[int])
        d: int = 4

    class Derived:
        a: int
        b: str = "x"
        c: list[int] = dataclasses.field(default_factory=list[int])
        d: int = dataclasses.field(default=4, hash=False)
        e: list[int] = dataclasses.field(init=False, default_factory=list[int])
        f: int = dataclasses.field(init=False, default=2)
        g: int = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "g", self.a + self.d)

    class Empty:
        """Doc."""

    class Own:
        a: int
        b: str = "x"
        c: list[int] = dataclasses.field(default_factory=list[int])
        d: int = 4

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 3

    class OwnEqual:
        """Doc."""

        a: int
        b: str = "x"
        c: list[int] = dataclasses.field(default_factory=list[int], hash=False)
        d: int = 4

        def __eq__(self, other: object) -> bool:
            return True

    return {x.__name__: x for x in (Plain, Named, Derived, Empty, Own, OwnEqual)}


def pair(name: str, flags: dict[str, bool]) -> tuple[Any, Any]:
    ours: Any = quick(**flags, slots=True)(bodies()[name])
    theirs: Any = dataclasses.dataclass(**flags, slots=True)(bodies()[name])
    return ours, theirs


def outcome(act: Any) -> object:
    """The value, or the error with its text."""
    try:
        return act()
    except Exception as error:  # noqa: BLE001 (what it is, is what is compared)
        return type(error), str(error).replace("test_dataclass.", "")


@pytest.mark.parametrize("flags", FLAGS, ids=FLAG_IDS)
@pytest.mark.parametrize("name", list(bodies()))
@pytest.mark.parametrize(("one", "two"), [((1, "x"), (1, "x")), ((1, "x"), (2, "x")), ((0, "y"), (0, "x"))])
def test_it_means_what_the_standard_decorator_means(
    name: str, flags: dict[str, bool], one: tuple[int, str], two: tuple[int, str]
) -> None:
    """Construction, equality, hash, repr, freezing, `replace`, `asdict`, copy, signature and patterns are the same."""
    ours, theirs = pair(name, flags)
    same = [(ours, ours), (theirs, theirs)]
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))  # each has its own stand-in for a factory
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__slots__ == theirs.__slots__
    assert ours.__qualname__ == theirs.__qualname__
    params = [str(x.__dataclass_params__).replace("init=False", "init=True") for x in (ours, theirs)]
    assert params[0] == params[1]
    kinds = [[(f.name, f.type, f.init, f.repr, f.compare, f.kw_only) for f in dataclasses.fields(x)] for x, _ in same]
    assert kinds[0] == kinds[1]
    if name == "Empty":
        made = [[x(), x()] for x, _ in same]
    else:
        made = [[x(a=one[0], b=one[1]), x(a=two[0], b=two[1], c=[5], d=9)] for x, _ in same]
    for probe in PROBES:
        mine, other = (outcome(partial(probe, *few)) for few in made)
        assert mine == other


def test_an_instance_that_holds_itself_is_shown_once() -> None:
    """`repr` of a loop ends."""

    @quick(slots=True)
    class Node:
        next: Any = None

    node = Node()
    node.next = node
    assert repr(node).endswith("Node(next=...)")


def test_no_name_of_a_frozen_instance_may_be_set() -> None:
    """Neither a field nor another name; the standard decorator, with slots, fails on other names in Python 3.11."""
    frozen: Any = quick(frozen=True, slots=True)(bodies()["Plain"])(1)
    for name in ("a", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=name):
            setattr(frozen, name, 3)
        with pytest.raises(dataclasses.FrozenInstanceError, match=name):
            delattr(frozen, name)


def test_a_user_may_derive_a_dataclass_from_ours() -> None:
    """With the standard decorator, which sees a frozen parent."""

    @dataclasses.dataclass(frozen=True)
    class Noted(Text):
        note: str = ""

    noted = Noted("hi", note="x")
    assert (noted.text, noted.note) == ("hi", "x")
    assert copy.copy(noted) == copy.deepcopy(noted) == noted
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(noted, "text", "no")  # noqa: B010
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(noted, "note", "no")  # noqa: B010


def test_ours_derives_from_no_dataclass() -> None:
    """The standard decorator does the parents' part, and there it would see a mixture of frozen and not."""
    with pytest.raises(TypeError, match="derives from the dataclass Text"):

        @quick(frozen=True, slots=True)
        class Noted(Text):  # pyright: ignore[reportUnusedClass]
            note: str = ""


def test_type_hints_of_the_constructor_can_be_read() -> None:
    """They are names in the module of the class."""
    hints = get_type_hints(toolsmith.Limits.__init__)
    assert hints["turns"] == int | None
    assert hints["return"] is type(None)


def test_a_class_without_slots_is_refused() -> None:
    """The filling of slots needs slots."""
    with pytest.raises(TypeError, match=r"slots; use dataclasses\.dataclass"):
        quick(frozen=True)(bodies()["Plain"])


def test_instances_pickle() -> None:
    """What is stored by pickle comes back equal."""
    whole = Message("assistant", (Text("hi"), ToolCall("c", "f", "{}")))
    for kept in (whole, Usage(input_tokens=3), toolsmith.Limits(turns=3)):
        assert pickle.loads(pickle.dumps(kept)) == kept


def _modules() -> Iterator[str]:
    for module in pkgutil.walk_packages(toolsmith.__path__, "toolsmith."):
        if "_local" not in module.name and not module.name.endswith("__main__"):
            yield module.name


def _ours() -> dict[str, type[Any]]:
    found: dict[str, type[Any]] = {}
    for name in _modules():
        module = importlib.import_module(name)
        for value in vars(module).values():
            if inspect.isclass(value) and value.__module__ == name and dataclasses.is_dataclass(value):
                found[f"{name}.{value.__qualname__}"] = value
    return found


def test_each_class_of_the_package_has_the_signature_that_the_standard_decorator_gives() -> None:
    """Names, order, kinds, defaults and what may be hashed, for all of them."""
    classes = _ours()
    assert len(classes) > 150
    for name, ours in classes.items():
        params: Any = ours.__dataclass_params__
        spec = [
            (
                f.name,
                f.type,
                dataclasses.field(default=f.default, default_factory=f.default_factory, init=f.init, kw_only=f.kw_only),
            )
            if f.default_factory is dataclasses.MISSING
            else (f.name, f.type, dataclasses.field(default_factory=f.default_factory, init=f.init, kw_only=f.kw_only))
            for f in dataclasses.fields(ours)
        ]
        twin = dataclasses.make_dataclass("Twin", spec, frozen=params.frozen, eq=params.eq)
        init: Any = ours.__init__
        assert init.__globals__ is vars(importlib.import_module(ours.__module__)), name  # where annotations are read
        assert list(inspect.signature(ours).parameters) == list(inspect.signature(twin).parameters), name
        for mine, other in zip(
            inspect.signature(ours).parameters.values(), inspect.signature(twin).parameters.values(), strict=True
        ):
            assert mine.kind == other.kind, name
            assert repr(mine.default) == repr(other.default), name
        if "__hash__" not in vars(ours) or ours.__hash__ is None:
            assert (ours.__hash__ is None) == (twin.__hash__ is None), name
