"""The router core: inputs in, messages and deliveries out. It does no I/O and has no clock."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Final, Self, get_args

from penstock.documents import Limits
from penstock.errors import PenstockError, error
from penstock.mediation.mapping_table import MappingTable
from penstock.routing.aggregate_delta import AggregateReplica
from penstock.routing.annotation_header import limits_digest
from penstock.routing.annotation_kinds import AnnotationOptions
from penstock.routing.announced_interest import AnnouncedInterest
from penstock.routing.document_dispatcher import DocumentDispatcher
from penstock.routing.document_mappings import DocumentMappings
from penstock.routing.document_router import DocumentRouter
from penstock.routing.duplicate_window import DuplicateWindow
from penstock.routing.forward_queue import ForwardQueue, OverflowPolicy
from penstock.routing.interest_announcer import InterestAnnouncer
from penstock.routing.interest_index import InterestIndex, pattern_targets
from penstock.routing.limits import AGGREGATE_NODES_MAX, RouterLimits
from penstock.routing.local_subscription import LocalSubscription
from penstock.routing.member_names import (
    interest_members,
    local_member,
    local_members,
    neighbour_members,
)
from penstock.routing.neighbour_annotator import NeighbourAnnotator
from penstock.routing.neighbour_patterns import parse_patterns
from penstock.routing.neighbour_router import UNKNOWN_INTEREST, NeighbourRouter
from penstock.routing.neighbour_sessions import NeighbourSessions
from penstock.routing.neighbour_transitions import NeighbourInput, NeighbourStatus
from penstock.routing.patterns import Pattern
from penstock.routing.router_inputs import (
    AddNeighbour,
    AnnotationsChanged,
    ChangeTimes,
    LinkDown,
    LinkReset,
    LinkUp,
    MappingsChanged,
    MessageReceived,
    Publish,
    Refuse,
    RouterInput,
    Subscribe,
    Unsubscribe,
)
from penstock.routing.router_messages import ForwardedDocument
from penstock.routing.router_outputs import Outputs, RouterOutput
from penstock.routing.router_state import STATE_VERSION, NeighbourState, RouterCounters, RouterState
from penstock.routing.routing_decision import RoutingDecider
from penstock.routing.state_changes import ChangeLog, StateChanges
from penstock.routing.stored_interest import Announcement, FixedInterest, StoredInterest
from penstock.routing.subscription_table import SubscriptionTable

NO_MAPPINGS = MappingTable({}, unknown_schema="as-is")
"""The mapping table of a router without a mediator."""

DEFAULT_ANNOTATIONS: Final = AnnotationOptions()
"""All kinds, as far as they save the neighbour more than they cost."""


def _not_measured() -> int:
    """The CPU time of a router that does not measure it."""
    return 0


class Router:
    """A broker in a fixed tree of routers.

    Parameters
    ----------
    name
        The router's name.
    neighbours
        Names of the routers that it has links to. The routers form a tree.
    limits
        Bounds of what the router keeps.
    document_limits
        Limits of reading and matching.
    aggregate_nodes
        Pattern nodes of the interest that is announced to each neighbour.
    overflow
        Which document is discarded when too many wait for a link.
    mappings
        The mappings of publishers' schemas; without any, documents are matched unchanged unless
        their header carries a mapping.
    annotations
        Which annotations are sent, used and verified. Deliveries do not depend on it.
    chance
        Selects the documents whose annotations are verified.
    cpu_time
        The CPU time that was used so far, in nanoseconds, such as :func:`time.thread_time_ns`. Only
        the choice of kinds of annotations depends on it. Without it, they are chosen by their
        bytes alone.
    ignores_duplicates
        Whether a document that arrives again is ignored. If not, the driver has to see to it.
    rechecking_subscribers
        Subscribers that match the documents they receive again. A subscription of theirs that is
        set aside counts as a match.

    Examples
    --------
    >>> from datetime import UTC
    >>> from penstock.documents import Document, Header
    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> router = Router(name="r1", neighbours=["r2"])
    >>> ada = LocalSubscription(id="s1", subscriber="ada", query="//flash")
    >>> router.receive(Subscribe(subscriptions=(ada,)), now)
    ()
    >>> document = Document(b"<news><flash/></news>", Header(publisher="wire", id="7"))
    >>> [type(output).__name__ for output in router.receive(Publish(document=document), now)]
    ['Deliveries']
    >>> [output.message for output in router.receive(LinkUp(neighbour="r2"), now)][0]
    DigestRequest(number=1, digest='')
    """

    def __init__(
        self,
        *,
        name: str,
        neighbours: Iterable[str] = (),
        limits: RouterLimits | None = None,
        document_limits: Limits | None = None,
        aggregate_nodes: int = AGGREGATE_NODES_MAX,
        overflow: OverflowPolicy = "discard-oldest",
        mappings: MappingTable = NO_MAPPINGS,
        annotations: AnnotationOptions = DEFAULT_ANNOTATIONS,
        chance: random.Random | None = None,
        cpu_time: Callable[[], int] = _not_measured,
        ignores_duplicates: bool = True,
        rechecking_subscribers: Collection[str] = (),
    ) -> None:
        states = tuple(NeighbourState(name=each) for each in neighbours)
        self._limits = limits or RouterLimits()
        self._document_limits = document_limits or Limits()
        self._aggregate_nodes = aggregate_nodes
        if overflow not in get_args(OverflowPolicy):
            raise error("routing.option", f"unknown overflow policy `{overflow}`")
        self._overflow = overflow
        self._annotations = annotations
        self._chance = chance or random.Random()
        self._cpu_time = cpu_time
        self._ignores_duplicates = ignores_duplicates
        self._rechecking_subscribers = rechecking_subscribers
        self._mappings = mappings
        self._load(RouterState(name=name, neighbours=states))

    @classmethod
    def restore(
        cls,
        state: RouterState,
        *,
        limits: RouterLimits | None = None,
        document_limits: Limits | None = None,
        aggregate_nodes: int = AGGREGATE_NODES_MAX,
        overflow: OverflowPolicy = "discard-oldest",
        mappings: MappingTable = NO_MAPPINGS,
        annotations: AnnotationOptions = DEFAULT_ANNOTATIONS,
        chance: random.Random | None = None,
        cpu_time: Callable[[], int] = _not_measured,
        ignores_duplicates: bool = True,
        rechecking_subscribers: Collection[str] = (),
        announced: Mapping[str, StoredInterest] | None = None,
    ) -> Self:
        """A router that continues from a state; all its links are down.

        Parameters
        ----------
        state
            The state; the other parameters are those of the class.
        announced
            The interests that were announced to each neighbour in this state. They are then not
            computed, and the router's subscriptions and neighbours cannot change.

        Raises
        ------
        RoutingError
            ``routing.state``
        """
        if state.version != STATE_VERSION:
            raise error("routing.state", f"version {state.version}, not {STATE_VERSION}")
        restored = cls(
            name=state.name,
            limits=limits,
            document_limits=document_limits,
            aggregate_nodes=aggregate_nodes,
            overflow=overflow,
            mappings=mappings,
            annotations=annotations,
            chance=chance,
            cpu_time=cpu_time,
            ignores_duplicates=ignores_duplicates,
            rechecking_subscribers=rechecking_subscribers,
        )
        try:
            restored._load(state, announced)
        except PenstockError as problem:
            raise error("routing.state", problem.message) from problem
        return restored

    def _load(
        self, state: RouterState, announced: Mapping[str, StoredInterest] | None = None
    ) -> None:
        names = [each.name for each in state.neighbours]
        if len({state.name, *names}) <= len(names) or not all([state.name, *names]):
            raise error("routing.option", "the names of a router and its neighbours are ambiguous")
        self.name = state.name
        self._window = DuplicateWindow(self._limits, state.remembered)
        self._counts = replace(state.counters)
        self._window.forgotten = state.counters.forgotten_publishers
        self._index = InterestIndex(self._document_limits, names)
        interests = {each.name: _stored_interest(each) for each in state.neighbours}
        self._subscriptions = SubscriptionTable(self._index)
        local = self._subscriptions.insert({each.id: each for each in state.subscriptions})
        for name, interest in interests.items():
            self._index.add(pattern_targets(name, interest.patterns))
        self._neighbours: dict[str, NeighbourRouter] = {}
        self._by_group: dict[int, NeighbourRouter] = {}
        """The neighbours by their group in the index."""
        self._changes: ChangeLog | None = None
        for each in state.neighbours:
            stored = None if announced is None else announced.get(each.name, StoredInterest())
            self._make_neighbour(each, interests, local, stored)
        self._announcer = InterestAnnouncer(self._index, self._neighbours)
        self._sessions = NeighbourSessions(self._index, self._announcer, self._counts, self._limits)
        self._decider = RoutingDecider(
            index=self._index,
            neighbours=self._neighbours,
            announcer=self._announcer,
            counts=self._counts,
            options=self._annotations,
            chance=self._chance,
            cpu_time=self._cpu_time,
        )
        dispatcher = DocumentDispatcher(
            subscriptions=self._subscriptions,
            neighbours=self._neighbours,
            by_group=self._by_group,
            counts=self._counts,
            rechecking_subscribers=self._rechecking_subscribers,
        )
        self._documents = DocumentRouter(
            index=self._index,
            decider=self._decider,
            dispatcher=dispatcher,
            mappings=DocumentMappings(self._mappings),
            window=self._window if self._ignores_duplicates else None,
            counts=self._counts,
            limits_digest=limits_digest(self._document_limits),
        )

    def _make_neighbour(
        self,
        state: NeighbourState,
        interests: Mapping[str, AggregateReplica],
        local: Mapping[str, Pattern],
        stored: StoredInterest | None = None,
    ) -> NeighbourRouter:
        is_unknown = state.patterns is None
        interest = interests[state.name]
        others = {name: each.patterns for name, each in interests.items() if name != state.name}
        members = interest_members(local, others)
        announced: Announcement
        if stored is None:
            announced = AnnouncedInterest(members, bound=self._aggregate_nodes)
        else:
            announced = FixedInterest(stored, members)
        self._index.announce(state.name, announced.digests, ())
        made = NeighbourRouter(
            name=state.name,
            group=self._index.group_of(state.name),
            status=NeighbourStatus.UNKNOWN if is_unknown else NeighbourStatus.DOWN,
            interest=interest,
            announced=announced,
            announced_digest=bytes.fromhex(announced.digest),
            queue=ForwardQueue(self._limits, self._overflow, state.waiting),
            requests=state.requests,
            annotator=NeighbourAnnotator(interest, self._annotations, self._cpu_time),
        )
        self._index.set_interest(made.name, made.interest_digest)
        self._neighbours[made.name] = self._by_group[made.group] = made
        return made

    def state(self) -> RouterState:
        """What :meth:`restore` needs."""
        return RouterState(
            name=self.name,
            subscriptions=tuple(self._subscriptions.by_id.values()),
            neighbours=tuple(each.state() for each in self._neighbours.values()),
            remembered=self._window.state(),
            counters=self.counters,
        )

    def record_changes(self) -> None:
        """Starts to record what changes, for :meth:`take_changes`."""
        self._changes = self._subscriptions.changes = ChangeLog()
        self._window.changes = self._changes.window
        for neighbour in self._neighbours.values():
            neighbour.record(self._changes)

    def take_changes(self) -> StateChanges:
        """What changed since :meth:`record_changes` or the last call. A store that applies it to
        the state of then has the state of now."""
        log = self._changes
        assert log is not None, "changes are not recorded"
        self.record_changes()
        values = {name: each.values() for name, each in self._neighbours.items()}
        return StateChanges(log=log, neighbours=values, counters=self.counters)

    @property
    def counters(self) -> RouterCounters:
        """What the router has done."""
        counts, passed_on = self._counts, self._index.passed_on()
        return replace(
            counts,
            matched=counts.matched + passed_on.documents - passed_on.unmatched,
            unmatched=counts.unmatched + passed_on.unmatched,
            false_forwards=counts.false_forwards + passed_on.unmatched,
            deliveries=counts.deliveries + passed_on.recipients,
            forwards=counts.forwards + passed_on.headers,
            not_read=counts.not_read + passed_on.documents,
            annotation_bytes=counts.annotation_bytes + passed_on.header_bytes,
            forgotten_publishers=self._window.forgotten,
        )

    @property
    def subscriptions(self) -> Mapping[str, LocalSubscription]:
        """The subscriptions of this router's own subscribers, by id: a view of the current ones."""
        return MappingProxyType(self._subscriptions.by_id)

    def expired(self, now: datetime) -> tuple[str, ...]:
        """Ids of subscriptions that no document can be delivered to any more."""
        return self._subscriptions.expired(now)

    def status(self, neighbour: str) -> NeighbourStatus:
        """What is known of a neighbour."""
        return self._neighbour(neighbour).status

    @property
    def neighbours(self) -> tuple[str, ...]:
        """Names of the neighbours."""
        return tuple(self._neighbours)

    def waiting(self, neighbour: str) -> int:
        """Number of documents that wait for the link to a neighbour."""
        return len(self._neighbour(neighbour).queue)

    def interest_of(self, neighbour: str) -> tuple[Pattern, ...]:
        """The patterns by which documents are forwarded to a neighbour."""
        return self._neighbour(neighbour).interest.patterns

    def receive(self, input_: RouterInput, now: datetime) -> tuple[RouterOutput, ...]:
        """Handle an input; returns what the driver has to do, in order.

        Raises
        ------
        RoutingError
            ``routing.neighbour`` or ``routing.link``: the driver is wrong. Nothing is changed.
        QueryError
            A local subscription is invalid, or its id is in use. Nothing is changed.
        UnknownSubscriptionError
            ``subscription.unknown``. Nothing is changed.
        """
        if type(input_) is MessageReceived:
            name, message = input_
            if type(message) is ForwardedDocument:
                source = self._neighbours.get(name) or self._neighbour(name)
                if not source.is_up:
                    source.next_status(NeighbourInput.DOCUMENT)  # raises
                return tuple(self._documents.forwarded(message, source, now))
        match input_:
            case AddNeighbour(neighbour=name):
                return tuple(self._add_neighbour(name))
            case LinkUp(neighbour=name, is_authenticated=is_authenticated):
                neighbour = self._neighbour(name)
                return tuple(self._sessions.link_up(neighbour, is_authenticated=is_authenticated))
            case LinkDown(neighbour=name):
                return tuple(self._sessions.link_down(self._neighbour(name)))
            case LinkReset(neighbour=name, unacknowledged=documents):
                return tuple(self._sessions.link_reset(self._neighbour(name), documents))
            case MessageReceived(neighbour=name, message=message):
                return tuple(self._sessions.receive(self._neighbour(name), message))
            case Subscribe(subscriptions=subscriptions):
                added = self._subscriptions.add(subscriptions)
                return tuple(self._announcer.announce(local_members(added), ()))
            case ChangeTimes(subscriptions=subscriptions):
                self._subscriptions.change_times(subscriptions)
                return ()
            case Unsubscribe(ids=ids):
                removed = self._subscriptions.remove(ids)
                return tuple(self._announcer.announce({}, map(local_member, removed)))
            case Publish(document=document):
                return tuple(self._documents.published(document, now))
            case Refuse(document=document, reason=reason):
                return tuple(self._documents.refused(document, reason))
            case MappingsChanged(table=table):
                self._documents.mappings = DocumentMappings(table)
                return ()
            case AnnotationsChanged(options=options):
                self._annotations = options
                self._decider.use(options)
                for neighbour in self._neighbours.values():
                    neighbour.use_annotations(options)
                return ()

    def _neighbour(self, name: str) -> NeighbourRouter:
        if name not in self._neighbours:
            raise error("routing.neighbour", f"`{self.name}` has no neighbour `{name}`")
        return self._neighbours[name]

    def _add_neighbour(self, name: str) -> Outputs:
        if name in self._neighbours or name in ("", self.name):
            raise error("routing.option", f"`{self.name}` cannot have a neighbour `{name}`")
        unknown = AggregateReplica(UNKNOWN_INTEREST)
        self._index.add_neighbour(name)
        self._index.add(pattern_targets(name, unknown.patterns))
        yield from self._announcer.announce(neighbour_members(name, unknown.patterns), ())
        interests = {each.name: each.interest for each in self._neighbours.values()}
        local = self._subscriptions.patterns()
        added = self._make_neighbour(NeighbourState(name=name), interests | {name: unknown}, local)
        if self._changes is not None:
            added.record(self._changes)


def _stored_interest(state: NeighbourState) -> AggregateReplica:
    if state.patterns is None:
        return AggregateReplica(UNKNOWN_INTEREST)
    return AggregateReplica(parse_patterns(state.patterns))
