"""Which tools of one request are sent in strict mode, and why.

A service may limit what all strict schemas of a request add up to, so the decision is made over the whole list. It
depends on nothing but the list: the same tools in the same order are always offered alike.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from toolsmith._dataclass import dataclass
from toolsmith._dialects.jsonschema import Loss, Node
from toolsmith._dialects.wire import nodes
from toolsmith.errors import DefinitionError
from toolsmith.messages import ToolSpec

if TYPE_CHECKING:
    from toolsmith._arguments.problems import Problem, Repair
    from toolsmith.dialects import Dialect, Encoded

_KEPT = 8192  # encoded schemas; a program has as many tools as it has functions, twice


@dataclass(frozen=True, slots=True)
class Ceilings:
    """How much strict schema one request may hold; None for no limit.

    Attributes:
        strict_tools: tools with a strict schema.
        optional_parameters: members that are not required, at any depth, over all of them.
        union_parameters: members with alternatives or a list of types, at any depth, over all of them.
    """

    strict_tools: int | None = None
    optional_parameters: int | None = None
    union_parameters: int | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """A service, as far as tool definitions are concerned.

    Attributes:
        name: for people: "Claude".
        strict: its strict mode, None where it has none.
        loose: its other mode.
        ceilings: beyond these it refuses a request.
        budget: what is used of that without being asked (`strict=None`).
        strict_unasked: whether tools with `strict=None` become strict at all.
    """

    name: str
    strict: Dialect | None
    loose: Dialect
    ceilings: Ceilings = Ceilings()
    budget: Ceilings = Ceilings()
    strict_unasked: bool = True


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool as one service is told of it.

    Attributes:
        spec: the tool.
        strict: whether it is sent with `strict: true`.
        schema: what goes on the wire; shared, so copy before changing it.
        dialect: the mode in which it is sent.
        exact: the model's raw text may go straight to the validator: `decode` changes nothing.
        reason: why it is strict or not, for people: "loose: `opts` is a free-form object".
        losses: what the schema on the wire cannot say; none is fatal.
        asked: whether it is strict because the tool asks for it (`strict=True`).
    """

    spec: ToolSpec
    strict: bool
    schema: dict[str, Any]
    dialect: Dialect
    exact: bool
    reason: str
    losses: tuple[Loss, ...] = ()
    asked: bool = False
    encoded: Encoded | None = field(default=None, repr=False, compare=False)

    def decode(self, arguments: Any) -> Any:
        """Parsed arguments as the model sent them, as values of the tool's own schema.

        Raises:
            DialectError: the arguments say two things at once.
        """
        decoder = self.encoded.decoder if self.encoded else None
        return arguments if decoder is None else decoder.decode(arguments, "")

    def as_sent(self, problems: Sequence[Problem], sent: object) -> Sequence[Problem]:
        """Problems of decoded arguments, as problems of what the model `sent`."""
        from toolsmith._dialects.sent_form import as_sent

        decoder = self.encoded.decoder if self.encoded else None
        return problems if decoder is None else as_sent(problems, self.schema, decoder, sent)

    def mended_as_sent(self, repairs: Sequence[Repair], sent: object) -> Sequence[Repair]:
        """The same of what was mended."""
        from toolsmith._dialects.sent_form import mended_as_sent

        decoder = self.encoded.decoder if self.encoded else None
        return repairs if decoder is None else mended_as_sent(repairs, self.schema, decoder, sent)

    def sent_names(self) -> Mapping[str, str]:
        """The arguments that the model knows by another name than the tool; most often none."""
        from toolsmith._dialects.sent_names import sent_names

        return sent_names(self.encoded.decoder if self.encoded else None)


@dataclass(frozen=True, slots=True)
class StrictReport:
    """Whether a tool is strict with a service when it is the only one, and why; `print` it.

    Attributes:
        service: the service's name.
        strict: whether it is sent with `strict: true`.
        reason: why.
        losses: what the strict form cannot say or tells in words, fatal ones first.
    """

    tool: str
    service: str
    strict: bool
    reason: str
    losses: tuple[Loss, ...]

    def __str__(self) -> str:
        lines = [f"{self.tool} on {self.service}: {self.reason}"]
        lines.extend(f"  {'no strict form' if loss.fatal else 'note'}: {loss}" for loss in self.losses)
        return "\n".join(lines)


@dataclass(slots=True)
class _Spent:
    """What the strict tools chosen so far add up to."""

    tools: int = 0
    optional: int = 0
    unions: int = 0

    def over(self, schema: Node, limits: Ceilings) -> str:
        """What one more strict schema would exceed, "" for nothing."""
        optional, unions = complexity(schema)
        for have, most, what in (
            (self.tools + 1, limits.strict_tools, "strict tools"),
            (self.optional + optional, limits.optional_parameters, "optional parameters"),
            (self.unions + unions, limits.union_parameters, "parameters with alternatives"),
        ):
            if most is not None and have > most:
                return f"{have} {what}, of {most}"
        return ""

    def add(self, schema: Node) -> None:
        optional, unions = complexity(schema)
        self.tools, self.optional, self.unions = self.tools + 1, self.optional + optional, self.unions + unions


def complexity(schema: Mapping[str, Any]) -> tuple[int, int]:
    """Optional members, and members with alternatives, of a wire schema; each definition counts once.

    The service was seen not to follow references (pydantic-ai 2.68.0, models/_anthropic_schema_limits.py); its page
    does not say so, and counting them errs on the side of requests that work.
    """
    optional = unions = 0
    for node in nodes(cast("Node", schema)):
        members: Node = node.get("properties", {})
        optional += len(members) - len(node.get("required", ()))
        unions += sum(1 for m in members.values() if "anyOf" in m or isinstance(m.get("type"), list))
    return optional, unions


def plan(
    tools: Sequence[tuple[ToolSpec, bool | None]], service: Service, *, demoted: Collection[str] = ()
) -> tuple[Offered, ...]:
    """How a service is told of some tools: the same number, in the same order.

    Args:
        tools: each with its `strict`: True must be strict, False never is, None is where that loses nothing and fits
            the service's budget; the tools that must be get their place first.
        service: who is told.
        demoted: names of tools with `strict=None` that are not to be strict, because the service found the schemas
            together too complex; see `heaviest`.

    Raises:
        DefinitionError: a tool that must be strict has no strict form, or they exceed the service's ceilings, or a
            schema cannot be sent in any form; all problems at once.
    """
    spent = _Spent()
    problems: list[str] = []
    chosen = _demanded(tools, service, spent, problems)
    for i, (spec, strict) in enumerate(tools):
        if i not in chosen and strict is not True:
            chosen[i] = _choose(spec, strict, service, spec.name in demoted, spent)
            if fatal := [loss for loss in chosen[i].losses if loss.fatal]:
                problems.append(f"Tool {spec.name!r} cannot be sent to {service.name}: its schema {fatal[0]}.")
    if problems:
        raise DefinitionError(problems)
    return tuple(chosen[i] for i in range(len(tools)))


def _demanded(
    tools: Sequence[tuple[ToolSpec, bool | None]], service: Service, spent: _Spent, problems: list[str]
) -> dict[int, Offered]:
    """The tools that must be strict, by their place; what cannot be is added to `problems`."""
    chosen: dict[int, Offered] = {}
    for i, (spec, strict) in enumerate(tools):
        if strict is not True:
            continue
        form = _strict_form(spec, service)
        if isinstance(form, str):
            problems.append(
                _refused(
                    spec,
                    service,
                    form,
                    "Change the type, or leave `strict` unset: its arguments are checked here all the same.",
                )
            )
        elif over := spent.over(form[1].schema, service.ceilings):
            problems.append(
                _refused(
                    spec,
                    service,
                    f"it would make {over} that one request may hold",
                    "Leave `strict` unset on some tools, or offer fewer of them at once.",
                )
            )
        else:
            spent.add(form[1].schema)
            chosen[i] = _offer(spec, *form, "strict: asked for", asked=True)
    return chosen


def heaviest(offered: Sequence[Offered]) -> tuple[str, ...]:
    """Names of strict tools to demote after a service found the schemas together too complex.

    The heaviest first, until half of what the strict schemas weigh is gone: the request is repeated only once, so it
    has to fit then. Tools that ask for strict mode are never named; () where no others are strict.
    """
    weights = {o.spec.name: _weight(o.schema) for o in offered if o.strict}
    total = left = sum(weights.values())
    free = [o.spec.name for o in offered if o.strict and not o.asked]
    named: list[str] = []
    for name in sorted(free, key=lambda n: -weights[n]):
        if named and left * 2 <= total:
            break
        named.append(name)
        left -= weights[name]
    return tuple(name for name in free if name in named)


def strict_report(spec: ToolSpec, strict: bool | None, service: Service) -> StrictReport:
    """Whether a tool, offered alone, is strict with a service, and why. Never raises for what `strict=True` would."""
    losses: tuple[Loss, ...] = ()
    if service.strict is not None:
        losses = tuple(sorted(_encode(service.strict, spec).losses, key=lambda loss: not loss.fatal))
    try:
        offered = plan([(spec, strict)], service)[0]
    except DefinitionError as error:
        return StrictReport(spec.name, service.name, False, f"refused: {error}", losses)
    return StrictReport(spec.name, service.name, offered.strict, offered.reason, losses)


def _weight(schema: Node) -> int:
    """What a schema costs a grammar compiler: its parts, and much more its choices."""
    optional, unions = complexity(schema)
    return sum(1 for _ in nodes(schema)) + 5 * (optional + unions)


def _strict_form(spec: ToolSpec, service: Service) -> tuple[Dialect, Encoded] | str:
    """The strict form of a tool, or why it has none."""
    if service.strict is None:
        return "it has no strict mode"
    encoded = _encode(service.strict, spec)
    return str(encoded.fatal[0]) if encoded.fatal else (service.strict, encoded)


def _choose(spec: ToolSpec, strict: bool | None, service: Service, demoted: bool, spent: _Spent) -> Offered:
    """A tool that need not be strict."""
    if strict is False:
        why = "asked for"
    elif demoted:
        why = f"{service.name} found the strict schemas together too complex"
    elif not service.strict_unasked:
        why = f"{service.name} often ignore strict mode, so it has to be asked for"
    elif isinstance(form := _strict_form(spec, service), str):
        why = form
    elif over := spent.over(form[1].schema, service.budget):
        why = f"it would make {over} that one request to {service.name} is given unasked"
    else:
        spent.add(form[1].schema)
        return _offer(spec, *form, "strict: nothing is lost")
    return _offer(spec, service.loose, _encode(service.loose, spec), f"loose: {why}")


def _offer(spec: ToolSpec, dialect: Dialect, encoded: Encoded, reason: str, *, asked: bool = False) -> Offered:
    return Offered(spec, dialect.strict, encoded.schema, dialect, encoded.exact, reason, encoded.losses, asked, encoded)


def _refused(spec: ToolSpec, service: Service, why: str, way_out: str) -> str:
    return f"Tool {spec.name!r} cannot be strict with {service.name}: {why}. {way_out}"


_cache: dict[tuple[int, str], tuple[Any, Encoded]] = {}
_cache_lock = Lock()


def _encode(dialect: Dialect, spec: ToolSpec) -> Encoded:
    """Encode each schema once for each dialect: a schema object never changes, so its identity stands for it."""
    key = (id(spec.schema), dialect.name)
    found = _cache.get(key)
    if found is not None and found[0] is spec.schema:
        return found[1]
    encoded = dialect.encode(spec.schema)
    with _cache_lock:
        while len(_cache) >= _KEPT:
            del _cache[next(iter(_cache))]
        _cache[key] = (spec.schema, encoded)
    return encoded
