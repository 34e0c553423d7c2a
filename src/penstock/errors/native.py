"""The error for a missing native core."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, NativeMissingError

ERRORS: dict[str, ErrorSpec] = {
    "native.missing": ErrorSpec(
        NativeMissingError,
        "the native core is required but not installed",
        "Install Rust 1.88 or newer and run `make setup`; `penstock doctor` shows what failed.",
    ),
}
