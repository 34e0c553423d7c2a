"""The one place that knows whether the native core is there.

Import :data:`native` from here: the extension module, or ``None`` where it could not be built.
Then the plain Python references serve: right, and much slower. One warning says so, and
``PENSTOCK_REQUIRE_NATIVE=1`` makes it an error instead.
"""

from __future__ import annotations

import os
import warnings

from penstock.errors import NativeMissingWarning, error

__all__ = ["NativeMissingWarning", "native"]

REQUIRE_VARIABLE = "PENSTOCK_REQUIRE_NATIVE"
"""The environment variable which, set to ``1``, makes the core's absence an error."""

try:
    from penstock import _native as native
except ImportError as reason:
    if os.environ.get(REQUIRE_VARIABLE) == "1":
        raise error("native.missing", f"the native core cannot be imported ({reason})") from reason
    # Callers ask `native is None`; the types describe the module where it is there.
    native = None  # type: ignore[assignment]
    warnings.warn(
        f"the native core cannot be imported ({reason}): the plain Python references serve, "
        "right but much slower; `penstock doctor` says what to do",
        NativeMissingWarning,
        stacklevel=2,
    )
