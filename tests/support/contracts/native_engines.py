"""The engines of the native core, for tests that compare them with the reference."""

from __future__ import annotations

from typing import Final

import pytest

from penstock.native import native

NATIVE_ENGINES: Final = ("shared", "yfilter")

needs_native = pytest.mark.skipif(native is None, reason="the native core is not built")
"""For what only the native core can do."""

native_engines: Final = tuple(pytest.param(name, marks=needs_native) for name in NATIVE_ENGINES)
"""As parameters of a test."""
