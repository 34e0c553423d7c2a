"""The engines of the native core, for tests that compare them with the reference."""

from __future__ import annotations

from typing import Final

import pytest

from penstock.native import native

needs_native = pytest.mark.skipif(
    not hasattr(native, "Index"), reason="the native engines are not built"
)
"""For what only the native core can do."""

NATIVE_ENGINES: Final = tuple(
    pytest.param(name, marks=needs_native) for name in ("shared", "yfilter")
)
"""As parameters of a test."""
