"""Finished runs as files, so that a long experiment continues where it was interrupted."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")


class RunStore(Generic[K, R]):
    """The result of a run by its configuration, each computed once.

    Runs are deterministic, so a stored result is as good as a new one, as long as the code is the
    same: a folder must not outlive a change of it.

    Parameters
    ----------
    run
        Computes the result of a configuration.
    folder
        Where results are kept; without it, they are kept in memory only.

    Examples
    --------
    >>> lengths = RunStore(len)
    >>> lengths("four"), lengths("four"), lengths.computed
    (4, 4, 1)
    """

    def __init__(self, run: Callable[[K], R], folder: Path | None = None) -> None:
        self._run = run
        self._folder = folder
        self._known: dict[K, R] = {}
        self.computed = 0
        """Results that were computed and not read."""

    def __call__(self, configuration: K) -> R:
        """The result of a configuration."""
        if configuration not in self._known:
            self._known[configuration] = self._read_or_run(configuration)
        return self._known[configuration]

    def __contains__(self, configuration: K) -> bool:
        path = self._path(configuration)
        return configuration in self._known or (path is not None and path.exists())

    def _path(self, configuration: K) -> Path | None:
        if self._folder is None:
            return None
        digest = hashlib.sha256(repr(configuration).encode()).hexdigest()
        return self._folder / f"{digest[:32]}.pickle"

    def _read_or_run(self, configuration: K) -> R:
        path = self._path(configuration)
        if path is not None and path.exists():
            result: R = pickle.loads(path.read_bytes())  # written below
            return result
        self.computed += 1
        result = self._run(configuration)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Renamed when it is complete: a process may be killed while it writes.
            unfinished = path.with_suffix(".unfinished")
            unfinished.write_bytes(pickle.dumps(result))
            unfinished.replace(path)
        return result
