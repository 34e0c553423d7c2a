"""Which server decided which versions of a document."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from penstock.sync.limits import INCARNATIONS_MAX


class Incarnations:
    """The incarnations of a document's server, since the document was made.

    Each decided a run of versions, which survives in the checkpoint when the entries of the log are
    gone. So a version is recognised however old it is, unless an earlier release decided it.

    Parameters
    ----------
    runs
        The first version of each run and its incarnation, ascending.
    """

    def __init__(self, runs: Iterable[tuple[int, int]] = ()) -> None:
        self._runs = list(runs)

    def decided(self, version: int, incarnation: int) -> None:
        """An incarnation decided the next version; 0 if it is not known which."""
        last = self._runs[-1][1] if self._runs else 0
        if incarnation != last:
            self._runs.append((version, incarnation))
            del self._runs[:-INCARNATIONS_MAX]

    def of(self, version: int) -> int:
        """The incarnation that decided a version; 0 if it is not known."""
        at = bisect_right(self._runs, version, key=_first)
        return self._runs[at - 1][1] if at else 0

    def last_version_of(self, incarnation: int, current: int) -> int | None:
        """The last version, up to the current one, that an incarnation decided; ``None`` if it is
        not known to have decided any."""
        ends = [first - 1 for first, _ in self._runs[1:]] + [current]
        for (_, each), end in zip(self._runs, ends, strict=False):
            if each == incarnation != 0:
                return end
        return None

    def up_to(self, version: int) -> tuple[tuple[int, int], ...]:
        """The runs that begin up to a version."""
        return tuple(self._runs[: bisect_right(self._runs, version, key=_first)])


def _first(run: tuple[int, int]) -> int:
    return run[0]
