"""The exit codes of the commands; docs/reference/exit-codes.md documents them."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Stable across releases: scripts rely on them."""

    SUCCESS = 0
    CHECK_FAILED = 1
    USAGE_ERROR = 2
    INPUT_REFUSED = 3
