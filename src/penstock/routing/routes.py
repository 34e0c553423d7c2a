"""Where a document goes, and what decides it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from penstock.matching import Matches
from penstock.routing.local_subscription import LocalSubscription

LOCAL: Final = 0
"""The group of the router's own subscriptions; each neighbour is another group."""

DIGEST_BYTES: Final = 16
"""Size of a pattern's digest."""

DigestedTarget: TypeAlias = tuple[int, bytes]
"""A target's number in the index, and the digest of its pattern."""


class Container(NamedTuple):
    """The announced pattern that contains a target whose own pattern is not announced."""

    digest: bytes
    is_equivalent: bool
    """Whether the target matches the same documents, so that the announced pattern decides it."""


class Routes(NamedTuple):
    """Where a document goes."""

    local: Sequence[int]
    """Numbers of the router's own subscriptions that match, ascending."""

    forwards: Sequence[tuple[int, bytes]]
    """Groups of the neighbours with a pattern that matches or is unknown, ascending, and the match
    list for each."""

    unknown: Sequence[int]
    """Numbers of the router's own subscriptions of which it is unknown whether they match."""

    is_undecided: bool
    """Whether the match list leaves something to be decided; then the rest is not complete."""


DecidedRoutes: TypeAlias = tuple[tuple[LocalSubscription, ...], Sequence[tuple[int, bytes]]]
"""The router's own subscriptions that match, in the order of their numbers, and the groups of
neighbours with a pattern that matches, ascending; for each neighbour a header of annotations that
has a match list alone."""


class PassedOn(NamedTuple):
    """What :meth:`RouteTable.pass_on` decided so far."""

    documents: int = 0
    unmatched: int = 0
    """Documents without recipients and headers."""

    recipients: int = 0
    headers: int = 0
    header_bytes: int = 0


class RouteTable(Protocol):
    """The targets of a router: its own subscriptions and the patterns of its neighbours.

    The patterns of a neighbour are ranked by digest, and so are those that are announced to it. A
    match list names patterns by their rank.
    """

    def add(self, group: int, targets: Iterable[DigestedTarget]) -> None:
        """Add targets of a group."""

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove targets."""

    def announce(self, group: int, added: Iterable[bytes], removed: Iterable[bytes]) -> None:
        """Change the set that is announced to a neighbour, by the digests of its patterns."""

    def set_recipients(self, recipients: Mapping[int, LocalSubscription]) -> None:
        """State the subscriptions of local targets, by number."""

    def set_interest(self, group: int, digest: bytes) -> None:
        """State the digest of a neighbour's interest, to which annotations for it refer."""

    def must_be_prepared(self, group: int) -> bool:
        """Whether targets or the announced set changed since :meth:`set_containers`."""

    def unannounced(self, group: int) -> Sequence[int]:
        """Numbers of the targets whose own pattern is not announced to a neighbour."""

    def set_containers(self, group: int, containers: Iterable[tuple[int, Container]]) -> None:
        """State which announced patterns contain the targets that are not announced."""

    def of_matches(self, matches: Matches, source: int | None) -> Routes:
        """The routes of a document that was read; nothing returns to the group ``source``."""

    def of_numbers(self, matched: Iterable[int], source: int | None) -> Routes:
        """The routes of a document that exactly these targets match."""

    def split_match_list(self, source: int, encoded: bytes) -> tuple[list[int], list[int]]:
        """Numbers of the targets that a match list proves to match, and of the undecided ones.

        Raises
        ------
        ValueError
            The list is malformed.
        """

    def of_header(
        self, source: int, encoded: bytes, attested: bytes, announced: bytes, /
    ) -> DecidedRoutes | None:
        """Where a document goes if the match list of its header decides it.

        ``None`` if the header has no list, if the list leaves something to be decided, or if
        :meth:`must_be_prepared`.

        Parameters
        ----------
        source
            The group of the neighbour that sent the header.
        encoded
            The header.
        attested, announced
            What it has to state: see :func:`~penstock.routing.annotation_header.decode_header`.

        Raises
        ------
        ValueError
            The header does not apply, or it or its list is malformed.
        """

    def pass_on(
        self, source: int, encoded: bytes, attested: bytes, announced: bytes, /
    ) -> DecidedRoutes | None:
        """The same as :meth:`of_header` for a document that is passed on accordingly: it is
        counted. Python's integers are objects, and each would be read from memory again."""

    def passed_on(self) -> PassedOn:
        """What :meth:`pass_on` decided so far."""

    def of_match_list(self, source: int, encoded: bytes) -> Routes:
        """The routes that a match list of a neighbour decides.

        Raises
        ------
        ValueError
            The list is malformed.
        """
