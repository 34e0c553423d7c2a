"""Skeletons: the label paths of a document, which decide many patterns without reading it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.documents import Header
from penstock.language import Query, to_text
from penstock.language.xpath.relaxation import is_decided_by_skeleton, relaxed
from penstock.matching import SubscriptionIndex
from penstock.matching.header_tests import HeaderFields, fields_of
from penstock.routing.patterns import UNIVERSAL, Pattern
from penstock.routing.vocabulary import Vocabulary

if TYPE_CHECKING:
    from penstock._native import ClassifiedPaths

Rows: TypeAlias = npt.NDArray[np.int64]
"""Rows, ascending."""

_NO_ROWS: Rows = np.array([], dtype=np.int64)


@dataclass(frozen=True)
class SkeletonDecision:
    """What a skeleton decides; each row is in one of the arrays."""

    matched: Rows
    """Rows whose pattern matches the document."""

    undecided: Rows
    """Rows whose pattern may match the document."""

    rows: Rows = field(repr=False)
    """All rows."""

    @cached_property
    def unmatched(self) -> Rows:
        """Rows whose pattern does not match the document."""
        possible = np.concatenate([self.matched, self.undecided])
        return np.setdiff1d(self.rows, possible, assume_unique=True)


def encode_skeleton(paths: ClassifiedPaths) -> bytes | None:
    """The skeleton of a document; ``None`` if it has too many elements or too deep ones."""
    return paths.encode_skeleton()


class SkeletonFilter:
    """Decides patterns by the skeletons of documents.

    A linear path to elements or attributes is decided, other paths are excluded or undecided, and
    keywords are undecided. Header tests are evaluated in any case.

    Parameters
    ----------
    vocabulary
        That of the announced set, by which skeletons are encoded. Patterns may mention other names.
    rows
        The patterns to decide, by row.

    Examples
    --------
    >>> from penstock import SubscriptionIndex
    >>> patterns = [Pattern.of_path("//item/title"), Pattern.of_path("//item[price > 3]")]
    >>> vocabulary = Vocabulary(patterns)
    >>> document = b"<news><item><title/></item></news>"
    >>> matches = SubscriptionIndex().matcher().match(document, label_paths=True)
    >>> encoded = encode_skeleton(vocabulary.classify(matches.label_paths))
    >>> len(encoded)
    6
    >>> decision = SkeletonFilter(vocabulary, dict(enumerate(patterns))).decide(encoded, {})
    >>> decision.matched.tolist(), decision.unmatched.tolist(), decision.undecided.tolist()
    ([0], [1], [])
    """

    def __init__(self, vocabulary: Vocabulary, rows: Mapping[int, Pattern]) -> None:
        self._vocabulary = vocabulary
        self._rows: Rows = np.array(sorted(rows), dtype=np.int64)
        by_query: dict[_SkeletonQuery, list[int]] = defaultdict(list)
        for row in self._rows.tolist():
            by_query[_skeleton_query(vocabulary, rows[row])].append(row)
        index, refused = _index_of(list(by_query))
        self._queries = [
            (np.array(own, dtype=np.int64), query.is_exact and number not in refused)
            for number, (query, own) in enumerate(by_query.items())
        ]
        self._matcher = index.matcher().engine

    def decide(self, encoded: bytes, header: Header | HeaderFields) -> SkeletonDecision:
        """Decide the patterns on a document, by its encoded skeleton and its header.

        Raises
        ------
        ValueError
            The skeleton is malformed.
        """
        document = self._vocabulary.core.decode_skeleton(encoded)
        if document is None:
            raise ValueError("malformed skeleton")
        outcome = self._matcher.match(document, fields_of(header))
        if outcome.error is not None:
            raise ValueError("malformed skeleton") from outcome.error
        matched: list[Rows] = []
        undecided: list[Rows] = []
        for id_ in outcome.handles.ids():
            rows, is_exact = self._queries[int(id_)]
            (matched if is_exact else undecided).append(rows)
        undecided += [self._queries[int(id_)][0] for id_ in outcome.set_aside]
        return SkeletonDecision(_joined(matched), _joined(undecided), self._rows)


class _SkeletonQuery(NamedTuple):
    """What a skeleton must match if the document matches a pattern."""

    text: str
    namespaces: tuple[tuple[str, str], ...]
    where: frozenset[tuple[str, str]]
    is_exact: bool
    """Whether the skeleton matches only if the document matches the pattern."""


def _skeleton_query(vocabulary: Vocabulary, pattern: Pattern) -> _SkeletonQuery:
    if isinstance(pattern.query, Query):
        translated, is_exact = vocabulary.translate(relaxed(pattern.query))
        printed = to_text(translated)
        return _SkeletonQuery(
            printed.text,
            tuple(printed.namespaces.items()),
            pattern.where,
            is_exact and is_decided_by_skeleton(pattern.query),
        )
    return _SkeletonQuery(UNIVERSAL.text, (), pattern.where, is_exact=False)


def _index_of(queries: Sequence[_SkeletonQuery]) -> tuple[SubscriptionIndex, set[int]]:
    """An index of the queries, by position, and those that are too large for an index.

    These match every skeleton.
    """
    numbers: dict[tuple[tuple[str, str], ...], list[int]] = defaultdict(list)
    for number, query in enumerate(queries):
        numbers[query.namespaces].append(number)
    index = SubscriptionIndex()
    refused: set[int] = set()
    for namespaces, own in numbers.items():
        errors = index.add_many(
            [str(number) for number in own],
            [queries[number].text for number in own],
            namespaces=dict(namespaces),
            where=[dict(queries[number].where) for number in own],
        )
        refused |= set(map(int, errors))
    for number in refused:
        index.add(str(number), UNIVERSAL.text, where=dict(queries[number].where))
    return index, refused


def _joined(parts: list[Rows]) -> Rows:
    return np.sort(np.concatenate(parts)) if parts else _NO_ROWS
