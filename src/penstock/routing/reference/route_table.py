"""The route table by definition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from penstock.matching import Matches
from penstock.routing.annotation_header import MATCH_LIST_SECTION, decode_header
from penstock.routing.local_subscription import LocalSubscription
from penstock.routing.reference.annotation_header import encode_header
from penstock.routing.reference.match_list import (
    MatchList,
    decode_match_list,
    encode_match_list,
)
from penstock.routing.routes import (
    DIGEST_BYTES,
    LOCAL,
    Container,
    DecidedRoutes,
    DigestedTarget,
    PassedOn,
    Routes,
)


class ReferenceRouteTable:
    """See :class:`~penstock.routing.routes.RouteTable`."""

    def __init__(self) -> None:
        self._targets: dict[int, tuple[int, bytes]] = {}
        self._announced: dict[int, set[bytes]] = defaultdict(set)
        self._containers: dict[int, dict[int, Container]] = {}
        self._interests: dict[int, bytes] = {}
        self._recipients: dict[int, LocalSubscription] = {}
        self._passed_on = PassedOn()

    def add(self, group: int, targets: Iterable[DigestedTarget]) -> None:
        """Add targets of a group."""
        self._containers.clear()
        self._targets |= {number: (group, digest) for number, digest in targets}

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove targets."""
        self._containers.clear()
        for number in numbers:
            self._targets.pop(number, None)
            self._recipients.pop(number, None)

    def announce(self, group: int, added: Iterable[bytes], removed: Iterable[bytes]) -> None:
        """Change an announced set."""
        self._containers.pop(group, None)
        self._announced[group] -= set(removed)
        self._announced[group] |= set(added)

    def set_recipients(self, recipients: Mapping[int, LocalSubscription]) -> None:
        """State the subscriptions of local targets."""
        self._recipients |= recipients

    def set_interest(self, group: int, digest: bytes) -> None:
        """State the digest of a neighbour's interest."""
        self._interests[group] = digest

    def must_be_prepared(self, group: int) -> bool:
        """Whether containers must be stated."""
        return group not in self._containers

    def unannounced(self, group: int) -> Sequence[int]:
        """Targets whose own pattern is not announced."""
        announced = self._announced[group]
        return [
            number
            for number, (own_group, digest) in self._targets.items()
            if own_group != group and digest not in announced
        ]

    def set_containers(self, group: int, containers: Iterable[tuple[int, Container]]) -> None:
        """State containers of targets that are not announced."""
        self._containers[group] = dict(containers)

    def of_matches(self, matches: Matches, source: int | None) -> Routes:
        """The routes of a document that was read."""
        return self._routes(map(int, matches.ids), map(int, matches.set_aside), source)

    def of_numbers(self, matched: Iterable[int], source: int | None) -> Routes:
        """The routes of a document that exactly these targets match."""
        return self._routes(matched, (), source)

    def split_match_list(self, source: int, encoded: bytes) -> tuple[list[int], list[int]]:
        """Numbers of the targets that a match list proves to match, and of the undecided ones."""
        announced = sorted(self._announced[source])
        match_list = decode_match_list(encoded, len(announced))
        matched = {announced[rank] for rank in match_list.matched}
        unknown = {announced[rank] for rank in match_list.unknown}
        containers = self._containers.get(source, {})
        decided: list[int] = []
        undecided: list[int] = []
        for number, (group, digest) in self._targets.items():
            if group == source:
                continue
            container = containers.get(number)
            if digest in self._announced[source]:
                container = Container(digest, is_equivalent=True)
            if container is None or container.digest not in self._announced[source]:
                undecided.append(number)
            elif container.is_equivalent and container.digest in matched:
                decided.append(number)
            elif container.digest in matched | unknown:
                undecided.append(number)
        return decided, undecided

    def of_header(
        self, source: int, encoded: bytes, attested: bytes, announced: bytes, /
    ) -> DecidedRoutes | None:
        """Where a document goes if the match list of its header decides it."""
        match_list = decode_header(encoded, attested, announced).get(MATCH_LIST_SECTION)
        if match_list is None or self.must_be_prepared(source):
            return None
        routes = self.of_match_list(source, match_list)
        if routes.is_undecided:
            return None
        headers = [
            (group, encode_header(attested, self._interest(group), {MATCH_LIST_SECTION: each}))
            for group, each in routes.forwards
        ]
        return tuple(self._recipients[number] for number in routes.local), headers

    def pass_on(
        self, source: int, encoded: bytes, attested: bytes, announced: bytes, /
    ) -> DecidedRoutes | None:
        """The same for a document that is passed on accordingly: it is counted."""
        decided = self.of_header(source, encoded, attested, announced)
        if decided is not None:
            recipients, headers = decided
            before = self._passed_on
            self._passed_on = PassedOn(
                documents=before.documents + 1,
                unmatched=before.unmatched + (not recipients and not headers),
                recipients=before.recipients + len(recipients),
                headers=before.headers + len(headers),
                header_bytes=before.header_bytes + sum(len(header) for _, header in headers),
            )
        return decided

    def passed_on(self) -> PassedOn:
        """What :meth:`pass_on` decided so far."""
        return self._passed_on

    def _interest(self, group: int) -> bytes:
        return self._interests.get(group, bytes(DIGEST_BYTES))

    def of_match_list(self, source: int, encoded: bytes) -> Routes:
        """The routes that a match list decides."""
        decided, undecided = self.split_match_list(source, encoded)
        is_undecided = bool(undecided or decode_match_list(encoded, 1 << 32).unknown)
        return self._routes(decided, (), source)._replace(is_undecided=is_undecided)

    def _routes(self, matched: Iterable[int], unknown: Iterable[int], source: int | None) -> Routes:
        local: tuple[list[int], list[int]] = ([], [])
        ranks: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for part, numbers in enumerate((matched, unknown)):
            for number in numbers:
                group, digest = self._targets[number]
                if group == LOCAL:
                    local[part].append(number)
                elif group != source:
                    ranks[group][part].append(self._rank(group, digest))
        return Routes(
            local=sorted(local[0]),
            forwards=[
                (group, encode_match_list(MatchList(*ranks[group]))) for group in sorted(ranks)
            ],
            unknown=sorted(local[1]),
            is_undecided=False,
        )

    def _rank(self, group: int, digest: bytes) -> int:
        return sum(
            own_group == group and other < digest for own_group, other in self._targets.values()
        )
