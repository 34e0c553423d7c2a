"""The sender's side of annotations: what is stated about a document to one neighbour."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from penstock.matching.label_paths import LabelPaths
from penstock.routing.absent_names import encode_absent_names
from penstock.routing.annotation_kinds import AnnotationKind
from penstock.routing.announced_paths import AnnouncedPaths
from penstock.routing.patterns import Pattern
from penstock.routing.reference.match_list import (
    MatchList,
    decode_match_list,
    encode_match_list,
)
from penstock.routing.skeleton import encode_skeleton
from penstock.routing.vocabulary import Vocabulary

DATA_KINDS: Final = frozenset(
    {
        AnnotationKind.POSITIVE_SUBSCRIPTIONS,
        AnnotationKind.POSITIVE_DATA,
        AnnotationKind.NEGATIVE_DATA,
        AnnotationKind.SKELETON,
    }
)
"""The kinds that are derived from the label paths of a document."""


class AnnotationMaker:
    """Makes the annotations for a neighbour from what was learnt of a document.

    Parameters
    ----------
    announced
        The patterns of the neighbour's interest, in the order of their digests.
    """

    def __init__(self, announced: Sequence[Pattern]) -> None:
        self._count = len(announced)
        self._vocabulary = Vocabulary(announced)
        self._paths = AnnouncedPaths(self._vocabulary, announced)

    def parts(
        self,
        kinds: Collection[AnnotationKind],
        match_list: bytes,
        label_paths: LabelPaths,
    ) -> Iterator[tuple[AnnotationKind, bytes]]:
        """The annotations that are derived from label paths, by kind, the most useful first."""
        listed = decode_match_list(match_list, self._count)
        classified = self._vocabulary.classify(label_paths)
        if AnnotationKind.POSITIVE_DATA in kinds:
            possible = sorted((*listed.matched, *listed.unknown))
            offsets = self._paths.encode_last_offsets(classified, possible)
            yield AnnotationKind.POSITIVE_DATA, offsets
        if AnnotationKind.SKELETON in kinds:
            skeleton = encode_skeleton(classified)
            if skeleton is not None:
                yield AnnotationKind.SKELETON, skeleton
        if AnnotationKind.POSITIVE_SUBSCRIPTIONS in kinds:
            bindings = self._paths.encode_bindings(classified, listed.matched)
            matched = encode_match_list(MatchList(listed.matched))
            yield AnnotationKind.POSITIVE_SUBSCRIPTIONS, joined(matched, bindings)
        if AnnotationKind.NEGATIVE_DATA in kinds:
            yield AnnotationKind.NEGATIVE_DATA, encode_absent_names(classified)


def possible_list(match_list: bytes) -> bytes:
    """A list of all patterns that are not known not to match."""
    listed = decode_match_list(match_list, 1 << 32)
    return encode_match_list(MatchList(sorted((*listed.matched, *listed.unknown))))


_SIZE_BYTES: Final = 4


def joined(first: bytes, second: bytes) -> bytes:
    """Two byte strings in one."""
    return len(first).to_bytes(_SIZE_BYTES, "little") + first + second


def divided(both: bytes) -> tuple[bytes, bytes]:
    """The two byte strings of :func:`joined`.

    Raises
    ------
    ValueError
        They are malformed.
    """
    end = _SIZE_BYTES + int.from_bytes(both[:_SIZE_BYTES], "little")
    if not _SIZE_BYTES <= end <= len(both):
        raise ValueError("malformed annotation")
    return both[_SIZE_BYTES:end], both[end:]
