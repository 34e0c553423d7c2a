"""Last offsets: where the reader of a document may stop, because nothing new can match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from penstock.language import Query, covers
from penstock.language.xpath.prefix_decision import is_decided_in_prefix
from penstock.native import native
from penstock.routing.patterns import Pattern


class AnnouncedUnder(NamedTuple):
    """A pattern, and the pattern of the announced set that contains it."""

    rank: int
    """The position of the announced pattern in the announced set."""

    announced: Pattern
    pattern: Pattern


def decode_last_offsets(encoded: bytes, announced_count: int) -> dict[int, int]:
    """The last offset of each rank.

    Raises
    ------
    ValueError
        The encoding is malformed, or a rank is not below ``announced_count``.
    """
    pairs = native.decode_last_offsets(encoded, announced_count)
    if pairs is None:
        raise ValueError("malformed last offsets")
    return dict(pairs)


class PrefixStops:
    """Finds the offset at which all remaining patterns are decided.

    The last offset of an announced pattern bounds the nodes that a pattern under it can select, if
    it provably covers the pattern. If what a document contains up to there also decides the
    pattern, then the beginning of the document, with all open elements closed, matches the pattern
    exactly if the document does.

    Parameters
    ----------
    rows
        The patterns by row, each with its announced pattern.
    """

    def __init__(self, rows: Mapping[int, AnnouncedUnder]) -> None:
        self._ranks: dict[int, int] = {}
        covered: dict[tuple[Pattern, Pattern], bool] = {}
        for row, each in rows.items():
            pair = each.announced, each.pattern
            if pair not in covered:
                covered[pair] = _is_bounded(*pair)
            if covered[pair]:
                self._ranks[row] = each.rank

    def stop_at(self, rows: Iterable[int], last_offsets: Mapping[int, int]) -> int | None:
        """The offset at which reading may stop if these rows are undecided.

        Pass it to :meth:`~penstock.matching.Matcher.match_prefix`. ``None`` if the document must be
        read to its end, for all that is known.
        """
        offset = 0
        for row in rows:
            last = last_offsets.get(self._ranks.get(row, -1))
            if last is None:
                return None
            offset = max(offset, last)
        return offset


def _is_bounded(announced: Pattern, pattern: Pattern) -> bool:
    general, special = announced.query, pattern.query
    return (
        isinstance(general, Query)
        and isinstance(special, Query)
        and is_decided_in_prefix(special)
        and covers(general, special)
    )
