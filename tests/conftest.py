"""Fixtures for all tests."""

import signal

import pytest
from wire import wire

__all__ = ["wire"]


def pytest_configure() -> None:
    """A shell starts its background jobs with Ctrl-C ignored, and so would be the programs that the tests interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Callables are named, never shown by their address: workers that run tests side by side must collect alike."""
    if callable(val) and not isinstance(val, type) and " at 0x" in repr(val):
        inner = getattr(val, "func", val)  # of a partial
        return getattr(inner, "__qualname__", type(inner).__qualname__).replace("<locals>.", "")
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests come first: one that begins last would keep a single core busy at the end."""
    items.sort(key=lambda item: item.path.name not in ("test_conformance.py", "test_soak.py"))
