"""A tool as each API takes it. `strict` is always sent: left out, one service would decide for itself."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolsmith.dialects import Offered, Service, StrictReport
    from toolsmith.messages import ToolSpec


def for_claude(offered: Offered) -> dict[str, Any]:
    """For the Messages API (anthropic/types/tool_param.py, read 2026-11-30)."""
    return {
        "name": offered.spec.name,
        "description": offered.spec.description,
        "input_schema": offered.schema,
        "strict": offered.strict,
    }


def for_responses(offered: Offered) -> dict[str, Any]:
    """For the Responses API (openai/types/responses/function_tool_param.py, read 2026-11-30)."""
    return {
        "type": "function",
        "name": offered.spec.name,
        "description": offered.spec.description,
        "parameters": offered.schema,
        "strict": offered.strict,
    }


def for_chat(offered: Offered) -> dict[str, Any]:
    """For Chat Completions (openai/types/shared_params/function_definition.py, read 2026-11-30)."""
    return {
        "type": "function",
        "function": {
            "name": offered.spec.name,
            "description": offered.spec.description,
            "parameters": offered.schema,
            "strict": offered.strict,
        },
    }


def openai_dict(spec: ToolSpec, strict: bool | None, api: str) -> dict[str, Any]:
    """A tool offered alone to OpenAI; a dict of the caller's own.

    Raises:
        DefinitionError: it must be strict, and has no strict form.
    """
    from toolsmith.dialects import OPENAI, plan

    if api not in {"responses", "chat"}:
        raise ValueError(f"to_openai takes api='responses' or api='chat', not {api!r}.")
    write = for_chat if api == "chat" else for_responses
    return deepcopy(write(plan([(spec, strict)], OPENAI)[0]))


def anthropic_dict(spec: ToolSpec, strict: bool | None) -> dict[str, Any]:
    """A tool offered alone to Claude; a dict of the caller's own.

    Raises:
        DefinitionError: it must be strict, and has no strict form.
    """
    from toolsmith.dialects import CLAUDE, plan

    return deepcopy(for_claude(plan([(spec, strict)], CLAUDE)[0]))


def report(spec: ToolSpec, strict: bool | None, provider: str | Service) -> StrictReport:
    """Whether a tool offered alone is strict with a service, and why."""
    from toolsmith import dialects

    if not isinstance(provider, str):
        return dialects.strict_report(spec, strict, provider)
    services = {"openai": dialects.OPENAI, "anthropic": dialects.CLAUDE, "local": dialects.LOCAL}
    if provider not in services:
        raise ValueError(f"strict_report takes 'openai', 'anthropic', 'local' or a Service, not {provider!r}.")
    return dialects.strict_report(spec, strict, services[provider])
