"""Fixtures for all tests."""

from wire import wire

__all__ = ["wire"]
