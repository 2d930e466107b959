"""Peers of several files."""

import importlib

import pytest


@pytest.fixture(scope="session")
def cshogi():
    """A peer for shogi, written in C++, with its readers of records."""
    package = pytest.importorskip(
        "cshogi", reason="cshogi has no build for NumPy 2 and this Python"
    )
    for name in ("CSA", "KIF"):
        importlib.import_module(f"cshogi.{name}")
    return package
