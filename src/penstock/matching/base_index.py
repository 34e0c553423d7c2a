"""What indexes of every kind of query have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Self

from penstock.errors import PenstockError, QueryError, error
from penstock.matching.engine import HeldQueries
from penstock.matching.results import IndexStats
from penstock.native import native


class StandingQueries(ABC):
    """Standing queries by id."""

    _engine: str
    _index: HeldQueries

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Open a saved index.

        Raises
        ------
        IndexFileError
            ``index.not-an-index``, ``index.damaged``, ``index.too-new`` or ``index.too-old``.
        """
        loaded = cls.__new__(cls)
        loaded._engine, loaded._index = cls._opened(path)
        return loaded

    @staticmethod
    @abstractmethod
    def _opened(path: str | PathLike[str]) -> tuple[str, HeldQueries]:
        """The engine whose file this is, and the index in it."""

    def remove(self, id: str) -> None:  # noqa: A002
        """Remove a subscription; matchers made before still have it."""
        if not self._index.remove(id):
            raise _unknown(id)

    def query(self, id: str) -> str:  # noqa: A002
        """The text of a subscription's query, as it was given."""
        text = self._index.query(id)
        if text is None:
            raise _unknown(id)
        return text

    def __contains__(self, id: object) -> bool:  # noqa: A002
        return isinstance(id, str) and self._index.contains(id)

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        count = "1 subscription" if len(self) == 1 else f"{len(self)} subscriptions"
        return f"<{type(self).__name__}: {count}, engine {self._engine}>"

    def stats(self) -> IndexStats:
        """What the index holds."""
        return self._index.stats()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to a file, which appears whole or not at all."""
        self._index.save(path)


def added(
    ids: Sequence[str],
    queries: Sequence[str],
    add: Callable[[Sequence[str], Sequence[str]], Mapping[int, QueryError]],
) -> dict[str, QueryError]:
    """Add queries that come with as many ids; the errors by id."""
    if len(ids) != len(queries):
        raise error("subscription.uneven", f"{len(ids)} ids came with {len(queries)} queries")
    return {ids[position]: reason for position, reason in add(ids, queries).items()}


def chosen(engine: str | None, engines: Sequence[str]) -> str:
    """The engine to use, checked; the first is the default, the last is the reference."""
    if engine is None:
        return engines[-1] if native is None else engines[0]
    if engine not in engines:
        raise error("engine.unknown", f"there is no engine `{engine}`")
    if engine != "reference" and native is None:
        raise error("native.missing", f"the engine `{engine}` is part of the native core")
    return engine


def chosen_for_index(engine: str | None, of_index: str, engines: Sequence[str]) -> str:
    """The engine to match with: those of the native core share an index."""
    wanted = of_index if engine is None else chosen(engine, engines)
    if (wanted == "reference") != (of_index == "reference"):
        raise error("engine.unknown", f"an index made for `{of_index}` cannot serve `{wanted}`")
    return wanted


def magic_of(path: str | PathLike[str], magics: Sequence[bytes]) -> bytes:
    """Which of these the file begins with."""
    with open(path, "rb") as file:
        start = file.read(max(map(len, magics)))
    for magic in magics:
        if start.startswith(magic):
            return magic
    raise error("index.not-an-index", f"{path} is not an index of these queries")


def _unknown(subscription: str) -> PenstockError:
    return error("subscription.unknown", f"there is no subscription `{subscription}`")
