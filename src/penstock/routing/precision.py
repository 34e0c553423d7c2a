"""Measures how many documents an aggregate forwards in vain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from penstock.routing.patterns import Pattern
from penstock.routing.synopsis import SampledDocuments


@dataclass(frozen=True, slots=True)
class Precision:
    """The documents that an aggregate forwards, and those that a member matches."""

    documents: int
    """Number of documents."""
    forwarded: int
    """Number of documents that match a pattern of the aggregate."""
    wanted: int
    """Number of documents that match a member; all of them are forwarded."""

    @property
    def false_forwards(self) -> float:
        """The share of the forwarded documents that no member matches."""
        return (self.forwarded - self.wanted) / self.forwarded if self.forwarded else 0.0


def measure_precision(
    aggregate: Iterable[Pattern], members: Iterable[Pattern], documents: SampledDocuments
) -> Precision:
    """Match documents against an aggregate and against its members.

    Use documents that are not in the sample on which the aggregate was estimated.

    Examples
    --------
    >>> members = [Pattern.of_path("/a/b"), Pattern.of_path("/a/c")]
    >>> documents = SampledDocuments.of([b"<a><b/></a>", b"<a><x/></a>", b"<y/>"])
    >>> precision = measure_precision([Pattern.of_path("/a/*")], members, documents)
    >>> precision, precision.false_forwards
    (Precision(documents=3, forwarded=2, wanted=1), 0.5)
    """
    forwarded = reduce(or_, documents.match_bits(set(aggregate)), 0)
    wanted = reduce(or_, documents.match_bits(set(members)), 0)
    assert wanted & ~forwarded == 0, "an aggregate contains its members"
    return Precision(len(documents), forwarded.bit_count(), wanted.bit_count())
