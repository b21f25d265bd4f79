"""Fixtures for all tests."""

import os
import signal

import pytest
from wire import wire

__all__ = ["wire"]


def pytest_configure() -> None:
    """A shell starts its background jobs with Ctrl-C ignored, and so would be the programs that the tests interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """`-n auto`: three workers for two cores, for half of the time that tests take they wait."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + cores // 2


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Callables are named, never shown by their address: workers that run tests side by side must collect alike."""
    if callable(val) and not isinstance(val, type) and " at 0x" in repr(val):
        inner = getattr(val, "func", val)  # of a partial
        return getattr(inner, "__qualname__", type(inner).__qualname__).replace("<locals>.", "")
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests come first: one that begins last would keep a single core busy at the end."""
    items.sort(key=lambda item: item.path.name not in ("test_conformance.py", "test_soak.py"))
