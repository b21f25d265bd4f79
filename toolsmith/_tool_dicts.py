"""A tool as each API takes it. `strict` is always sent: left out, one service would decide for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolsmith.dialects import Offered


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
