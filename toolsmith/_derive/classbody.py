"""What a name in the header of a method means in the body of its class, which Python looks at first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolsmith._dataclass import dataclass
from toolsmith._derive.bindings import ABSENT, LOCALS, bodies
from toolsmith._derive.lexical import Bound, is_type
from toolsmith._derive.runs import Run


@dataclass(frozen=True, slots=True)
class ClassBody:
    """The body of the class that a method is defined in.

    Attributes:
        place: qualified name of the class.
        names: what it has bound; of a class that is not at hand, nothing.
        known: whether the class is at hand.
        exact: the method is being defined just now, so that no name has come later.
    """

    method: Callable[..., Any]
    place: str
    names: Mapping[str, Any]
    known: bool
    exact: bool

    def meaning(self, name: str, outer: Any) -> Any:
        """What a name means in the header of the method, if it is the class's.

        A method or a value is not taken for a type: `list` may be a method, and its neighbours still mean the type.

        Args:
            outer: what it means outside of the class, `ABSENT` for nothing.

        Returns:
            The value; `Bound` where both may be meant; `ABSENT` where the class has no such type.
        """
        if not self.known:
            body = bodies(getattr(self.method, "__globals__", {})).get(self.place)
            bindings = body.bound.get(name, ()) if body is not None else ()
            hidden = outer is not ABSENT and any(not b.is_function for b in bindings)
            return Bound(self.place, is_class=True) if hidden else ABSENT
        held = self.names.get(name, ABSENT)
        if held is outer or not (isinstance(held, str) or is_type(held)):
            return ABSENT
        return held if outer is ABSENT or self.exact or self._came_before(name) else Bound(self.place, is_class=True)

    def _came_before(self, name: str) -> bool:
        """Whether the class bound a name before the method, and never again after it."""
        order = list(self.names)
        method = getattr(self.method, "__name__", "")
        if method not in self.names or order.index(name) > order.index(method):
            return False
        body = bodies(getattr(self.method, "__globals__", {})).get(self.place)
        line = self.method.__code__.co_firstlineno
        return body is None or all(b.line < line for b in body.bound.get(name, ()))


def class_body(method: Callable[..., Any], owner: type | None, runs: tuple[Run, ...]) -> ClassBody | None:
    """The body of the class that a function is defined in; None for one that is no method.

    Args:
        owner: that class, where it is already made and can be found.
        runs: what is running.
    """
    place = getattr(method, "__qualname__", "").rpartition(".")[0]
    if not place or place.endswith(LOCALS[:-1]) or not hasattr(method, "__code__"):
        return None
    running = [r for r in runs if r.place == place]
    now = next((r for r in running if r.defines(method)), None)
    if now is not None:
        return ClassBody(method, place, now.names, known=True, exact=True)
    if owner is not None and owner.__qualname__ == place:
        return ClassBody(method, place, vars(owner), known=True, exact=False)
    return ClassBody(method, place, running[0].names if running else {}, known=bool(running), exact=False)
