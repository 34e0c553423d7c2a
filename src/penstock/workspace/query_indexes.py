"""The indexes of a version's rows: one for each kind of query that it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Final, Literal, TypeAlias

from penstock.documents import Limits
from penstock.errors import QueryError
from penstock.matching import KeywordIndex, Matcher, SubscriptionIndex, combine_matchers

Kind: TypeAlias = Literal["xpath", "keywords"]
"""How a subscription asks: in XPath, or by keywords."""

KINDS: Final[tuple[Kind, ...]] = ("xpath", "keywords")

AnyIndex: TypeAlias = SubscriptionIndex | KeywordIndex


Bindings: TypeAlias = tuple[tuple[str, str], ...]
"""Prefixes with their URIs."""

Wanted: TypeAlias = tuple[int, Kind, str, Bindings, str | None]
"""The number by which the indexes are to know a query, its kind, the query, its namespaces and its
default namespace. Plain tuples: there may be a million."""


class Indexes:
    """Queries of both kinds by number. Matchers are snapshots: changing it is safe meanwhile."""

    def __init__(self, by_kind: Mapping[Kind, AnyIndex] | None = None) -> None:
        self._by_kind: dict[Kind, AnyIndex] = dict(by_kind or {})

    def add(self, wanted: Iterable[Wanted]) -> dict[int, QueryError]:
        """Add what can be added; the errors of the rest by number."""
        groups: dict[tuple[Kind, Bindings, str | None], tuple[list[str], list[str]]] = {}
        for number, kind, query, namespaces, default_namespace in wanted:
            # What shares its namespaces is added at once.
            context = (kind, namespaces, default_namespace)
            if context not in groups:
                groups[context] = ([], [])
            ids, queries = groups[context]
            ids.append(str(number))
            queries.append(query)
        refused: dict[int, QueryError] = {}
        for context, (ids, queries) in groups.items():
            errors = self._add_group(*context, ids, queries)
            refused.update({int(number): reason for number, reason in errors.items()})
        return refused

    def _add_group(
        self,
        kind: Kind,
        namespaces: Bindings,
        default_namespace: str | None,
        ids: Sequence[str],
        queries: Sequence[str],
    ) -> Mapping[str, QueryError]:
        if kind not in self._by_kind:
            self._by_kind[kind] = KeywordIndex() if kind == "keywords" else SubscriptionIndex()
        index = self._by_kind[kind]
        if isinstance(index, KeywordIndex):
            return index.add_many(ids, queries)
        return index.add_many(
            ids, queries, namespaces=dict(namespaces), default_namespace=default_namespace
        )

    def discard(self, number: int) -> None:
        """Remove a query, if it is there."""
        for index in self._by_kind.values():
            if str(number) in index:
                index.remove(str(number))

    def save(self, kind: Kind, path: str | PathLike[str]) -> None:
        """Write the index of a kind to a new file."""
        self._by_kind[kind].save(path)

    def matcher(self, limits: Limits) -> Matcher:
        """A snapshot that finds the queries of both kinds in one reading of a document.

        Without any query it still tells which documents are sound.
        """
        made = {kind: index.matcher(limits=limits) for kind, index in self._by_kind.items()}
        if len(made) == len(KINDS):
            return combine_matchers(made["xpath"], made["keywords"])
        for only in made.values():
            return only
        return SubscriptionIndex().matcher(limits=limits)


def load_index(kind: Kind, path: str | PathLike[str]) -> AnyIndex:
    """The saved index of a kind, memory-mapped.

    Raises
    ------
    IndexFileError
        ``index.not-an-index``, ``index.damaged``, ``index.too-new`` or ``index.too-old``.
    """
    return KeywordIndex.load(path) if kind == "keywords" else SubscriptionIndex.load(path)
