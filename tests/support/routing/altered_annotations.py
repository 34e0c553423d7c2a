"""Annotations as they must not change a delivery: damaged, stale or forged."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from penstock.documents import Document, Limits
from penstock.routing import AnnotationKind, Router
from penstock.routing.annotation_header import attestation, encode_header, limits_digest
from penstock.routing.annotations import SECTIONS
from penstock.routing.reference.match_list import MatchList, encode_match_list
from penstock.routing.sent_annotations import joined


def damaged_bytes(chance: random.Random, encoded: bytes) -> bytes:
    """Truncates, extends or changes some bytes."""
    if not encoded or chance.random() < 0.3:
        return encoded[: chance.randrange(len(encoded) + 1)]
    if chance.random() < 0.2:
        return encoded + chance.randbytes(3)
    damaged = bytearray(encoded)
    damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


class AnnouncedSet(NamedTuple):
    """What a router announces to a neighbour, as a header of that neighbour names it."""

    digest: bytes
    size: int
    """Number of announced patterns."""


class AnnouncedSets:
    """The sets that routers announced to their neighbours, from the first to the current one."""

    def __init__(self) -> None:
        self._history: dict[tuple[str, str], list[AnnouncedSet]] = defaultdict(list)

    def observe(self, router: Router) -> None:
        """Records what a router announces now."""
        for name, neighbour in router._neighbours.items():
            history = self._history[router.name, name]
            if not history or history[-1].digest != neighbour.announced_digest:
                size = len(neighbour.announced.patterns)
                history.append(AnnouncedSet(neighbour.announced_digest, size))

    def current(self, receiver: str, sender: str) -> AnnouncedSet:
        """What the receiver of a header announces to its sender."""
        return self._history[receiver, sender][-1]

    def outdated(self, receiver: str, sender: str) -> list[AnnouncedSet]:
        """What the receiver announced before. A set that was announced again is not outdated."""
        history = self._history[receiver, sender]
        return [each for each in history if each.digest != history[-1].digest]


def forged_annotations(chance: random.Random, document: Document, announced: AnnouncedSet) -> bytes:
    """A well-formed header for this document and set, which states what its author likes.

    Whoever announces this set and trusts the author acts on it.
    """
    attested = attestation(document.identity, len(document.content), limits_digest(Limits()))
    return encode_header(attested, announced.digest, _forged_sections(chance, announced.size))


def _forged_sections(chance: random.Random, size: int) -> Mapping[int, bytes]:
    if chance.random() < 0.1:
        return {chance.randrange(1, 9): chance.randbytes(chance.randrange(12))}
    # A match list decides most. `NS` and `PS` decide together what they list and do not list.
    if chance.random() < 0.7:
        unknown_share = chance.choice((0.0, 0.0, 0.3))
        return {SECTIONS[AnnotationKind.MATCH_LIST]: _random_list(chance, size, unknown_share)}
    matched = _random_list(chance, size)
    return {
        SECTIONS[AnnotationKind.NEGATIVE_SUBSCRIPTIONS]: matched,
        SECTIONS[AnnotationKind.POSITIVE_SUBSCRIPTIONS]: joined(matched, b""),
    }


def _random_list(chance: random.Random, size: int, unknown_share: float = 0.0) -> bytes:
    """A match list of nothing, of everything, or of any patterns of a set."""
    matched_share = chance.choice((0.0, 0.5, 1.0))
    matched: list[int] = []
    unknown: list[int] = []
    for rank in range(size):
        if chance.random() < unknown_share:
            unknown.append(rank)
        elif chance.random() < matched_share:
            matched.append(rank)
    return encode_match_list(MatchList(matched, unknown))
