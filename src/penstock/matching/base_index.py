"""The base class of indexes, whatever the kind of query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Self

from penstock.errors import PenstockError, QueryError, error
from penstock.language.limits import MAX_ID_BYTES
from penstock.language.source_position import surrogate_position, utf8_size
from penstock.matching.engine import EngineSubscriptions
from penstock.matching.header_tests import HeaderFields, header_test_error, tests_per_query
from penstock.matching.results import IndexStats
from penstock.native import native

_SHOWN_CHARACTERS = 80
"""Characters of an invalid id that a message shows."""


class BaseIndex(ABC):
    """Subscriptions by id."""

    _engine: str
    _index: EngineSubscriptions

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
    def _opened(path: str | PathLike[str]) -> tuple[str, EngineSubscriptions]:
        """Returns the engine that wrote the file, and the index stored in it."""

    @staticmethod
    @abstractmethod
    def _decoded(engine: str, content: bytes) -> EngineSubscriptions:
        """Returns the index in the content of an index file of this engine."""

    def remove(self, id: str) -> None:  # noqa: A002
        """Remove a subscription; matchers created earlier still match it."""
        if id not in self or not self._index.remove(id):
            raise _unknown(id)

    def query(self, id: str) -> str:  # noqa: A002
        """The text of a subscription's query, as the caller wrote it."""
        text = self._index.query(id) if id in self else None
        if text is None:
            raise _unknown(id)
        return text

    def __contains__(self, id: object) -> bool:  # noqa: A002
        return isinstance(id, str) and utf8_size(id) is not None and self._index.contains(id)

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._description(self._engine)}>"

    def _description(self, engine: str) -> str:
        count = len(self)
        return f"{count:,} subscription{'' if count == 1 else 's'}, engine {engine}"

    def __reduce__(self) -> tuple[object, ...]:
        # The content of the index file; a copy has the same subscriptions, in the same order.
        return _restored, (type(self), self._engine, self._index.to_bytes())

    def stats(self) -> IndexStats:
        """Sizes of the index."""
        return self._index.stats()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to a file, atomically."""
        self._index.save(path)


def _restored(cls: type[BaseIndex], engine: str, content: bytes) -> BaseIndex:
    """A pickled index."""
    restored = cls.__new__(cls)
    restored._engine, restored._index = engine, cls._decoded(engine, content)
    return restored


def add_checked(
    ids: Sequence[str],
    queries: Sequence[str],
    where: HeaderFields | Sequence[HeaderFields] | None,
    add: Callable[[Sequence[str], Sequence[str], Sequence[HeaderFields]], Mapping[int, QueryError]],
) -> dict[str, QueryError]:
    """Adds queries after checking that each has an id; returns the errors by id."""
    tests = tests_per_query(where, len(queries))
    if len(ids) != len(queries) or (tests and len(tests) != len(queries)):
        raise error("subscription.uneven", f"{len(ids)} ids for {len(queries)} queries")
    problems = {
        position: problem
        for position, (name, query) in enumerate(zip(ids, queries, strict=True))
        if (problem := _problem(name, query)) is not None
    }
    for position, each in enumerate(tests):
        problem = header_test_error(each)
        if problem is not None:
            problems.setdefault(position, problem)
    if not problems:
        return {ids[position]: reason for position, reason in add(ids, queries, tests).items()}
    valid = [position for position in range(len(ids)) if position not in problems]
    refused = add(
        [ids[at] for at in valid],
        [queries[at] for at in valid],
        [tests[at] for at in valid] if tests else (),
    )
    problems |= {valid[position]: reason for position, reason in refused.items()}
    return {ids[position]: problems[position] for position in sorted(problems)}


def _problem(name: str, query: str) -> QueryError | None:
    """Why a subscription is refused whatever its query means: it is not text that can be stored."""
    size = utf8_size(name)
    if size is None or size > MAX_ID_BYTES:
        problem = "contains a lone surrogate" if size is None else f"has {size} bytes"
        limit = "" if size is None else f", more than {MAX_ID_BYTES}"
        return QueryError("subscription.id", f"the id {_shown(name)} {problem}{limit}")
    if not query.isascii() and utf8_size(query) is None:
        message = "the query contains a lone surrogate"
        return QueryError("query.character", message, where=surrogate_position(query))
    return None


def _shown(name: str) -> str:
    """An id in a message: quoted, and shortened."""
    return ascii(name) if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]!a}…"


def choose_engine(engine: str | None, engines: Sequence[str]) -> str:
    """Validates the engine name; the first engine is the default, the last is the reference."""
    if engine is None:
        return engines[-1] if native is None else engines[0]
    if engine not in engines:
        raise error("engine.unknown", f"unknown engine `{engine}`")
    if engine != "reference" and native is None:
        raise error("native.missing", f"the engine `{engine}` is part of the native core")
    return engine


def choose_engine_for_index(engine: str | None, of_index: str, engines: Sequence[str]) -> str:
    """Validates the engine of a matcher; the native engines share one index format."""
    wanted = of_index if engine is None else choose_engine(engine, engines)
    if (wanted == "reference") != (of_index == "reference"):
        raise error(
            "engine.unknown", f"an index built for `{of_index}` cannot be used with `{wanted}`"
        )
    return wanted


def read_magic(path: str | PathLike[str], magics: Sequence[bytes]) -> bytes:
    """Returns the magic number that the file starts with."""
    with open(path, "rb") as file:
        start = file.read(max(map(len, magics)))
    for magic in magics:
        if start.startswith(magic):
            return magic
    raise error("index.not-an-index", f"{path} is not an index file of this kind of query")


def _unknown(subscription: str) -> PenstockError:
    return error("subscription.unknown", f"unknown subscription `{subscription}`")
