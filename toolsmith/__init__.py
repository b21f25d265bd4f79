"""Plain Python functions as tools for language models.

    from toolsmith import Agent, tool

    @tool
    def add(a: int, b: int) -> int:
        "Add two whole numbers."
        return a + b

    print(Agent(tools=[add]).run_sync("What is 19 + 23?").output)

Each public name is loaded when it is first used, so that `import toolsmith` costs next to nothing and loads no SDK.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from toolsmith._decorator import tool
    from toolsmith._run.context import RunContext
    from toolsmith._run.result import Repeats, RunResult, ToolRecord
    from toolsmith._untrusted.spans import UntrustedSpan
    from toolsmith.agent import Agent, ResumeOptions, RunOptions
    from toolsmith.approvals import Pending, PendingCall
    from toolsmith.counters import SQLiteCounter
    from toolsmith.errors import (
        ConfigError,
        DefinitionError,
        DefinitionWarning,
        ErrorCategory,
        HistoryError,
        ModelRetry,
        OutputError,
        ProviderError,
        RAGError,
        RunError,
        ToolError,
        ToolsmithError,
    )
    from toolsmith.events import (
        ApprovalNeeded,
        ArgumentsRepaired,
        Event,
        HistoryMended,
        LimitReached,
        ModelSwitched,
        Observer,
        ReasoningDelta,
        RepeatStopped,
        RequestRetried,
        RunEnded,
        RunStarted,
        StrictDemoted,
        TextDelta,
        ToolArgumentsDelta,
        ToolCallReady,
        ToolCallStarted,
        ToolLeftOut,
        ToolProgress,
        ToolResultReady,
        TurnEnded,
        UntrustedFlow,
    )
    from toolsmith.feedback import Feedback
    from toolsmith.history import dump_messages, load_messages
    from toolsmith.limits import Limits, SharedCounter
    from toolsmith.media import File, Image
    from toolsmith.messages import (
        Citation,
        HostedTool,
        Message,
        Opaque,
        Part,
        Reasoning,
        Refusal,
        Reply,
        Request,
        Source,
        Text,
        ToolCall,
        ToolOutput,
        ToolResult,
        ToolSpec,
        Usage,
    )
    from toolsmith.providers import ModelSettings, Provider
    from toolsmith.rag import RAG, Document, Hit
    from toolsmith.registry import ToolRegistry
    from toolsmith.remedies import Remedy
    from toolsmith.streams import RunStream, SyncRunStream
    from toolsmith.tool import Tool
    from toolsmith.untrusted import untrusted_text
    from toolsmith.web import WebSearch

# module -> the names that come from it
_SOURCES: dict[str, tuple[str, ...]] = {
    "_run.context": ("RunContext",),
    "_decorator": ("tool",),
    "_run.result": ("Repeats", "RunResult", "ToolRecord"),
    "_untrusted.spans": ("UntrustedSpan",),
    "agent": ("Agent", "ResumeOptions", "RunOptions"),
    "approvals": ("Pending", "PendingCall"),
    "counters": ("SQLiteCounter",),
    "errors": (
        "ConfigError",
        "DefinitionError",
        "DefinitionWarning",
        "ErrorCategory",
        "HistoryError",
        "ModelRetry",
        "OutputError",
        "ProviderError",
        "RAGError",
        "RunError",
        "ToolError",
        "ToolsmithError",
    ),
    "events": (
        "ApprovalNeeded",
        "ArgumentsRepaired",
        "Event",
        "HistoryMended",
        "LimitReached",
        "ModelSwitched",
        "Observer",
        "ReasoningDelta",
        "RepeatStopped",
        "RequestRetried",
        "RunEnded",
        "RunStarted",
        "StrictDemoted",
        "TextDelta",
        "ToolArgumentsDelta",
        "ToolCallReady",
        "ToolCallStarted",
        "ToolLeftOut",
        "ToolProgress",
        "ToolResultReady",
        "TurnEnded",
        "UntrustedFlow",
    ),
    "feedback": ("Feedback",),
    "history": ("dump_messages", "load_messages"),
    "limits": ("Limits", "SharedCounter"),
    "media": ("File", "Image"),
    "messages": (
        "Citation",
        "HostedTool",
        "Message",
        "Opaque",
        "Part",
        "Reasoning",
        "Refusal",
        "Reply",
        "Request",
        "Source",
        "Text",
        "ToolCall",
        "ToolOutput",
        "ToolResult",
        "ToolSpec",
        "Usage",
    ),
    "providers": ("ModelSettings", "Provider"),
    "rag": ("RAG", "Document", "Hit"),
    "registry": ("ToolRegistry",),
    "remedies": ("Remedy",),
    "streams": ("RunStream", "SyncRunStream"),
    "tool": ("Tool",),
    "untrusted": ("untrusted_text",),
    "web": ("WebSearch",),
}
_MODULE_OF = {name: module for module, names in _SOURCES.items() for name in names}

__all__ = [
    "RAG",
    "Agent",
    "ApprovalNeeded",
    "ArgumentsRepaired",
    "Citation",
    "ConfigError",
    "DefinitionError",
    "DefinitionWarning",
    "Document",
    "ErrorCategory",
    "Event",
    "Feedback",
    "File",
    "HistoryError",
    "HistoryMended",
    "Hit",
    "HostedTool",
    "Image",
    "LimitReached",
    "Limits",
    "Message",
    "ModelRetry",
    "ModelSettings",
    "ModelSwitched",
    "Observer",
    "Opaque",
    "OutputError",
    "Part",
    "Pending",
    "PendingCall",
    "Provider",
    "ProviderError",
    "RAGError",
    "Reasoning",
    "ReasoningDelta",
    "Refusal",
    "Remedy",
    "RepeatStopped",
    "Repeats",
    "Reply",
    "Request",
    "RequestRetried",
    "ResumeOptions",
    "RunContext",
    "RunEnded",
    "RunError",
    "RunOptions",
    "RunResult",
    "RunStarted",
    "RunStream",
    "SQLiteCounter",
    "SharedCounter",
    "Source",
    "StrictDemoted",
    "SyncRunStream",
    "Text",
    "TextDelta",
    "Tool",
    "ToolArgumentsDelta",
    "ToolCall",
    "ToolCallReady",
    "ToolCallStarted",
    "ToolError",
    "ToolLeftOut",
    "ToolOutput",
    "ToolProgress",
    "ToolRecord",
    "ToolRegistry",
    "ToolResult",
    "ToolResultReady",
    "ToolSpec",
    "ToolsmithError",
    "TurnEnded",
    "UntrustedFlow",
    "UntrustedSpan",
    "Usage",
    "WebSearch",
    "__version__",
    "dump_messages",
    "load_messages",
    "tool",
    "untrusted_text",
]


class _Package(ModuleType):
    """This package, whose attribute `tool` is the decorator and never the module of the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system binds each loaded submodule to its package. Without this, `toolsmith.tool` would turn
        # from the decorator into a module as soon as anything imports that module. `import toolsmith.tool` and
        # `from toolsmith.tool import Tool` find it in `sys.modules` all the same.
        if name != "tool" or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'toolsmith' has no attribute {name!r}")
    value = getattr(import_module(f"toolsmith.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Package
