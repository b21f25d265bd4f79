"""Which tools the service runs itself, and which this program runs in their place: decided anew for each provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from toolsmith._dataclass import dataclass

if TYPE_CHECKING:
    from toolsmith.messages import HostedTool
    from toolsmith.providers import Provider
    from toolsmith.tool import Tool


@dataclass(frozen=True, slots=True)
class Shared:
    """The tools of a run, by who runs them.

    Attributes:
        own: this program.
        hosted: the service, by the name that the tool has here.
        left_out: names of those that nobody can.
    """

    own: tuple[Tool[..., Any], ...] = ()
    hosted: Mapping[str, HostedTool] = field(default_factory=dict[str, "HostedTool"])
    left_out: tuple[str, ...] = ()


def share(tools: Sequence[Tool[..., Any]], provider: Provider, *, refused: bool = False) -> Shared:
    """Leave to the service what it has; each kind once, and never beside another tool of the same name.

    Args:
        refused: it has refused a request with what is commonly there; only what is insisted on is still left to it.
    """
    if all(tool.hosted is None for tool in tools):
        return Shared(tuple(tools))
    names = [tool.name for tool in tools]
    own: list[Tool[..., Any]] = []
    hosted: dict[str, HostedTool] = {}
    left_out: list[str] = []
    for tool in tools:
        wanted = tool.hosted
        may = wanted is not None and (wanted.insisted or not refused)
        if wanted is not None and may and provider.hosts(wanted) and _is_free(wanted, tool.name, names, hosted):
            hosted[tool.name] = wanted
        elif wanted is not None and tool.only_hosted:
            left_out.append(tool.name)
        else:
            own.append(tool)
    return Shared(tuple(own), hosted, tuple(left_out))


def _is_free(wanted: HostedTool, name: str, names: Sequence[str], hosted: Mapping[str, HostedTool]) -> bool:
    if any(tool.kind == wanted.kind for tool in hosted.values()):
        return False
    return name == wanted.kind or wanted.kind not in names
