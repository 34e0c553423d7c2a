"""The route table of the native core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from penstock.matching import Matches
from penstock.native import native
from penstock.routing.annotation_header import MATCH_LIST_SECTION
from penstock.routing.limits import ANNOTATION_BYTES_MAX
from penstock.routing.local_subscription import LocalSubscription
from penstock.routing.reference.route_table import ReferenceRouteTable
from penstock.routing.routes import (
    Container,
    DecidedRoutes,
    DigestedTarget,
    PassedOn,
    Routes,
    RouteTable,
)

OfHeader: TypeAlias = Callable[[int, bytes, bytes, bytes], DecidedRoutes | None]


def new_route_table() -> RouteTable:
    """An empty route table: the native one, or the reference where there is none."""
    return ReferenceRouteTable() if native is None else NativeRouteTable()


class NativeRouteTable:
    """See :class:`~penstock.routing.routes.RouteTable`."""

    def __init__(self) -> None:
        self._table = native.RouteTable(ANNOTATION_BYTES_MAX, MATCH_LIST_SECTION)
        # Without a Python call in between: most documents take nothing but this.
        self.pass_on: OfHeader = self._table.pass_on
        self.of_header: OfHeader = self._table.of_header

    def passed_on(self) -> PassedOn:
        """What :meth:`pass_on` decided so far."""
        return PassedOn(*self._table.passed_on())

    def add(self, group: int, targets: Iterable[DigestedTarget]) -> None:
        """Add targets of a group."""
        self._table.add(group, *_columns(targets))

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove targets."""
        self._table.remove(list(numbers))

    def announce(self, group: int, added: Iterable[bytes], removed: Iterable[bytes]) -> None:
        """Change an announced set."""
        self._table.announce(group, b"".join(added), b"".join(removed))

    def set_recipients(self, recipients: Mapping[int, LocalSubscription]) -> None:
        """State the subscriptions of local targets."""
        self._table.set_recipients(list(recipients), list(recipients.values()))

    def set_interest(self, group: int, digest: bytes) -> None:
        """State the digest of a neighbour's interest."""
        self._table.set_interest(group, digest)

    def must_be_prepared(self, group: int) -> bool:
        """Whether containers must be stated."""
        return self._table.must_be_prepared(group)

    def unannounced(self, group: int) -> Sequence[int]:
        """Targets whose own pattern is not announced."""
        return self._table.unannounced(group)

    def set_containers(self, group: int, containers: Iterable[tuple[int, Container]]) -> None:
        """State containers of targets that are not announced."""
        pairs = list(containers)
        numbers = [(number, container.is_equivalent) for number, container in pairs]
        digests = b"".join(container.digest for _, container in pairs)
        self._table.set_containers(group, numbers, digests)

    def of_matches(self, matches: Matches, source: int | None) -> Routes:
        """The routes of a document that was read."""
        set_aside = [int(id_) for id_ in matches.set_aside] if matches.set_aside else []
        handles = matches.handles
        if isinstance(handles, native.Handles):
            return Routes(*self._table.of_handles(handles, set_aside, source))
        # Ids are resolved already where the results of two readings were combined.
        numbers = list(map(int, matches.ids))
        return Routes(*self._table.of_numbers(numbers, set_aside, source))

    def of_numbers(self, matched: Iterable[int], source: int | None) -> Routes:
        """The routes of a document that exactly these targets match."""
        return Routes(*self._table.of_numbers(list(matched), [], source))

    def split_match_list(self, source: int, encoded: bytes) -> tuple[list[int], list[int]]:
        """Numbers of the targets that a match list proves to match, and of the undecided ones."""
        return self._table.split_match_list(source, encoded)

    def of_match_list(self, source: int, encoded: bytes) -> Routes:
        """The routes that a match list decides."""
        return Routes(*self._table.of_match_list(source, encoded))


def _columns(targets: Iterable[DigestedTarget]) -> tuple[list[int], bytes]:
    pairs = list(targets)
    return [number for number, _ in pairs], b"".join(digest for _, digest in pairs)
