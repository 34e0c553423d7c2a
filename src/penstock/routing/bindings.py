"""Bindings: label paths that instantiate matched patterns, and thereby prove others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from penstock.documents import Header
from penstock.language import Query, contains
from penstock.language.xpath.ast import Axis, Kind, Path
from penstock.matching.header_tests import HeaderFields, failed_tests, fields_of
from penstock.routing.announced_paths import is_bindable
from penstock.routing.last_offsets import AnnouncedUnder
from penstock.routing.limits import BINDING_PROOFS_MAX, BINDINGS_MAX
from penstock.routing.patterns import Pattern
from penstock.routing.skeleton import Rows
from penstock.routing.vocabulary import NameClass, Vocabulary, linear_path


class BindingFilter:
    """Proves patterns by the bindings of the announced patterns that they are under.

    The label path of a binding instantiates the announced pattern to a query that holds in the
    document. A pattern that provably contains that query matches the document. Names are those of
    classes; a pattern with names outside of the vocabulary is never proved.

    Parameters
    ----------
    vocabulary, announced
        As for :class:`~penstock.routing.announced_paths.AnnouncedPaths`.
    rows
        The patterns by row, each with its announced pattern.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        announced: Sequence[Pattern],
        rows: Mapping[int, AnnouncedUnder],
    ) -> None:
        self._vocabulary = vocabulary
        self._announced = announced
        self._by_rank: dict[int, list[tuple[int, Query, HeaderFields]]] = defaultdict(list)
        for row, each in sorted(rows.items()):
            if isinstance(each.pattern.query, Query):
                query, is_exact = vocabulary.translate(each.pattern.query)
                if is_exact:
                    where = dict(each.pattern.where)
                    self._by_rank[each.rank].append((row, query, where))

    def proved(self, encoded: bytes, rows: Collection[int], header: Header | HeaderFields) -> Rows:
        """Those of the rows that match a document with these bindings and this header, ascending.

        At most :data:`~penstock.routing.limits.BINDING_PROOFS_MAX` proofs are tried.

        Raises
        ------
        ValueError
            The bindings are malformed.
        """
        decoded = self._vocabulary.core.decode_bindings(encoded, len(self._announced), BINDINGS_MAX)
        if decoded is None:
            raise ValueError("malformed bindings")
        fields = fields_of(header)
        wanted, proved = set(rows), set[int]()
        proofs = 0
        for rank, classes in decoded:
            instance = self._instance(rank, classes)
            for row, query, where in self._by_rank.get(rank, ()):
                if row not in wanted or row in proved or failed_tests(where, fields):
                    continue
                if proofs == BINDING_PROOFS_MAX:
                    break
                proofs += 1
                if contains(query, instance):
                    proved.add(row)
        return np.array(sorted(proved), dtype=np.int64)

    def _instance(self, rank: int, classes: Sequence[NameClass]) -> Query:
        """The announced pattern with its main path replaced by a label path."""
        query = self._announced[rank].query
        if not isinstance(query, Query) or not is_bindable(query):
            raise ValueError("malformed bindings: the pattern has none")
        (branch,) = self._vocabulary.translate(query)[0].branches
        last = branch.steps[-1]
        path = linear_path(classes, self._vocabulary).steps
        if last.kind is Kind.ELEMENT:
            steps = (*path[:-1], replace(path[-1], predicates=last.predicates))
        else:
            steps = (*path, replace(last, axis=Axis.CHILD))
        return Query((Path(steps),))
