"""The main paths of an announced set, evaluated on the label paths of documents.

The *main path* of a pattern is its path without predicates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from penstock.language import Query
from penstock.language.relations.native_pairs import compiled
from penstock.language.xpath.ast import Axis, Kind, is_positional
from penstock.routing.limits import BINDINGS_MAX, BINDINGS_OF_PATTERN_MAX
from penstock.routing.patterns import Pattern
from penstock.routing.vocabulary import Vocabulary

if TYPE_CHECKING:
    from penstock._native import ClassifiedPaths


class AnnouncedPaths:
    """The main paths of an announced set, by rank: what the sender of annotations keeps.

    Parameters
    ----------
    vocabulary
        That of the announced set.
    announced
        The patterns of the announced set. The *rank* of a pattern is its position here.
    """

    def __init__(self, vocabulary: Vocabulary, announced: Sequence[Pattern]) -> None:
        queries = [pattern.query for pattern in announced]
        self._paths = vocabulary.core.main_paths(
            [compiled(query) if isinstance(query, Query) else None for query in queries]
        )
        self._bindable = {
            rank: needs_single_path(query)
            for rank, query in enumerate(queries)
            if isinstance(query, Query) and is_bindable(query)
        }

    def encode_last_offsets(self, paths: ClassifiedPaths, ranks: Iterable[int]) -> bytes:
        """For each of these ranks, the last offset at which a node ends that it could select.

        That is the greatest end of the elements that its main path selects, or of the elements that
        have the attributes or texts. Ranks of keywords are omitted.
        """
        return self._paths.encode_last_offsets(paths, list(ranks))

    def encode_bindings(self, paths: ClassifiedPaths, matched: Iterable[int]) -> bytes:
        """Label paths that the main paths of these ranks select; each rank must have matched."""
        requests = [
            (rank, self._bindable[rank]) for rank in sorted(matched) if rank in self._bindable
        ]
        return self._paths.encode_bindings(paths, requests, BINDINGS_OF_PATTERN_MAX, BINDINGS_MAX)


def is_bindable(query: Query) -> bool:
    """Whether a label path of a document instantiates the query to a more specific one.

    The query has one branch with a wildcard or ``//``, and no predicates
    but on the last step. Those are not positional: a position among all siblings is not one among
    those of a name.
    """
    if len(query.branches) != 1:
        return False
    (path,) = query.branches
    *before, last = path.steps
    return (
        any(
            step.axis is Axis.DESCENDANT or None in (step.test.uri, step.test.local)
            for step in (*before, last)
        )
        and not any(step.predicates for step in before)
        and not any(map(is_positional, last.predicates))
        # The element that has the text is not known.
        and not (last.kind is Kind.TEXT and last.axis is Axis.DESCENDANT)
    )


def needs_single_path(query: Query) -> bool:
    """Whether a label path instantiates the query only if no other one does.

    Which of several label paths has a node that satisfies the predicates, or a text, is not known.
    """
    last = query.branches[0].steps[-1]
    return bool(last.predicates) or last.kind is Kind.TEXT
