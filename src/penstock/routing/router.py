"""The router core: inputs in, messages and deliveries out. It does no I/O and has no clock."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Final, Self, get_args

from penstock.documents import DeadLetter, Document, Fragment, Limits
from penstock.documents.failure_report import PROCESS_EXITS, internal_error
from penstock.errors import DocumentError, PenstockError, QueryError, error
from penstock.matching.label_paths import LabelPaths
from penstock.mediation import Mapping as SchemaMapping
from penstock.mediation.mapping_table import MappingTable
from penstock.native import native
from penstock.routing.aggregate_delta import AggregateReplica
from penstock.routing.annotation_decision import (
    AnnotatedDecision,
    AnnotatedDocument,
    AnnotationDecider,
)
from penstock.routing.annotation_gain import AnnotationGain
from penstock.routing.annotation_header import (
    DOCUMENT_DIGEST,
    attestation,
    limits_digest,
    match_list_of,
)
from penstock.routing.annotation_kinds import (
    MATCH_LIST_ALONE,
    NO_KINDS,
    AnnotationKind,
    AnnotationOptions,
)
from penstock.routing.annotations import DocumentAnnotations, fits_document
from penstock.routing.announced_interest import AnnouncedInterest
from penstock.routing.document_mappings import DocumentMappings
from penstock.routing.duplicate_window import DuplicateWindow
from penstock.routing.forward_queue import ForwardQueue, OverflowPolicy
from penstock.routing.interest_index import (
    NOT_ANNOUNCED,
    InterestIndex,
    LocalTarget,
    NeighbourTarget,
    Target,
    TargetQuery,
    Targets,
)
from penstock.routing.limits import (
    AGGREGATE_NODES_MAX,
    SET_ASIDE_NAMED_MAX,
    SYNOPSIS_FIRST_DOCUMENTS,
    SYNOPSIS_GENERATION_DOCUMENTS,
    RouterLimits,
)
from penstock.routing.local_subscription import LocalSubscription
from penstock.routing.member_names import interest_members, local_member, neighbour_members
from penstock.routing.neighbour_patterns import parse_patterns
from penstock.routing.neighbour_router import UNKNOWN_INTEREST, NeighbourRouter
from penstock.routing.neighbour_transitions import (
    REQUEST_IS_REPEATED,
    REQUEST_IS_SENT,
    NeighbourInput,
    NeighbourStatus,
)
from penstock.routing.patterns import UNIVERSAL, Pattern, digest_of_key
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
from penstock.routing.router_messages import (
    AnnotationReport,
    DigestConfirmation,
    DigestRequest,
    ForwardedDocument,
    RouterMessage,
    SubscriptionDelta,
    SubscriptionSnapshot,
    forwarded_document,
)
from penstock.routing.router_outputs import (
    NONE_SELECTED,
    Deliveries,
    DocumentRefused,
    ForwardDiscarded,
    MessageRefused,
    NeighbourDistrusted,
    RouterOutput,
    SelectedFragments,
    SendMessage,
    SubscriptionsSetAside,
    delivered_to,
    sent_to,
)
from penstock.routing.router_state import (
    STATE_VERSION,
    NeighbourState,
    RouterCounters,
    RouterState,
)
from penstock.routing.routes import DecidedRoutes
from penstock.routing.sent_annotations import DATA_KINDS, possible_list
from penstock.routing.state_changes import (
    ChangeLog,
    NeighbourChanges,
    NeighbourValues,
    StateChanges,
)
from penstock.routing.stored_interest import Announcement, FixedInterest, StoredInterest
from penstock.routing.synopsis import Synopsis

Outputs = Iterator[RouterOutput]

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
    >>> from penstock.documents import Header
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
        self._use(annotations)
        self._limits_digest = limits_digest(self._document_limits)
        self._chance = chance or random.Random()
        self._cpu_time = cpu_time
        self._ignores_duplicates = ignores_duplicates
        self._rechecking_subscribers = frozenset(rechecking_subscribers)
        self._mappings = DocumentMappings(mappings)
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
        self._subscriptions = {each.id: each for each in state.subscriptions}
        self._conditional = {each.id for each in state.subscriptions if not each.is_unconditional}
        self._window = DuplicateWindow(self._limits, state.remembered)
        self._counts = replace(state.counters)
        self._window.forgotten = state.counters.forgotten_publishers
        self._index = InterestIndex(self._document_limits, names)
        self._decider = AnnotationDecider(
            self._index, self._cpu_time, is_adaptive=self._annotations.is_adaptive
        )
        self._synopsis = Synopsis()
        interests = {each.name: _stored_interest(each) for each in state.neighbours}
        local = {each.id: each.pattern() for each in state.subscriptions}
        self._index.add(
            {
                LocalTarget(each.id): _target_query(each, local[each.id])
                for each in self._subscriptions.values()
            }
        )
        for name, interest in interests.items():
            self._index.add(_targets(name, interest.patterns))
        self._neighbours: dict[str, NeighbourRouter] = {}
        self._changes: ChangeLog | None = None
        for each in state.neighbours:
            stored = None if announced is None else announced.get(each.name, StoredInterest())
            self._neighbours[each.name] = self._make_neighbour(each, interests, local, stored)
        self._by_group = {each.group: each for each in self._neighbours.values()}
        """The neighbours by their group in the index."""

    def _make_neighbour(
        self,
        state: NeighbourState,
        interests: Mapping[str, AggregateReplica],
        local: Mapping[str, Pattern],
        stored: StoredInterest | None = None,
    ) -> NeighbourRouter:
        is_unknown = state.patterns is None
        others = {name: each.patterns for name, each in interests.items() if name != state.name}
        members = interest_members(local, others)
        announced: Announcement
        if stored is None:
            announced = AnnouncedInterest(members, bound=self._aggregate_nodes)
        else:
            announced = FixedInterest(stored, members)
        self._index.announce(state.name, announced.digests, ())
        interest_digest = bytes.fromhex(interests[state.name].digest)
        self._index.set_interest(state.name, interest_digest)
        return NeighbourRouter(
            name=state.name,
            group=self._index.group_of(state.name),
            status=NeighbourStatus.UNKNOWN if is_unknown else NeighbourStatus.DOWN,
            interest=interests[state.name],
            interest_digest=interest_digest,
            announced=announced,
            announced_digest=bytes.fromhex(announced.digest),
            queue=ForwardQueue(self._limits, self._overflow, state.waiting),
            requests=state.requests,
            gain=AnnotationGain(self._annotations),
        )

    def state(self) -> RouterState:
        """What :meth:`restore` needs."""
        return RouterState(
            name=self.name,
            subscriptions=tuple(self._subscriptions.values()),
            neighbours=tuple(
                NeighbourState(
                    name=each.name,
                    patterns=(
                        tuple(pattern.key for pattern in each.interest.patterns)
                        if each.is_known
                        else None
                    ),
                    waiting=each.queue.documents,
                    requests=each.requests,
                )
                for each in self._neighbours.values()
            ),
            remembered=self._window.state(),
            counters=self.counters,
        )

    def record_changes(self) -> None:
        """Starts to record what changes, for :meth:`take_changes`."""
        self._changes = ChangeLog()
        self._window.changes = self._changes.window
        for name, neighbour in self._neighbours.items():
            self._changes.neighbours[name] = NeighbourChanges()
            neighbour.queue.changes = self._changes.neighbours[name].waiting

    def take_changes(self) -> StateChanges:
        """What changed since :meth:`record_changes` or the last call. A store that applies it to
        the state of then has the state of now."""
        log = self._changes
        assert log is not None, "changes are not recorded"
        self.record_changes()
        values = {
            name: NeighbourValues(is_known=each.is_known, requests=each.requests)
            for name, each in self._neighbours.items()
        }
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
        return MappingProxyType(self._subscriptions)

    def expired(self, now: datetime) -> tuple[str, ...]:
        """Ids of subscriptions that no document can be delivered to any more."""
        conditional = (self._subscriptions[id_] for id_ in self._conditional)
        return tuple([each.id for each in conditional if each.has_expired(now)])

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
                return tuple(self._forwarded(message, source, now))
        match input_:
            case AddNeighbour(neighbour=name):
                return tuple(self._add_neighbour(name))
            case LinkUp(neighbour=name, is_authenticated=is_authenticated):
                neighbour = self._neighbour(name)
                neighbour.authenticate(is_authenticated=is_authenticated)
                return tuple(self._link_up(neighbour))
            case LinkDown(neighbour=name):
                return tuple(self._advance(self._neighbour(name), NeighbourInput.LINK_DOWN))
            case LinkReset(neighbour=name, unacknowledged=documents):
                return tuple(self._link_reset(self._neighbour(name), documents))
            case MessageReceived(neighbour=name, message=message):
                return tuple(self._message(self._neighbour(name), message))
            case Subscribe(subscriptions=subscriptions):
                return tuple(self._subscribe(subscriptions))
            case ChangeTimes(subscriptions=subscriptions):
                self._change_times(subscriptions)
                return ()
            case Unsubscribe(ids=ids):
                return tuple(self._unsubscribe(ids))
            case Publish(document=document):
                return tuple(self._published(document, now))
            case Refuse(document=document, reason=reason):
                if self._is_duplicate(document, self._attest(document)):
                    return ()
                return (self._dead(document, reason),)
            case MappingsChanged(table=table):
                self._mappings = DocumentMappings(table)
                return ()
            case AnnotationsChanged(options=options):
                self._use(options)
                self._decider.is_adaptive = options.is_adaptive
                for neighbour in self._neighbours.values():
                    neighbour.gain = AnnotationGain(options)
                return ()

    def _use(self, options: AnnotationOptions) -> None:
        self._annotations = options
        self._decides_unread = options.uses_received and not options.verified_share

    def _neighbour(self, name: str) -> NeighbourRouter:
        if name not in self._neighbours:
            raise error("routing.neighbour", f"`{self.name}` has no neighbour `{name}`")
        return self._neighbours[name]

    # Links

    def _add_neighbour(self, name: str) -> Outputs:
        if name in self._neighbours or name in ("", self.name):
            raise error("routing.option", f"`{self.name}` cannot have a neighbour `{name}`")
        unknown = AggregateReplica(UNKNOWN_INTEREST)
        self._index.add_neighbour(name)
        self._index.add(_targets(name, unknown.patterns))
        yield from self._announce(neighbour_members(name, unknown.patterns), ())
        interests = {each.name: each.interest for each in self._neighbours.values()}
        local = {id_: each.pattern() for id_, each in self._subscriptions.items()}
        added = self._make_neighbour(NeighbourState(name=name), interests | {name: unknown}, local)
        self._neighbours[name] = self._by_group[added.group] = added
        if self._changes is not None:
            changes = self._changes.neighbours[name] = NeighbourChanges()
            added.queue.changes = changes.waiting

    def _advance(self, neighbour: NeighbourRouter, input_: NeighbourInput) -> Outputs:
        """Applies the transition table; requests the digest where the table demands it."""
        previous = neighbour.status
        neighbour.enter(neighbour.next_status(input_))
        if neighbour.status in REQUEST_IS_SENT and (
            neighbour.status is not previous or input_ in REQUEST_IS_REPEATED
        ):
            digest = neighbour.interest.digest if neighbour.is_known else ""
            neighbour.requests += 1
            request = DigestRequest(number=neighbour.requests, digest=digest)
            yield SendMessage(neighbour=neighbour.name, message=request)

    def _link_up(self, neighbour: NeighbourRouter) -> Outputs:
        yield from self._advance(neighbour, NeighbourInput.LINK_UP)
        for document in neighbour.queue.drain():
            yield SendMessage(neighbour=neighbour.name, message=document)

    def _link_reset(
        self, neighbour: NeighbourRouter, documents: tuple[ForwardedDocument, ...]
    ) -> Outputs:
        yield from self._advance(neighbour, NeighbourInput.LINK_RESET)
        yield from self._discarded(neighbour, neighbour.queue.prepend(documents))

    def _discarded(
        self, neighbour: NeighbourRouter, documents: tuple[ForwardedDocument, ...]
    ) -> Outputs:
        for document in documents:
            self._counts.discarded += 1
            yield ForwardDiscarded(
                neighbour=neighbour.name,
                document=document.document,
                code="routing.queue-full",
                message=f"too many documents wait for the link to `{neighbour.name}`",
            )

    # Interest

    def _message(self, neighbour: NeighbourRouter, message: RouterMessage) -> Outputs:
        match message:
            case AnnotationReport() as report:
                # Like a document, it changes nothing in what is known of the neighbour's interest.
                neighbour.next_status(NeighbourInput.DOCUMENT)
                neighbour.gain.reported(report)
            case DigestRequest() as request:
                yield from self._advance(neighbour, NeighbourInput.DIGEST_REQUEST)
                answer = neighbour.announced.answer(request)
                yield SendMessage(neighbour=neighbour.name, message=answer)
            case DigestConfirmation(number=number) | SubscriptionSnapshot(number=number) if (
                number != neighbour.requests
            ):
                yield from self._advance(neighbour, NeighbourInput.LATE_ANSWER)
            case DigestConfirmation(digest=digest):
                is_same = neighbour.is_known and digest == neighbour.interest.digest
                yield from self._advance(
                    neighbour,
                    NeighbourInput.CONFIRMATION if is_same else NeighbourInput.BAD_CONFIRMATION,
                )
            case SubscriptionDelta() as delta:
                yield from self._delta(neighbour, delta)
            case SubscriptionSnapshot() as snapshot:
                yield from self._snapshot(neighbour, snapshot)

    def _delta(self, neighbour: NeighbourRouter, delta: SubscriptionDelta) -> Outputs:
        was_in_step = neighbour.status is NeighbourStatus.IN_STEP
        neighbour.next_status(NeighbourInput.BAD_DELTA)  # raises if the link is down
        try:
            changed = neighbour.after_delta(delta, self._limits)
            outputs = tuple(self._set_interest(neighbour, changed))
        except PenstockError as problem:
            # While a request is on its way, deltas from before its answer are expected not to fit.
            if was_in_step or problem.code != "routing.digest":
                yield self._refused(neighbour, problem)
            yield from self._advance(neighbour, NeighbourInput.BAD_DELTA)
        else:
            yield from self._advance(neighbour, NeighbourInput.DELTA)
            yield from outputs

    def _snapshot(self, neighbour: NeighbourRouter, snapshot: SubscriptionSnapshot) -> Outputs:
        neighbour.next_status(NeighbourInput.SNAPSHOT)  # raises if the link is down
        try:
            stated = neighbour.after_snapshot(snapshot, self._limits)
            outputs = tuple(self._set_interest(neighbour, stated))
        except PenstockError as problem:
            yield self._refused(neighbour, problem)
            yield from self._advance(neighbour, NeighbourInput.BAD_SNAPSHOT)
            yield from self._set_interest(neighbour, AggregateReplica(UNKNOWN_INTEREST))
        else:
            yield from self._advance(neighbour, NeighbourInput.SNAPSHOT)
            yield from outputs

    def _refused(self, neighbour: NeighbourRouter, problem: PenstockError) -> MessageRefused:
        self._counts.refused_messages += 1
        return MessageRefused(neighbour=neighbour.name, code=problem.code, message=problem.message)

    def _set_interest(self, neighbour: NeighbourRouter, interest: AggregateReplica) -> Outputs:
        """Replaces the interest of a neighbour, and announces the change to the others."""
        added = interest.difference(neighbour.interest)
        removed = neighbour.interest.difference(interest)
        try:
            self._index.add(_targets(neighbour.name, added))
        except QueryError as problem:
            raise error("routing.pattern", problem.message) from problem
        self._index.discard(_targets(neighbour.name, removed))
        neighbour.interest = interest
        neighbour.interest_digest = bytes.fromhex(interest.digest)
        self._index.set_interest(neighbour.name, neighbour.interest_digest)
        neighbour.maker, neighbour.documents_since_change = None, 0
        if self._changes is not None:
            # Of a neighbour whose interest was unknown, nothing is stored.
            stated = added if neighbour.is_known else interest.patterns
            self._changes.neighbours[neighbour.name].patterns.change(stated, removed)
        yield from self._announce(
            neighbour_members(neighbour.name, added),
            neighbour_members(neighbour.name, removed),
            neighbour,
        )

    def _announce(
        self,
        added: Mapping[str, Pattern],
        removed: Iterable[str],
        origin: NeighbourRouter | None = None,
    ) -> Outputs:
        """Changes what is announced to all neighbours but the origin of the change."""
        leaving = list(removed)
        for neighbour in self._neighbours.values():
            if neighbour is not origin:
                yield from self._resample(neighbour)
                yield from self._announced(neighbour, neighbour.announced.change(added, leaving))

    def _announced(self, neighbour: NeighbourRouter, delta: SubscriptionDelta | None) -> Outputs:
        """Sends a change of what is announced to a neighbour."""
        if delta is None:
            return
        self._index.announce(neighbour.name, map(digest_of_key, delta.added), delta.removed)
        neighbour.announced_digest = bytes.fromhex(delta.after)
        # Whoever is down now synchronises when its link is up.
        if neighbour.is_up:
            yield SendMessage(neighbour=neighbour.name, message=delta)

    def _resample(self, neighbour: NeighbourRouter) -> Outputs:
        """Chooses by the documents read lately what is merged, before something else changes."""
        observed = self._synopsis.observed
        wait = SYNOPSIS_GENERATION_DOCUMENTS if neighbour.sampled_at else SYNOPSIS_FIRST_DOCUMENTS
        if neighbour.announced.is_merged and observed - neighbour.sampled_at >= wait:
            neighbour.sampled_at = observed
            sample = self._synopsis.documents()
            yield from self._announced(neighbour, neighbour.announced.resample(sample))

    def _observe(self, document: Document, mapping: SchemaMapping | None) -> None:
        """Adds a document that was read to the synopsis, where one is needed.

        Of a document with a mapping it is unknown what it would be after rewriting.
        """
        if mapping is None and any(each.announced.is_merged for each in self._neighbours.values()):
            self._synopsis.observe([document])

    # Local subscriptions

    def _subscribe(self, subscriptions: tuple[LocalSubscription, ...]) -> Outputs:
        added: dict[str, LocalSubscription] = {}
        for each in subscriptions:
            if each.id in self._subscriptions or each.id in added:
                raise error("subscription.duplicate", f"the id `{each.id}` is in use")
            added[each.id] = each
        patterns = {id_: each.pattern() for id_, each in added.items()}
        members = {local_member(id_): pattern for id_, pattern in patterns.items()}
        self._index.add(
            {LocalTarget(id_): _target_query(each, patterns[id_]) for id_, each in added.items()}
        )
        self._subscriptions |= added
        self._conditional |= {id_ for id_, each in added.items() if not each.is_unconditional}
        if self._changes is not None:
            self._changes.subscribe(added)
        yield from self._announce(members, ())

    def _change_times(self, subscriptions: tuple[LocalSubscription, ...]) -> None:
        changed = {each.id: each for each in subscriptions}
        for id_, each in changed.items():
            if id_ not in self._subscriptions:
                raise error("subscription.unknown", f"unknown subscription `{id_}`")
            current = self._subscriptions[id_]
            if replace(current, starts_at=each.starts_at, expires_at=each.expires_at) != each:
                raise error("subscription.duplicate", f"another subscription has the id `{id_}`")
        self._index.discard(map(LocalTarget, changed))
        self._index.add(
            {LocalTarget(id_): _target_query(each, each.pattern()) for id_, each in changed.items()}
        )
        self._subscriptions |= changed
        self._conditional -= changed.keys()
        self._conditional |= {id_ for id_, each in changed.items() if not each.is_unconditional}
        if self._changes is not None:
            self._changes.unsubscribe(changed)
            self._changes.subscribe(changed)

    def _unsubscribe(self, ids: tuple[str, ...]) -> Outputs:
        leaving = list(dict.fromkeys(ids))
        for id_ in leaving:
            if id_ not in self._subscriptions:
                raise error("subscription.unknown", f"unknown subscription `{id_}`")
        for id_ in leaving:
            del self._subscriptions[id_]
            self._conditional.discard(id_)
        self._index.discard(map(LocalTarget, leaving))
        if self._changes is not None:
            self._changes.unsubscribe(leaving)
        yield from self._announce({}, map(local_member, leaving))

    # Documents

    def _published(self, document: Document, now: datetime) -> list[RouterOutput]:
        attested = self._attest(document)
        if self._is_duplicate(document, attested):
            return []
        find_mapping = partial(self._mappings.select, document)
        outputs: list[RouterOutput] = []
        try:
            self._document(document, attested, find_mapping, None, now, outputs=outputs)
        except PROCESS_EXITS:
            raise
        except BaseException as failure:
            outputs.append(self._failed(document, failure))
        return outputs

    def _forwarded(
        self, forwarded: ForwardedDocument, source: NeighbourRouter, now: datetime
    ) -> list[RouterOutput]:
        document, annotations = forwarded.document, forwarded.annotations
        attested = self._attest(document)
        if self._is_duplicate(document, attested):
            return []
        if annotations and not forwarded.mapping and self._decides_unread and source.is_trusted:
            try:
                decided = self._index.pass_on(
                    source.group, annotations, attested, source.announced_digest
                )
            except ValueError:
                decided = None
            except PROCESS_EXITS:
                raise
            except BaseException as failure:
                return [self._failed(document, failure)]
            if decided is not None:
                try:
                    return self._pass_on(document, attested, decided, source, now)
                except PROCESS_EXITS:
                    raise
                except BaseException as failure:
                    self._uncount(decided)
                    return [self._failed(document, failure)]
        find_mapping = partial(self._mappings.named, document, forwarded.mapping)
        outputs: list[RouterOutput] = []
        try:
            self._document(
                document,
                attested,
                find_mapping,
                source,
                now,
                annotations=annotations,
                outputs=outputs,
            )
        except PROCESS_EXITS:
            raise
        except BaseException as failure:
            outputs.append(self._failed(document, failure))
        return outputs

    def _attest(self, document: Document) -> bytes:
        return attestation(document.identity, len(document.content), self._limits_digest)

    def _is_duplicate(self, document: Document, attested: bytes) -> bool:
        """Whether a document arrived before; remembers it if not."""
        self._counts.received += 1
        if self._ignores_duplicates and not self._window.add(
            document.header.publisher, attested[DOCUMENT_DIGEST]
        ):
            self._counts.duplicates += 1
            return True
        return False

    def _pass_on(
        self,
        document: Document,
        attested: bytes,
        decided: DecidedRoutes,
        source: NeighbourRouter,
        now: datetime,
    ) -> list[RouterOutput]:
        """Delivers and forwards a document without a mapping that a match list decided.

        The index counts it, and assumes that all recipients are served and all headers are used.
        """
        subscriptions, headers = decided
        size = len(document.content)
        unused_bytes = 0
        forwards = []
        for group, header in headers:
            neighbour = self._by_group[group]
            annotations = header
            if (
                neighbour.is_authenticated
                and neighbour.gain.kinds == MATCH_LIST_ALONE
                and fits_document(len(header), size)
            ):
                neighbour.sent_list(len(header))
            else:
                unused_bytes += len(header)
                made = DocumentAnnotations(attested, size)
                annotations = self._annotate(made, neighbour, match_list_of(header), None)
            forwards.append((neighbour, forwarded_document(document, "", annotations)))
        outputs: list[RouterOutput] = []
        if self._conditional:
            outputs += self._deliver(document, None, subscriptions, now)
            self._counts.deliveries -= len(subscriptions)
        elif subscriptions:
            outputs.append(delivered_to(subscriptions, document))
        # Nothing fails from here on, so that a document is either passed on or refused.
        self._counts.annotation_bytes -= unused_bytes
        report = source.received_gain.not_read(size)
        if report is not None and source.is_up:
            outputs.append(SendMessage(source.name, report))
        for neighbour, message in forwards:
            if neighbour.is_up:
                outputs.append(sent_to(neighbour.name, message))
            else:
                outputs += self._discarded(neighbour, neighbour.queue.append(message))
        return outputs

    def _document(
        self,
        document: Document,
        attested: bytes,
        find_mapping: Callable[[], SchemaMapping | None],
        source: NeighbourRouter | None,
        now: datetime,
        *,
        outputs: list[RouterOutput],
        annotations: bytes = b"",
    ) -> None:
        """Delivers and forwards a document, but not to where it came from.

        It is read at most once, and not at all if annotations decide where it goes. Whatever can
        fail precedes the first delivery and the first forward: after a failure, ``outputs`` has
        none of them, and the caller refuses the document.
        """
        mapping = find_mapping()
        headers = DocumentAnnotations(attested, len(document.content))
        targets = None
        if annotations and source is not None:
            decision = self._decide(document, annotations, headers, source, mapping)
            outputs += self._report_gain(document, source, decision)
            if decision is not None and self._is_verified():
                targets = self._read(document, mapping, source)
                outputs += self._compare(document, source, decision.targets, targets)
            elif decision is not None:
                targets = decision.targets
                if decision.bytes_read:
                    self._counts.read_in_part += 1
                else:
                    self._counts.not_read += 1
        if targets is None:
            begin = self._cpu_time() if annotations else 0
            targets = self._read(document, mapping, source)
            if annotations and source is not None:
                source.received_gain.took(reading=self._cpu_time() - begin)
            if targets.refusal is None:
                self._observe(document, mapping)
        if targets.refusal is not None:
            outputs.append(self._dead(document, targets.refusal))
            return
        if targets.set_aside:
            targets = self._recheck(document, targets, outputs)
        mapping_digest = "" if mapping is None else mapping.digest
        forwards = []
        for name, match_list in targets.forwards:
            neighbour = self._neighbours[name]
            header = self._annotate(headers, neighbour, match_list, targets.label_paths)
            forwards.append((neighbour, forwarded_document(document, mapping_digest, header)))
        deliveries = self._deliver(document, mapping, targets.subscriptions, now)
        is_matched = bool(targets.subscriptions or targets.forwards)
        if is_matched:
            self._counts.matched += 1
        else:
            self._counts.unmatched += 1
            self._counts.false_forwards += source is not None
        outputs += deliveries
        for neighbour, forwarded in forwards:
            outputs += self._forward(forwarded, neighbour)

    def _recheck(
        self, document: Document, targets: Targets, outputs: list[RouterOutput]
    ) -> Targets:
        """Reports what is set aside; subscriptions of rechecking subscribers become matches."""
        unknown = [self._subscriptions[id_] for id_ in targets.set_aside]
        names = self._rechecking_subscribers
        rechecked = [each for each in unknown if each.subscriber in names]
        others = tuple([each.id for each in unknown if each.subscriber not in names])
        if others:
            outputs.append(_set_aside(document, others))
            self._counts.set_aside += len(others)
        return targets._replace(subscriptions=(*targets.subscriptions, *rechecked))

    def _dead(self, document: Document, reason: DocumentError) -> DocumentRefused:
        self._counts.dead += 1
        return DocumentRefused(dead_letter=DeadLetter.of(document, reason))

    def _failed(self, document: Document, failure: BaseException) -> DocumentRefused:
        return self._dead(document, internal_error(failure, document.content))

    def _uncount(self, decided: DecidedRoutes) -> None:
        """A document that the index has counted as passed on is refused."""
        subscriptions, headers = decided
        counts = self._counts
        if subscriptions or headers:
            counts.matched -= 1
        else:
            counts.unmatched -= 1
            counts.false_forwards -= 1
        counts.not_read -= 1
        counts.deliveries -= len(subscriptions)
        counts.forwards -= len(headers)
        counts.annotation_bytes -= sum(len(header) for _, header in headers)

    def _deliver(
        self,
        document: Document,
        mapping: SchemaMapping | None,
        subscriptions: tuple[LocalSubscription, ...],
        now: datetime,
    ) -> Iterable[Deliveries]:
        if not self._conditional:
            self._counts.deliveries += len(subscriptions)
            return (delivered_to(subscriptions, document),) if subscriptions else ()
        active = tuple(each for each in subscriptions if each.is_active(now))
        wanted = {each.id: each for each in active if each.returns == "fragments"}
        selected = NONE_SELECTED
        if wanted:
            found = self._index.select(document, mapping, list(wanted))
            selected = {id_: _selected(wanted[id_], each) for id_, each in found.items()}
        self._counts.deliveries += len(active)
        return (Deliveries(document, active, selected),) if active else ()

    def _forward(
        self, document: ForwardedDocument, neighbour: NeighbourRouter
    ) -> Iterable[RouterOutput]:
        self._counts.forwards += 1
        if neighbour.is_up:
            return (sent_to(neighbour.name, document),)
        return self._discarded(neighbour, neighbour.queue.append(document))

    # Annotations

    def _decide(
        self,
        document: Document,
        annotations: bytes,
        headers: DocumentAnnotations,
        source: NeighbourRouter,
        mapping: SchemaMapping | None,
    ) -> AnnotatedDecision | None:
        """Where annotations send a document; ``None`` if it must be read."""
        if not (self._annotations.uses_received and source.is_trusted):
            return None
        try:
            decision = self._decider.by_match_list(annotations, headers, source)
            if decision is not None:
                return decision
            annotated = AnnotatedDocument(document, annotations, headers, mapping is not None)
            return self._decider.decide(annotated, source)
        except ValueError:
            self._counts.ignored_annotations += 1
            return None

    def _read(
        self, document: Document, mapping: SchemaMapping | None, source: NeighbourRouter | None
    ) -> Targets:
        """Reads a document; collects its label paths if annotations need them."""
        others = (each for each in self._neighbours.values() if each is not source)
        label_paths = native is not None and any(
            each.is_authenticated and not DATA_KINDS.isdisjoint(each.gain.kinds) for each in others
        )
        name = None if source is None else source.name
        return self._index.match(document, mapping, name, label_paths=label_paths)

    def _report_gain(
        self, document: Document, source: NeighbourRouter, decision: AnnotatedDecision | None
    ) -> Iterable[SendMessage]:
        size = len(document.content)
        if decision is None:
            report = source.received_gain.add(NO_KINDS, size, 0)
        else:
            read = decision.bytes_read
            report = source.received_gain.add(decision.kinds, read, size - read)
        if report is None or not source.is_up:
            return ()
        return (SendMessage(neighbour=source.name, message=report),)

    def _is_verified(self) -> bool:
        share = self._annotations.verified_share
        return share > 0 and self._chance.random() < share

    def _compare(
        self, document: Document, source: NeighbourRouter, decided: Targets, read: Targets
    ) -> Iterable[NeighbourDistrusted]:
        """Distrusts the neighbour if reading contradicts its annotations."""
        self._counts.verified_annotations += 1
        # Which subscriptions are set aside depends on the router: that proves nothing.
        if read._replace(label_paths=None) == decided or read.set_aside:
            return ()
        source.distrust()
        distrusted = NeighbourDistrusted(
            neighbour=source.name,
            document=document,
            code="routing.annotations",
            message=f"the annotations of `{source.name}` contradict the document",
        )
        return (distrusted,)

    def _annotate(
        self,
        headers: DocumentAnnotations,
        neighbour: NeighbourRouter,
        match_list: bytes,
        label_paths: LabelPaths | None,
    ) -> bytes:
        if not neighbour.is_authenticated:
            return b""
        gain = neighbour.gain
        if gain.kinds == MATCH_LIST_ALONE:
            header = headers.encode_list(neighbour.interest_digest, match_list)
            if header:
                neighbour.sent_list(len(header))
                self._counts.annotation_bytes += len(header)
            return header
        kinds = gain.next_kinds()
        neighbour.documents_since_change += 1
        parts: dict[AnnotationKind, bytes] = {}
        spent: dict[AnnotationKind, int] = {}
        if AnnotationKind.MATCH_LIST in kinds:
            parts[AnnotationKind.MATCH_LIST] = match_list
        elif AnnotationKind.NEGATIVE_SUBSCRIPTIONS in kinds:
            parts[AnnotationKind.NEGATIVE_SUBSCRIPTIONS] = possible_list(match_list)
        if label_paths is not None and not DATA_KINDS.isdisjoint(kinds):
            maker = neighbour.annotation_maker(is_adaptive=self._annotations.is_adaptive)
            if maker is not None:
                begin = self._cpu_time()
                for kind, part in maker.parts(kinds, match_list, label_paths):
                    end = self._cpu_time()
                    parts[kind], spent[kind] = part, end - begin
                    begin = end
        encoded, sizes = headers.encode(neighbour.interest_digest, parts)
        gain.sent(sizes, spent)
        self._counts.annotation_bytes += len(encoded)
        return encoded


def _set_aside(document: Document, ids: tuple[str, ...]) -> SubscriptionsSetAside:
    named = ", ".join(f"`{id_}`" for id_ in ids[:SET_ASIDE_NAMED_MAX])
    others = len(ids) - SET_ASIDE_NAMED_MAX
    return SubscriptionsSetAside(
        document=document,
        subscriptions=ids,
        code="limit.work",
        message=f"the work budget is spent; {len(ids)} subscriptions of this router are set aside:"
        f" {named}{f' and {others:,} others' if others > 0 else ''}",
    )


def _selected(subscription: LocalSubscription, fragments: Sequence[Fragment]) -> SelectedFragments:
    maximum = subscription.fragments_max
    kept = tuple(fragments[:maximum])
    # A fragment that cannot be converted refuses the document: not the driver, later.
    xml = tuple([fragment.to_xml() for fragment in kept])
    return SelectedFragments(kept, max(0, len(fragments) - maximum), xml)


def _targets(neighbour: str, patterns: Iterable[Pattern]) -> dict[Target, TargetQuery]:
    return {
        NeighbourTarget(neighbour, pattern.digest): TargetQuery(pattern.numbered, pattern.digest)
        for pattern in patterns
    }


def _target_query(subscription: LocalSubscription, pattern: Pattern) -> TargetQuery:
    # A query that is too long to be announced is announced as everything, which decides nothing.
    digest = NOT_ANNOUNCED if pattern is UNIVERSAL else pattern.digest
    return TargetQuery(subscription.numbered, digest, subscription)


def _stored_interest(state: NeighbourState) -> AggregateReplica:
    if state.patterns is None:
        return AggregateReplica(UNKNOWN_INTEREST)
    return AggregateReplica(parse_patterns(state.patterns))
