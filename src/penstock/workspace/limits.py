"""Every limit of a workspace, by name."""

from __future__ import annotations

from typing import Final

OPEN_VERSIONS_MAX: Final[int] = 4
"""Index versions that a process keeps open; past it the one not used for longest is closed."""

CACHED_FILES_MAX: Final[int] = 16
"""Files of index versions that a machine keeps in its cache, of folders that are not its own; past
it those not used for longest are removed."""

CHANGED_ROWS_MIN: Final[int] = 10_000
"""Rows added to or removed from an index version before it is built anew, however small it is."""

CHANGED_PERCENT_MAX: Final[int] = 5
"""Rows added or removed, in a hundred of an index version's rows, before it is built anew: each
process that opens the version adds them once more."""
