"""Matches a document against local subscriptions and all neighbours' patterns in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from penstock.documents import Document, Fragment, Limits
from penstock.errors import DocumentError
from penstock.language import TokenizerOptions
from penstock.matching.label_paths import LabelPaths
from penstock.matching.query_indexes import NumberedQuery, QueryIndexes
from penstock.mediation import Mapping as SchemaMapping
from penstock.mediation import MediatedMatcher
from penstock.routing.limits import PREPARED_TARGETS_PER_DOCUMENT
from penstock.routing.local_subscription import LocalSubscription
from penstock.routing.native_route_table import new_route_table
from penstock.routing.patterns import Pattern
from penstock.routing.routes import (
    DIGEST_BYTES,
    LOCAL,
    Container,
    DecidedRoutes,
    PassedOn,
    Routes,
)

NOT_ANNOUNCED = bytes(DIGEST_BYTES)
"""Stands for the digest of a subscription whose own query is not announced."""


class LocalTarget(NamedTuple):
    """A subscription of this router."""

    id: str


class NeighbourTarget(NamedTuple):
    """A pattern of a neighbour's interest."""

    neighbour: str
    digest: bytes


Target: TypeAlias = LocalTarget | NeighbourTarget


ContainerOf: TypeAlias = Callable[[Target], Container]
"""Finds the announced pattern that contains the pattern of a target."""


class TargetQuery(NamedTuple):
    """The query of a target."""

    numbered: Callable[[int], NumberedQuery]
    digest: bytes
    """Digest of the pattern that matches the same documents, or :data:`NOT_ANNOUNCED`."""

    subscription: LocalSubscription | None = None
    """The subscription, if the target is local."""


def pattern_targets(neighbour: str, patterns: Iterable[Pattern]) -> dict[Target, TargetQuery]:
    """The patterns of a neighbour's interest as targets."""
    return {
        NeighbourTarget(neighbour, pattern.digest): TargetQuery(pattern.numbered, pattern.digest)
        for pattern in patterns
    }


class Targets(NamedTuple):
    """Where a document goes."""

    subscriptions: tuple[LocalSubscription, ...] = ()
    """Local subscriptions that match, in the order in which they were added."""

    forwards: tuple[tuple[str, bytes], ...] = ()
    """Neighbours with a pattern that matches or was set aside, in order of their names, and the
    match list for each."""

    set_aside: tuple[str, ...] = ()
    """Local subscriptions of which it is unknown whether they match."""

    is_exact: bool = True
    """Whether it is known of all queries whether they match, also of those of neighbours."""

    refusal: DocumentError | None = None
    """Why the document is refused; then it goes nowhere."""

    label_paths: LabelPaths | None = None
    """The label paths of the document, if they were requested when it was read."""


class InterestIndex:
    """The queries of local subscriptions and of neighbours, under common numbers."""

    def __init__(self, limits: Limits, neighbours: Iterable[str] = ()) -> None:
        self._limits = limits
        self._indexes = QueryIndexes(TokenizerOptions())
        self._targets: dict[int, Target] = {}
        self._numbers: dict[Target, int] = {}
        self._local: dict[int, LocalSubscription] = {}
        self._next = 0
        self._matcher: MediatedMatcher | None = None
        self.names = ("", *sorted(neighbours))
        """Names of the neighbours by group."""
        self._groups = {name: group for group, name in enumerate(self.names) if group != LOCAL}
        self._routes = new_route_table()
        self.documents_since_change = 0
        """Documents that were routed since targets or announced sets changed."""
        self.version = 0
        """Changes with the targets and the announced sets."""

    def add_neighbour(self, name: str) -> None:
        """Add a neighbour, which has no patterns yet."""
        self._groups[name] = len(self.names)
        self.names = (*self.names, name)

    def add(self, queries: Mapping[Target, TargetQuery]) -> None:
        """Add queries, all or none.

        Raises
        ------
        QueryError
            A query is invalid.
        """
        if not queries:
            return
        first = self._next
        self._next += len(queries)
        numbers = dict(enumerate(queries, start=first))
        refused = self._indexes.add(
            query.numbered(number) for number, query in enumerate(queries.values(), start=first)
        )
        self._changed()
        if refused:
            for number in numbers:
                self._indexes.discard(number)
            raise refused[min(refused)]
        self._numbers |= {target: number for number, target in numbers.items()}
        self._targets |= numbers
        by_group: dict[int, list[tuple[int, bytes]]] = {}
        local: dict[int, LocalSubscription] = {}
        for number, (target, query) in enumerate(queries.items(), start=first):
            if query.subscription is not None:
                local[number] = query.subscription
            by_group.setdefault(self._group_of(target), []).append((number, query.digest))
        for group, digested in by_group.items():
            self._routes.add(group, digested)
        self._local |= local
        self._routes.set_recipients(local)

    def discard(self, targets: Iterable[Target]) -> None:
        """Remove queries."""
        numbers = [self._numbers.pop(target) for target in targets]
        for number in numbers:
            del self._targets[number]
            self._local.pop(number, None)
            self._indexes.discard(number)
        if numbers:
            self._routes.remove(numbers)
            self._changed()

    def announce(self, neighbour: str, added: Iterable[bytes], removed: Iterable[bytes]) -> None:
        """Change the digests of the patterns that are announced to a neighbour."""
        self._routes.announce(self._groups[neighbour], added, removed)
        self.documents_since_change = 0
        self.version += 1

    def set_interest(self, neighbour: str, digest: bytes) -> None:
        """State the digest of a neighbour's interest, to which annotations for it refer."""
        self._routes.set_interest(self._groups[neighbour], digest)

    def match(
        self,
        document: Document,
        mapping: SchemaMapping | None,
        source: str | None = None,
        *,
        label_paths: bool = False,
    ) -> Targets:
        """Read a document once, and return where it goes; nothing returns to the source.

        With a mapping, XPath queries refer to the rewritten document.
        """
        self.documents_since_change += 1
        matches = self._snapshot().match(document, mapping, label_paths=label_paths)
        if matches.errors:
            return Targets(refusal=matches.errors[0])
        group = None if source is None else self._groups[source]
        targets = self._targets_of(self._routes.of_matches(matches, group))
        if matches.set_aside:
            targets = targets._replace(is_exact=False)
        return targets._replace(label_paths=matches.label_paths) if label_paths else targets

    def match_prefix(self, document: Document, stop_at: int) -> tuple[set[int], int] | None:
        """The numbers of the targets that match the beginning of a document, and its size.

        ``None`` if it cannot be read, or the work budget is spent.
        """
        matches = self._snapshot().match_prefix(document, stop_at=stop_at)
        if matches.errors or matches.set_aside:
            return None
        return set(map(int, matches.ids)), matches.counters.work.bytes_read

    def group_of(self, neighbour: str) -> int:
        """The number under which :meth:`decide` knows a neighbour."""
        return self._groups[neighbour]

    def decide(
        self, source: int, header: bytes, attested: bytes, announced: bytes, /
    ) -> DecidedRoutes | None:
        """Where a document goes by a neighbour's match list, without reading it.

        Parameters
        ----------
        source
            The neighbour's group.
        header
            The header of annotations, with the list of the patterns that match the document.
        attested
            What the header has to attest.
        announced
            Digest of the set that is announced to the source.

        Returns
        -------
        DecidedRoutes | None
            ``None`` if there is no list, if it leaves something to be decided, or if targets must
            be located first: see :meth:`prepare`.

        Raises
        ------
        ValueError
            The header does not apply, or it or its list is malformed.
        """
        return self._routes.of_header(source, header, attested, announced)

    def pass_on(
        self, source: int, header: bytes, attested: bytes, announced: bytes, /
    ) -> DecidedRoutes | None:
        """As :meth:`decide`, for a document that is passed on accordingly: it is counted."""
        return self._routes.pass_on(source, header, attested, announced)

    def passed_on(self) -> PassedOn:
        """What :meth:`pass_on` decided so far."""
        return self._routes.passed_on()

    def split(self, match_list: bytes, source: str) -> tuple[set[int], set[int]]:
        """The targets that a match list proves to match, and those that it leaves undecided.

        By number. Targets must be located: see :meth:`prepare`.

        Raises
        ------
        ValueError
            The list is malformed.
        """
        matched, undecided = self._routes.split_match_list(self._groups[source], match_list)
        return set(matched), set(undecided)

    def targets_outside(self, neighbour: str) -> dict[int, Target]:
        """All targets but the patterns of a neighbour, by number."""
        return {
            number: target
            for number, target in self._targets.items()
            if not (isinstance(target, NeighbourTarget) and target.neighbour == neighbour)
        }

    def unannounced(self, neighbour: str) -> dict[int, Target]:
        """The targets whose own pattern is not announced to a neighbour, by number."""
        numbers = self._routes.unannounced(self._groups[neighbour])
        return {number: self._targets[number] for number in numbers}

    def routes_of(self, matched: Iterable[int], source: str) -> Targets:
        """Where a document goes that exactly these targets match."""
        return self._targets_of(self._routes.of_numbers(matched, self._groups[source]))

    def must_be_prepared(self, source: str) -> bool:
        """Whether :meth:`prepare` must be called before match lists of a neighbour are used."""
        return self._routes.must_be_prepared(self._groups[source])

    def prepare(self, source: str, container_of: ContainerOf) -> bool:
        """Locate the targets whose own pattern is not announced to a neighbour.

        Returns
        -------
        bool
            ``False`` while so few documents arrived since the last change that reading them costs
            less.
        """
        self.documents_since_change += 1
        group = self._groups[source]
        if not self._routes.must_be_prepared(group):
            return True
        unannounced = self._routes.unannounced(group)
        if len(unannounced) > PREPARED_TARGETS_PER_DOCUMENT * self.documents_since_change:
            return False
        targets = self._targets
        self._routes.set_containers(
            group, ((number, container_of(targets[number])) for number in unannounced)
        )
        return True

    def _targets_of(self, routes: Routes) -> Targets:
        names, local = self.names, self._local
        return Targets(
            tuple(map(local.__getitem__, routes.local)),
            # A document that a neighbour may want is forwarded: nothing is lost to the work budget.
            tuple([(names[group], encoded) for group, encoded in routes.forwards]),
            tuple([local[number].id for number in routes.unknown]),
        )

    def select(
        self, document: Document, mapping: SchemaMapping | None, ids: Sequence[str]
    ) -> Mapping[str, Sequence[Fragment]]:
        """The fragments that local subscriptions select in a document that matched them.

        Omits subscriptions whose fragments cannot be computed within the limits.
        """
        numbers = {str(self._numbers[LocalTarget(id_)]): id_ for id_ in ids}
        try:
            selected = self._snapshot().select(document, mapping, list(numbers))
        except DocumentError:  # computing fragments can exceed limits that matching does not
            return {}
        return {numbers[number]: fragments for number, fragments in selected.items()}

    def _group_of(self, target: Target) -> int:
        return self._groups[target.neighbour] if isinstance(target, NeighbourTarget) else LOCAL

    def _changed(self) -> None:
        self._matcher = None
        self.documents_since_change = 0
        self.version += 1

    def _snapshot(self) -> MediatedMatcher:
        if self._matcher is None:
            self._matcher = MediatedMatcher(self._indexes.matcher(self._limits))
        return self._matcher
