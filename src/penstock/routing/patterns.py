"""Patterns: what members ask for and what an aggregate consists of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from penstock.errors import error
from penstock.language import (
    KeywordQuery,
    Query,
    contains,
    parse_keywords,
    parse_normal,
    to_text,
)
from penstock.language.keywords.query import PHRASE_SEPARATOR
from penstock.language.limits import MAX_QUERY_CHARACTERS
from penstock.matching.header_tests import header_test_error
from penstock.matching.query_indexes import NumberedQuery, QueryKind
from penstock.routing.keyword_relations import contains_keywords
from penstock.routing.limits import PATTERN_NODE_CHARACTERS
from penstock.routing.minimisation import minimise
from penstock.routing.pattern_labels import (
    Label,
    mentioned_labels,
    required_labels,
    tokens,
)
from penstock.routing.query_size import node_count

_ANYTHING: Final = parse_normal("/*")


@dataclass(frozen=True)
class Pattern:
    """A query in normal form, with the header fields that it requires.

    Two patterns are equal if they have the same key. Use :meth:`of_path` and :meth:`of_keywords`,
    which minimise the query.

    Examples
    --------
    >>> general = Pattern.of_path("/news//item")
    >>> special = Pattern.of_path("/news/item[@lang = 'en'][@lang]", where={"desk": "sport"})
    >>> general.contains(special), special.contains(general)
    (True, False)
    >>> str(special), special.size
    ("/news/item[@lang = 'en'] where desk=sport", 5)
    """

    query: Query | KeywordQuery
    where: frozenset[tuple[str, str]] = frozenset()

    text: str = field(init=False, repr=False, compare=False)
    """The text of the query; prefixes are those of :attr:`namespaces`."""
    namespaces: tuple[tuple[str, str], ...] = field(init=False, repr=False, compare=False)
    key: str = field(init=False, repr=False, compare=False)
    """Text, namespaces and header tests in a canonical form, which identifies the pattern."""
    size: int = field(init=False, repr=False, compare=False)
    """Number of pattern nodes: steps, value tests, words and header tests; more if the key is
    long."""

    def __post_init__(self) -> None:
        namespaces: tuple[tuple[str, str], ...] = ()
        if isinstance(self.query, KeywordQuery):
            text = str(self.query)
            size = sum(1 + word.count(PHRASE_SEPARATOR) for word in self.query.keywords)
        else:
            printed = to_text(self.query)
            text, namespaces = printed.text, tuple(sorted(printed.namespaces.items()))
            size = node_count(self.query)
        key = json.dumps([self.kind, text, namespaces, sorted(self.where)])
        values: dict[str, Any] = {
            "text": text,
            "namespaces": namespaces,
            "key": key,
            "size": max(size + len(self.where), len(key) // PATTERN_NODE_CHARACTERS),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_path(
        cls,
        query: str,
        *,
        namespaces: Mapping[str, str] | None = None,
        default_namespace: str | None = None,
        where: Mapping[str, str] | None = None,
    ) -> Pattern:
        """The pattern of an XPath query.

        Raises
        ------
        QueryError
            The query or the header tests are invalid.
        """
        parsed = parse_normal(query, namespaces=namespaces, default_namespace=default_namespace)
        return cls(minimise(parsed), _tests(where))

    @classmethod
    def of_keywords(cls, query: str, *, where: Mapping[str, str] | None = None) -> Pattern:
        """The pattern of a keyword query.

        Raises
        ------
        QueryError
            The query or the header tests are invalid.
        """
        return cls(minimise(parse_keywords(query)), _tests(where))

    @classmethod
    def from_key(cls, key: str) -> Pattern:
        """The pattern with this key.

        Examples
        --------
        >>> pattern = Pattern.of_path("//x:a", namespaces={"x": "urn:x"}, where={"lang": "en"})
        >>> Pattern.from_key(pattern.key) == pattern
        True
        """
        kind, text, namespaces, where = json.loads(key)
        tests = frozenset((name, value) for name, value in where)
        if kind == "keywords":
            return cls(parse_keywords(text), tests)
        return cls(parse_normal(text, namespaces=dict(namespaces)), tests)

    @property
    def kind(self) -> QueryKind:
        """The language of the query."""
        return "keywords" if isinstance(self.query, KeywordQuery) else "xpath"

    @cached_property
    def digest(self) -> bytes:
        """16 bytes that identify the pattern."""
        return digest_of_key(self.key)

    @cached_property
    def is_universal(self) -> bool:
        """Whether every well-formed document matches the query, whatever its header."""
        return isinstance(self.query, Query) and contains(self.query, _ANYTHING)

    @cached_property
    def required_labels(self) -> frozenset[Label]:
        """Labels that every pattern contained in this one mentions, if a document can match it."""
        return required_labels(self.query)

    @cached_property
    def mentioned_labels(self) -> frozenset[Label]:
        """All labels of the query."""
        return mentioned_labels(self.query)

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Steps or keywords, by which similar patterns are found."""
        return tokens(self.query)

    @property
    def is_storable(self) -> bool:
        """Whether the text is short enough for an index."""
        return self.kind == "keywords" or len(self.text) <= MAX_QUERY_CHARACTERS

    def numbered(self, number: int) -> NumberedQuery:
        """The query for an index of both kinds."""
        return (number, self.kind, self.text, self.namespaces, None, tuple(sorted(self.where)))

    def contains(self, other: Pattern) -> bool:
        """Whether each document that matches ``other`` matches this; ``False`` if not proved.

        No schema is used, because nobody checks on the way that documents are valid.
        """
        if not self.where <= other.where:
            return False
        if isinstance(other.query, Query):
            return isinstance(self.query, Query) and contains(self.query, other.query)
        if isinstance(self.query, KeywordQuery):
            return contains_keywords(self.query, other.query)
        return self.is_universal

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self.key == other.key

    def __str__(self) -> str:
        tests = " ".join(f"{name}={value}" for name, value in sorted(self.where))
        return f"{self.text} where {tests}" if tests else self.text


UNIVERSAL = Pattern(_ANYTHING)
"""``/*``, which every well-formed document matches: the last resort of an aggregate."""


def digest_of_key(key: str) -> bytes:
    """The digest of the pattern with this key."""
    return hashlib.blake2b(key.encode(), digest_size=16).digest()


def _tests(where: Mapping[str, str] | None) -> frozenset[tuple[str, str]]:
    problem = header_test_error(where or {})
    if problem is not None:
        raise error(problem.code, problem.message)
    return frozenset((where or {}).items())
