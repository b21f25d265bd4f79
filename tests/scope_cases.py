"""Modules in which a name means something else than the global thing of that name; `f` is the tool of each.

`test_scopes` runs each as it is, where Python itself says what the names mean, and with its annotations postponed.
"""

from __future__ import annotations

from textwrap import dedent, indent

HEAD = """\
import contextlib
import functools
import typing
from dataclasses import dataclass
from decimal import Decimal
from typing import *

import pydantic.dataclasses
from pydantic import BaseModel
from typing_extensions import NamedTuple, TypedDict

from toolsmith import Tool, tool

Item = int
V = TypeVar("V")
"""

TAKE = """
@tool
def f(x: X):
    return repr(x)
"""
"""A tool of the class or alias X, which is global."""

LOCAL = """
def make():
    Item = str
    @dataclass
    class Order:
        item: Item
    return Order
"""


def _cases(text: str) -> dict[str, str]:
    """Cases by their titles: what stands after `#:`."""
    parts = (part.partition("\n") for part in dedent(text).split("#: ")[1:])
    return {title: body.replace("TAKE\n", TAKE).replace("LOCAL\n", LOCAL) for title, _, body in parts}


RIGHT = _cases("""
    #: an import in the function, of a class's field
    def make():
        from decimal import Decimal as Item
        @dataclass
        class Order:
            item: Item
        return Order
    X = make()
    TAKE
    #: an import in the function, of a parameter
    def make():
        from decimal import Decimal as Item
        def f(x: Item): ...
        return f
    f = Tool(make())
    #: an import in the function of a module that is a class elsewhere
    from datetime import datetime
    def make():
        import datetime
        @dataclass
        class Order:
            at: datetime.date
        return Order
    X = make()
    TAKE
    #: an import of the same thing again
    from datetime import date
    def make():
        from datetime import date
        def f(x: date): ...
        return f
    f = Tool(make())
    #: an alias in the body of a class
    class Api:
        Item = Literal["a", "b"]
        @tool
        def f(self, x: Item): ...
    f = Api().f
    #: an alias in the body of a class whose tool is made later
    class Api:
        Item = Annotated[str, "short"]
        def f(self, x: Item): ...
    f = Tool(Api().f)
    #: an alias in the body of a class, for a static method
    class Api:
        Item = bool
        @staticmethod
        @tool
        def f(x: Item):
            "With no other line."
    f = Api.f
    #: an alias in the body of a local class
    def make():
        Item = str
        class Api:
            Item = bool
            def f(self, x: Item): ...
        return Api
    f = Tool(make()().f)
    #: an import in the body of a class
    class Api:
        from decimal import Decimal as Item
        def f(self, x: Item): ...
    f = Tool(Api().f)
    #: a class in a class that the method's class inherits from
    class Base:
        class Item(BaseModel):
            b: int
    class Api(Base):
        def f(self, x: Item): ...
    f = Tool(Api().f)
    #: the name of the method's own class, which stands in another
    class Node(BaseModel):
        a: int
    class Outer:
        class Node:
            def f(self, x: Node): ...
    f = Tool(Outer.Node().f)
    #: a function in a function
    def make():
        Item = str
        def build():
            def f(x: Item): ...
            return f
        return Tool(build())
    f = make()
    #: a class of the run before, which is still running
    def make(kind, deep):
        Item = kind
        @dataclass
        class Order:
            item: Item
        if deep:
            return make(bool, False)
        @tool
        def f(x: Order): ...
        return f
    f = make(str, True)
    #: a subclass of a local named tuple
    def make():
        Item = str
        class Order(NamedTuple):
            item: Item
        class Kid(Order): ...
        @tool
        def f(x: Kid): ...
        return f
    f = make()
    #: a subclass of a local dataclass
    def make():
        Item = str
        @dataclass
        class Order:
            item: Item
        class Kid(Order): ...
        @tool
        def f(x: Kid): ...
        return f
    f = make()
    #: a local TypedDict of a local one
    def make():
        Item = str
        class Order(typing.TypedDict):
            item: Item
        class Kid(Order):
            other: Item
        @tool
        def f(x: Kid): ...
        return f
    f = make()
    #: global TypedDicts, whatever a function elsewhere has
    def elsewhere():
        Item = str
    class Order(typing.TypedDict):
        item: Item
    class X(Order):
        other: Item
    TAKE
    #: a local model that holds a local TypedDict
    def make():
        Item = str
        class Order(TypedDict):
            item: Item
        class Model(BaseModel):
            order: Order
        return Model
    X = make()
    TAKE
    #: a model that inherits from a local one
    def make():
        Item = str
        class Model(BaseModel):
            item: Item
        return Model
    class X(make()):
        other: Item
    TAKE
    #: a class that a decorator has replaced by its own
    def other(cls):
        return type(cls.__name__, (cls,), {})
    def make():
        Item = str
        @other
        class Api:
            def f(self, x: Item): ...
        return Tool(Api().f)
    f = make()
    #: text that is no annotation
    def make():
        Item = str
        def f(x: Annotated[int, "Item"]): ...
        return f
    f = Tool(make())
    #: a type handed over with the function
    def make():
        class Given(BaseModel):
            a: int
        def f(x: Given): ...
        return f, Given
    def use():
        f, Given = make()
        return Tool(f)
    f = use()
""")
"""The schema is the same."""

REFUSED = _cases("""
    #: a generic local dataclass
    def make():
        Item = str
        @dataclass
        class Order(Generic[V]):
            item: Item
            v: V
        return Order
    X = make()[int]
    TAKE
    #: a generic local TypedDict, the tool made where it is
    def make():
        Item = str
        class Order(TypedDict, Generic[V]):
            item: Item
            v: V
        @tool
        def f(x: Order[int]): ...
        return f
    f = make()
    #: a local TypeVar
    def make():
        Item = TypeVar("Item")
        @dataclass
        class Order(Generic[Item]):
            item: list[Item]
        return Order
    X = make()[str]
    TAKE
    #: a global dataclass of a local one
    LOCAL
    @dataclass
    class X(make()):
        other: Item
    TAKE
    #: a global TypedDict of a local one
    def make():
        Item = str
        class Order(typing.TypedDict):
            item: Item
        return Order
    class X(make()):
        other: Item
    TAKE
    #: a global model that holds a local dataclass
    LOCAL
    Order = make()
    class X(BaseModel):
        order: Order
    TAKE
    #: a local model that holds a local dataclass
    def make():
        Item = str
        @dataclass
        class Order:
            item: Item
        class Model(BaseModel):
            order: Order
        return Model
    X = make()
    TAKE
    #: a model two levels above a local dataclass
    LOCAL
    Order = make()
    @dataclass
    class Held:
        order: Order
    class X(BaseModel):
        held: list[Held]
    TAKE
    #: a NewType of a local class
    LOCAL
    X = NewType("X", make())
    TAKE
    #: the keys of a local TypedDict
    def make():
        Item = str
        class Order(TypedDict):
            item: Item
        return Order
    Order = make()
    @tool
    def f(**x: Unpack[Order]): ...
    #: a class of an earlier call
    def make(kind, other=None):
        Item = kind
        @dataclass
        class Order:
            item: Item
        if other is None:
            return Order
        @tool
        def f(x: other): ...
        return f
    f = make(str, make(bool))
    #: a function of an earlier call
    def make(kind, other=None):
        Item = kind
        def f(x: Item): ...
        return f if other is None else Tool(other)
    f = make(str, make(bool))
    #: a method of an earlier call
    def make(kind, other=None):
        Item = kind
        class Api:
            def f(self, x: Item): ...
        return Api if other is None else Tool(other().f)
    f = make(str, make(bool))
    #: a function of an earlier round
    def make():
        made = []
        for Item in (str, bool):
            def f(x: Item): ...
            made.append(f)
        return Tool(made[0])
    f = make()
    #: a name that is bound again after the class
    def make():
        Item = str
        @dataclass
        class Order:
            item: Item
        Item = bool
        @tool
        def f(x: Order): ...
        return f
    f = make()
    #: a capture
    def make():
        match Decimal:
            case Item: ...
        def f(x: Item): ...
        return f
    f = Tool(make())
    #: an assignment in a comprehension
    def make():
        [Item := one for one in [Decimal]]
        def f(x: Item): ...
        return f
    f = Tool(make())
    #: a model in the body of a class that has the name
    class Outer:
        Item = str
        class Order(BaseModel):
            item: Item
    X = Outer.Order
    TAKE
    #: an alias after the method
    class Api:
        def f(self, x: Item): ...
        Item = str
    f = Tool(Api().f)
    #: an alias before the method and after it
    class Api:
        Item = str
        def f(self, x: Item): ...
        Item = bool
    f = Tool(Api().f)
    #: a type that the place of the tool has too
    Item_ = Item
    def make():
        Given = str
        def f(x: Given): ...
        return f
    def use():
        Given = bool
        return Tool(make())
    f = use()
""")
"""What the name means is not at hand, or pydantic has taken the other already: told, and what to do."""

RIGHT_SINCE_3_12 = _cases("""
    #: a function's own
    def f[Item: str](x: Item): ...
    f = Tool(f)
    #: of a method's class
    class Api[Item: str]:
        def f(self, x: Item): ...
    f = Tool(Api().f)
    #: of a method's class, which is being made
    def make():
        Item = bool
        class Api[Item: str]:
            @tool
            def f(self, x: Item): ...
        return Api().f
    f = make()
    #: of a method's class that has an alias of that name
    class Api[Item: str]:
        Item = bool
        def f(self, x: Item): ...
    f = Tool(Api().f)
    #: of the function around
    def make[Item: str]():
        def f(x: Item): ...
        return f
    f = Tool(make())
    #: of the class around
    class Api[Item: str]:
        def make(self):
            @tool
            def f(x: Item): ...
            return f
    f = Api().make()
    #: of a dataclass
    @dataclass
    class Order[Item]:
        item: list[Item]
    X = Order[str]
    TAKE
    #: of a local dataclass
    def make():
        Item = bool
        @dataclass
        class Order[Item]:
            item: list[Item]
        return Order
    X = make()[str]
    TAKE
    #: of the function around a dataclass
    def make[Item: str]():
        @dataclass
        class Order:
            item: Item
        return Order
    X = make()
    TAKE
    #: of the class around a dataclass
    class Outer[Item: str]:
        @dataclass
        class Order:
            item: Item
    X = Outer.Order
    TAKE
""")

REFUSED_SINCE_3_12 = _cases("""
    #: of the function around, which is no longer to be had
    def gone(function):
        return lambda: function()
    @gone
    def make[Item: str]():
        @tool
        def f(x: Item): ...
        return f
    f = make()
    #: of the function around a model
    def make[Item: str]():
        class Order(BaseModel):
            item: Item
        return Order
    X = make()
    TAKE
    #: of the class around a model
    class Outer[Item: str]:
        class Order(BaseModel):
            item: Item
    X = Outer.Order
    TAKE
""")


def generated() -> dict[str, str]:
    """Every way to bind a name in a function, with every kind of class, and a tool here and there."""
    ways = {
        "import": "from decimal import Decimal as Item",
        "parameter": "",
        "assignment": "Item, other = Decimal, 1",
        "loop": "for Item in [Decimal]: ...",
        "with": "with contextlib.nullcontext(Decimal) as Item: ...",
        "walrus": "if (Item := Decimal): ...",
        "comprehension": "[Item := one for one in [Decimal]]",
        "capture": "match [Decimal]:\n    case [Item]: ...",
        "star": "match [1, Decimal]:\n    case [1, *Item]: Item = Item[0]",
        "rest": "match {'a': Decimal}:\n    case {**Item}: Item = Item['a']",
        "class": "class Item(BaseModel):\n    z: int",
    }
    kinds = {
        "dataclass": "@dataclass\nclass Order:\n    item: Item",
        "TypedDict": "class Order(TypedDict):\n    item: Item",
        "NamedTuple": "class Order(NamedTuple):\n    item: Item",
        "model": "class Order(BaseModel):\n    item: list[Item]",
        "pydantic dataclass": "@pydantic.dataclasses.dataclass\nclass Order:\n    item: Item",
        "nested": "class Outer:\n    @dataclass\n    class Order:\n        item: Item\nOrder = Outer.Order",
    }
    here = "@tool\ndef f(x: list[Order]): ...\nreturn f"
    made: dict[str, str] = {}
    for way, binding in ways.items():
        head = "def make(Item):" if way == "parameter" else "def make(_):"
        for kind, order in kinds.items():
            body = f"{head}\n{indent(f'{binding}{chr(10)}{order}{chr(10)}', '    ')}"
            made[f"{way}, {kind}, tool here"] = f"{body}{indent(here, '    ')}\nf = make(Decimal)\n"
            made[f"{way}, {kind}, tool there"] = f"{body}    return Order\nX = Optional[make(Decimal)]\n{TAKE}"
    return made
