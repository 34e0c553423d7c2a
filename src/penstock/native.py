"""Imports the native core, or falls back to the Python reference.

Import :data:`native` from here: it is the extension module, or ``None`` if it is not installed.
Without it the Python reference is used, which is correct but much slower; a warning says so once.
``PENSTOCK_REQUIRE_NATIVE=1`` turns the warning into an error.
"""

from __future__ import annotations

import os
import warnings

from penstock.errors import NativeMissingWarning, error

__all__ = ["NativeMissingWarning", "native"]

REQUIRE_VARIABLE = "PENSTOCK_REQUIRE_NATIVE"
"""Environment variable; ``1`` makes a missing native core an error."""

try:
    from penstock import _native as native
except ImportError as reason:
    if os.environ.get(REQUIRE_VARIABLE) == "1":
        raise error("native.missing", f"the native core cannot be imported ({reason})") from reason
    # Callers test `native is None`; the declared type is that of the module.
    native = None  # type: ignore[assignment]
    warnings.warn(
        f"the native core cannot be imported ({reason}): using the Python reference, which is much"
        " slower; run `penstock doctor` for advice",
        NativeMissingWarning,
        stacklevel=2,
    )
