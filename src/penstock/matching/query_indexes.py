"""The indexes of an index version: one for each kind of query, under common numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Final, Literal, TypeAlias

from penstock.documents import Limits
from penstock.errors import QueryError
from penstock.language.keywords.tokenizer_options import TokenizerOptions
from penstock.matching import KeywordIndex, Matcher, SubscriptionIndex, combine_matchers
from penstock.matching.header_tests import HeaderFields

QueryKind: TypeAlias = Literal["xpath", "keywords"]
"""The language of a subscription's query."""

QUERY_KINDS: Final[tuple[QueryKind, ...]] = ("xpath", "keywords")

AnyIndex: TypeAlias = SubscriptionIndex | KeywordIndex

Bindings: TypeAlias = tuple[tuple[str, str], ...]
"""Namespace prefixes and their URIs."""

NumberedQuery: TypeAlias = tuple[int, QueryKind, str, Bindings, str | None, Bindings]
"""A query's number in the indexes, its kind, text, namespaces, default namespace, and header fields
with the values that it requires. A plain tuple, because there may be a million of them."""

_Group: TypeAlias = tuple[list[str], list[str], list[HeaderFields]]
"""Ids, texts, and the header tests of each, if any."""


class QueryIndexes:
    """Queries of both kinds, by number. Matchers are snapshots and are not affected by changes.

    ``tokenizer`` is the one of keyword queries, also if there are none yet.
    """

    def __init__(
        self, tokenizer: TokenizerOptions, by_kind: Mapping[QueryKind, AnyIndex] | None = None
    ) -> None:
        self._tokenizer = tokenizer
        self._by_kind: dict[QueryKind, AnyIndex] = dict(by_kind or {})

    def add(self, queries: Iterable[NumberedQuery]) -> dict[int, QueryError]:
        """Add queries; returns the errors of those that are refused, by number."""
        groups: dict[tuple[QueryKind, Bindings, str | None, bool], _Group] = {}
        for number, kind, query, namespaces, default_namespace, where in queries:
            # Queries with the same namespaces are added in one call.
            context = (kind, namespaces, default_namespace, bool(where))
            if context not in groups:
                groups[context] = ([], [], [])
            ids, texts, tests = groups[context]
            ids.append(str(number))
            texts.append(query)
            if where:
                tests.append(dict(where))
        refused: dict[int, QueryError] = {}
        for (kind, namespaces, default_namespace, _), group in groups.items():
            errors = self._add_group(kind, namespaces, default_namespace, group)
            refused.update({int(number): reason for number, reason in errors.items()})
        return refused

    def _add_group(
        self,
        kind: QueryKind,
        namespaces: Bindings,
        default_namespace: str | None,
        group: _Group,
    ) -> Mapping[str, QueryError]:
        ids, texts, where = group
        if kind not in self._by_kind:
            is_xpath = kind == "xpath"
            self._by_kind[kind] = (
                SubscriptionIndex() if is_xpath else KeywordIndex(tokenizer=self._tokenizer)
            )
        index = self._by_kind[kind]
        if isinstance(index, KeywordIndex):
            return index.add_many(ids, texts, where=where)
        return index.add_many(
            ids,
            texts,
            namespaces=dict(namespaces),
            default_namespace=default_namespace,
            where=where,
        )

    def discard(self, number: int) -> None:
        """Remove a query, if present."""
        for index in self._by_kind.values():
            if str(number) in index:
                index.remove(str(number))

    def save(self, kind: QueryKind, path: str | PathLike[str]) -> None:
        """Write the index of one query kind to a new file."""
        self._by_kind[kind].save(path)

    def matcher(self, limits: Limits) -> Matcher:
        """A snapshot that matches the queries of both kinds in one pass over a document.

        Without queries it still checks that documents are well-formed.
        """
        matchers = {kind: index.matcher(limits=limits) for kind, index in self._by_kind.items()}
        if len(matchers) == len(QUERY_KINDS):
            return combine_matchers(matchers["xpath"], matchers["keywords"])
        for only in matchers.values():
            return only
        return SubscriptionIndex().matcher(limits=limits)


def load_index(kind: QueryKind, path: str | PathLike[str]) -> AnyIndex:
    """Load a saved index, memory-mapped.

    Raises
    ------
    IndexFileError
        ``index.not-an-index``, ``index.damaged``, ``index.too-new`` or ``index.too-old``.
    """
    return KeywordIndex.load(path) if kind == "keywords" else SubscriptionIndex.load(path)
