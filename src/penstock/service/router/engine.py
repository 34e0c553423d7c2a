"""The router core with its store: inputs are processed in groups, each committed at once.

The engine does no network I/O. One thread at a time uses it. A *job* is a function of the engine;
:meth:`RouterEngine.run` executes several, commits their effects in one transaction, and only then
returns the results: whoever waits for a result can rely on it after ``kill -9``.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from time import thread_time_ns
from typing import Any, TypeAlias, assert_never
from zlib import crc32

from penstock.documents import Document
from penstock.documents.failure_report import failure_report
from penstock.errors import DocumentError, PenstockError, error
from penstock.links import Message, SessionState
from penstock.mediation.mapping_table import MappingTable
from penstock.routing import (
    AddNeighbour,
    AnnotationOptions,
    ChangeTimes,
    Deliveries,
    DocumentRefused,
    ForwardDiscarded,
    ForwardedDocument,
    LinkDown,
    LinkReset,
    LinkUp,
    LocalSubscription,
    MappingsChanged,
    MessageReceived,
    MessageRefused,
    NeighbourDistrusted,
    NeighbourStatus,
    OverflowPolicy,
    Publish,
    Refuse,
    Router,
    RouterInput,
    RouterLimits,
    RouterMessage,
    RouterOutput,
    SelectedFragments,
    SendMessage,
    Subscribe,
    SubscriptionsSetAside,
    Unsubscribe,
)
from penstock.routing.limits import AGGREGATE_NODES_MAX
from penstock.routing.router import DEFAULT_ANNOTATIONS, NO_MAPPINGS
from penstock.service.router.limits import (
    DOCUMENT_HEADER_BYTES_MAX,
    ROUTED_DOCUMENT_BYTES_MAX,
    ROUTER_LINK_LIMITS,
    SET_ASIDE_SHOWN_MAX,
    SUBSCRIPTIONS_PER_SUBSCRIBER_MAX,
    UNCLEAN_ENDS_MAX,
)
from penstock.service.router.unacknowledged_deliveries import UnacknowledgedDeliveries
from penstock.service.router.wire_messages import (
    Receipt,
    router_message_from_link,
    router_message_to_link,
)
from penstock.workspace.progress_mark import mark_text
from penstock.workspace.router_records import (
    LinkChanges,
    LinkState,
    OutboxMessage,
    RouterTransaction,
    StoredDelivery,
    SubscriberState,
)
from penstock.workspace.router_store import RouterStore

WORKSPACE = "workspace "
"""The subscriber that stands for the workspace: its deliveries go into the inbox. No client has a
name with a space."""


def subscription_prefix(subscriber: str) -> str:
    """What the ids of a client's subscriptions begin with in the router; a name has no space."""
    return WORKSPACE if subscriber == WORKSPACE else f"client {subscriber} "


@dataclass(frozen=True, slots=True)
class MessageQueued:
    """A message to a neighbour was committed."""

    neighbour: str
    position: int
    message: Message


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """A new session with a neighbour was committed; what was queued before is void."""

    neighbour: str
    session_id: bytes
    base: int


@dataclass(frozen=True, slots=True)
class DeliveriesAdded:
    """There are deliveries to a subscriber."""

    subscriber: str


@dataclass(frozen=True, slots=True)
class Reported:
    """Something that an operator should know."""

    neighbour: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Distrusted:
    """A neighbour's annotations were wrong: its link is closed until a restart."""

    neighbour: str


Effect: TypeAlias = MessageQueued | SessionStarted | DeliveriesAdded | Reported | Distrusted
"""What the driver has to do after a commit, in order."""

Job: TypeAlias = Callable[["RouterEngine"], Any]


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a job returned or raised."""

    value: Any = None
    failure: PenstockError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourReport:
    """What the engine knows of a neighbour."""

    status: str
    patterns: int
    """Patterns of its interest."""
    waiting: int
    """Documents that wait for the link."""
    unacknowledged: int
    """Messages in the outbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAsideReport:
    """A subscription that was set aside because the work budget of documents was spent."""

    subscriber: str
    subscription: str
    """The id that the subscriber has given."""
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReport:
    """Numbers of the engine."""

    name: str
    counters: dict[str, int]
    neighbours: dict[str, NeighbourReport]
    subscriptions: int
    subscribers: dict[str, int]
    """Deliveries that each subscriber has not acknowledged."""
    journal_position: int | None
    deliveries_discarded: int
    set_aside: list[SetAsideReport]
    """The subscriptions that were set aside most often."""
    set_aside_subscriptions: int
    """Subscriptions that were set aside for any document."""
    commits: int


@dataclass(slots=True)
class _Outbox:
    """The messages that a neighbour has not acknowledged, by position."""

    state: LinkState
    messages: dict[int, OutboxMessage] = field(default_factory=dict)


class RouterEngine:
    """A router whose state is durable.

    Parameters
    ----------
    store
        The store, which holds the state.
    limits
        Limits of the core.
    annotations
        Which annotations are sent, used and verified.
    aggregate_nodes
        Pattern nodes of the interest that is announced to each neighbour.
    overflow
        Which document is discarded when too many wait for a link.
    clock
        Returns the time, for activity windows.
    """

    def __init__(
        self,
        store: RouterStore,
        *,
        limits: RouterLimits | None = None,
        mappings: MappingTable = NO_MAPPINGS,
        annotations: AnnotationOptions = DEFAULT_ANNOTATIONS,
        aggregate_nodes: int = AGGREGATE_NODES_MAX,
        overflow: OverflowPolicy = "discard-oldest",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        stored = store.load()
        self._store = store
        self._clock = clock
        self.router = Router.restore(
            stored.state,
            limits=limits,
            mappings=mappings,
            annotations=annotations,
            aggregate_nodes=aggregate_nodes,
            overflow=overflow,
            cpu_time=thread_time_ns,
            rechecking_subscribers=[WORKSPACE],
        )
        self.router.record_changes()
        self.store_id = stored.store_id
        self._unclean_ends = store.count_unclean_end()
        """Ends of the process during an input that is not handled since, by its mark."""
        self._outboxes = {
            name: _Outbox(state, {each.position: each for each in state.outbox})
            for name, state in stored.links.items()
        }
        self._subscribers = {
            name: UnacknowledgedDeliveries(numbers, stored.delivery_bytes.get(name, {}))
            for name, numbers in stored.subscribers.items()
        }
        self._ids_of: defaultdict[str, dict[str, None]] = defaultdict(dict)
        """Ids of the subscriptions of each subscriber, in the order in which they were added."""
        for each in stored.state.subscriptions:
            self._ids_of[each.subscriber][each.id] = None
        self._set_aside = Counter(stored.set_aside)
        """Documents for which each subscription was set aside."""
        self._authenticated: dict[str, bool] = {}
        self.journal_position = stored.journal_position
        self._transaction = RouterTransaction()
        self._effects: list[Effect] = []
        self._deliveries_discarded = 0
        self._commits = 0
        self._counters = self.router.counters
        """As they are stored."""

    # Jobs

    def run(self, jobs: Sequence[Job]) -> tuple[list[JobResult], list[Effect]]:
        """Executes jobs and commits their effects.

        A job that raises an error of Penstock has changed nothing; any other exception, and one of
        the commit, is final: the engine must not be used again.
        """
        self._transaction = RouterTransaction()
        self._effects = []
        results = []
        for job in jobs:
            try:
                results.append(JobResult(value=job(self)))
            except PenstockError as problem:
                results.append(JobResult(failure=problem))
                self._store.mark.clear()
        changes = self._transaction.changes = self.router.take_changes()
        if (
            self._transaction.has_rows
            or changes.log.has_changes
            or changes.counters != self._counters
        ):
            self._store.commit(self._transaction)
            self._commits += 1
        self._counters = changes.counters
        return results, self._effects

    def report(self) -> EngineReport:
        """The current numbers."""
        counters = self.router.counters
        return EngineReport(
            name=self.router.name,
            counters={name: getattr(counters, name) for name in counters.__slots__},
            neighbours={
                name: NeighbourReport(
                    status=self.router.status(name).value,
                    patterns=len(self.router.interest_of(name)),
                    waiting=self.router.waiting(name),
                    unacknowledged=len(self._outboxes[name].messages),
                )
                for name in self.router.neighbours
            },
            subscriptions=len(self.router.subscriptions),
            subscribers={name.strip(): len(each) for name, each in self._subscribers.items()},
            journal_position=self.journal_position,
            deliveries_discarded=self._deliveries_discarded,
            set_aside=self._set_aside_reports(),
            set_aside_subscriptions=len(self._set_aside),
            commits=self._commits,
        )

    def _set_aside_reports(self) -> list[SetAsideReport]:
        if not self._set_aside:
            return []
        known = self.router.subscriptions
        reports = []
        for id_, documents in self._set_aside.most_common(SET_ASIDE_SHOWN_MAX):
            subscriber = known[id_].subscriber
            reports.append(
                SetAsideReport(
                    subscriber=subscriber.strip(),
                    subscription=id_.removeprefix(subscription_prefix(subscriber)),
                    documents=documents,
                )
            )
        return reports

    # Neighbours

    def add_neighbour(self, name: str) -> None:
        """Adds a neighbour unless it is known."""
        if name not in self.router.neighbours:
            self._handle(AddNeighbour(neighbour=name))
            self._outboxes[name] = _Outbox(LinkState())
            self._link_changes(name)

    def session_of(self, name: str) -> tuple[SessionState | None, bytes, int]:
        """What a link needs to resume the session with a neighbour, the session's id and the
        position of the message before its first."""
        box = self._outboxes[name]
        link = box.state
        if not link.session_id:
            return None, b"", 0
        first = min(box.messages, default=link.sent + 1)
        state = SessionState(
            session_id=link.session_id,
            acknowledged=first - 1 - link.base,
            unacknowledged=tuple(self._encode(each) for _, each in sorted(box.messages.items())),
            stored=link.stored,
        )
        return state, link.session_id, link.base

    def link_established(
        self, name: str, session_id: bytes, *, is_authenticated: bool = False
    ) -> None:
        """A link is established, in the same session as before or in another."""
        box = self._outboxes[name]
        if session_id != box.state.session_id:
            documents = tuple(
                each.document for _, each in sorted(box.messages.items()) if each.document
            )
            self._handle(LinkReset(neighbour=name, unacknowledged=documents))
            self._remove_messages(name, box.state.sent)
            box.state = LinkState(session_id=session_id, base=box.state.sent, sent=box.state.sent)
            self._link_changes(name).state = box.state
            self._effects.append(SessionStarted(name, session_id, box.state.base))
        self._authenticated[name] = is_authenticated
        self._handle(LinkUp(neighbour=name, is_authenticated=is_authenticated))

    def link_closed(self, name: str) -> None:
        """A link is broken; its session stays."""
        self._handle(LinkDown(neighbour=name))

    def message_received(
        self, name: str, session_id: bytes, sequence: int, message: Message
    ) -> None:
        """A message of a neighbour."""
        state = self._outboxes[name].state
        if session_id != state.session_id or sequence <= state.stored:
            return  # of a session that has ended
        try:
            received = router_message_from_link(message)
        except PenstockError as problem:
            # The neighbour is wrong. Its message is acknowledged, or it would send it for ever.
            self._report(name, problem.code, problem.message)
        else:
            if not self._is_up(name):
                is_authenticated = self._authenticated.get(name, False)
                self._handle(LinkUp(neighbour=name, is_authenticated=is_authenticated))
            input_ = MessageReceived(neighbour=name, message=received)
            if isinstance(received, ForwardedDocument):
                mark = f"{name} {_mark_of(received.document)}"
                self._handle_document(input_, received.document, mark)
            else:
                self._handle(input_)
        state.stored = sequence
        self._link_changes(name)

    def acknowledged(self, name: str, session_id: bytes, sequence: int) -> None:
        """A neighbour has stored our messages up to one."""
        state = self._outboxes[name].state
        if session_id == state.session_id:
            self._remove_messages(name, min(state.base + sequence, state.sent))

    def _is_up(self, name: str) -> bool:
        return self.router.status(name) not in (NeighbourStatus.UNKNOWN, NeighbourStatus.DOWN)

    def _link_changes(self, name: str) -> LinkChanges:
        return self._transaction.links.setdefault(name, LinkChanges(self._outboxes[name].state))

    def _remove_messages(self, name: str, upto: int) -> None:
        box = self._outboxes[name]
        while box.messages and (first := next(iter(box.messages))) <= upto:
            del box.messages[first]
        changes = self._link_changes(name)
        changes.removed_upto = max(changes.removed_upto, upto)

    def _encode(self, message: OutboxMessage) -> Message:
        if message.document is None:
            return Message(body=message.payload, kind=message.kind)
        return router_message_to_link(
            message.document, message_bytes=ROUTER_LINK_LIMITS.message_bytes
        )

    # Publishers

    def publish(self, document: Document, sequence: int = 0) -> Receipt:
        """A publisher's document; the receipt has the sequence number of its message."""
        return self._publish(document, sequence)

    def _publish(
        self, document: Document, sequence: int, *, mark: str = "", is_in_inbox: bool = False
    ) -> Receipt:
        """A document of a publisher, who publishes it again after a restart, or of the inbox.

        A document that is in the inbox of the workspace is not put there again.
        """
        if len(document.content) > ROUTED_DOCUMENT_BYTES_MAX:
            message = f"a document has {len(document.content):,} bytes"
            return Receipt(sequence, "refused", "limit.document-bytes", message)
        encoded = sum(
            len(name.encode()) + len(value.encode())
            for name, value in document.header.fields.items()
        )
        if encoded > DOCUMENT_HEADER_BYTES_MAX:
            return Receipt(
                sequence, "refused", "routing.header-bytes", f"the header has {encoded:,} bytes"
            )
        duplicates = self.router.counters.duplicates
        outputs = self._handle_document(
            Publish(document=document),
            document,
            mark or f"publish {_mark_of(document)}",
            is_in_inbox=is_in_inbox,
        )
        for output in outputs:
            if isinstance(output, DocumentRefused):
                letter = output.dead_letter
                return Receipt(sequence, "refused", letter.code, letter.message)
        if self.router.counters.duplicates > duplicates:
            return Receipt(sequence, "duplicate")
        return Receipt(sequence, "accepted")

    # Subscribers

    def subscribe(self, subscriptions: Sequence[LocalSubscription]) -> int:
        """Adds those subscriptions that do not exist; returns their number.

        The times of those that exist are changed.

        Raises
        ------
        PenstockError
            A query is invalid, or an id is used by another one. Nothing is changed.
        """
        known = self.router.subscriptions
        changed = [each for each in subscriptions if known.get(each.id) != each]
        renewed = [each for each in changed if each.id in known]
        added = [each for each in changed if each.id not in known]
        for each in renewed:
            current = known[each.id]
            if not _differs_at_most_in_times(current, each):
                raise error("subscription.duplicate", f"another subscription has the id {each.id}")
        if added:
            subscriber = added[0].subscriber
            count = len(self._ids_of.get(subscriber, ())) + len(added)
            if subscriber != WORKSPACE and count > SUBSCRIPTIONS_PER_SUBSCRIBER_MAX:
                raise error(
                    "routing.too-many-subscriptions",
                    f"{count:,} subscriptions of {subscriber},"
                    f" more than {SUBSCRIPTIONS_PER_SUBSCRIBER_MAX:,}",
                )
            # These may be refused, so they come first.
            self._handle(Subscribe(subscriptions=tuple(added)))
            for each in added:
                self._ids_of[each.subscriber][each.id] = None
        if renewed:
            self._handle(ChangeTimes(subscriptions=tuple(renewed)))
        return len(added)

    def unsubscribe(self, ids: Sequence[str]) -> int:
        """Removes subscriptions, all or none; returns their number.

        Raises
        ------
        UnknownSubscriptionError
            ``subscription.unknown``
        """
        leaving = tuple(dict.fromkeys(ids))
        if not leaving:
            return 0
        known = self.router.subscriptions
        subscribers = [known[id_].subscriber for id_ in leaving if id_ in known]
        self._handle(Unsubscribe(ids=leaving))
        for id_, subscriber in zip(leaving, subscribers, strict=True):
            own = self._ids_of[subscriber]
            del own[id_]
            if not own:
                del self._ids_of[subscriber]
            if self._set_aside.pop(id_, 0):
                self._transaction.set_aside[id_] = 0
        return len(leaving)

    def remove_expired(self) -> int:
        """Removes the subscriptions that have expired; returns their number."""
        return self.unsubscribe(sorted(self.router.expired(self._clock())))

    def subscriptions_of(self, subscriber: str) -> list[LocalSubscription]:
        """The subscriptions of a subscriber."""
        known = self.router.subscriptions
        return [known[id_] for id_ in self._ids_of.get(subscriber, ())]

    def deliveries_after(self, subscriber: str, number: int, limit: int) -> list[StoredDelivery]:
        """The next deliveries to a subscriber; any thread may call it."""
        return self._store.deliveries_after(subscriber, number, limit)

    def own_documents(self, after: int, upto: int) -> set[int]:
        """Documents in a range of the inbox that the router put there; any thread may call it."""
        return self._store.own_documents(after, upto)

    def attach(self, subscriber: str, store_id: str, after: int) -> int:
        """A subscriber states which delivery it has stored last; returns where it goes on."""
        deliveries = self._deliveries_to(subscriber)
        if store_id == self.store_id:
            self.acknowledge_deliveries(subscriber, after)
        return deliveries.numbers.acknowledged

    def acknowledge_deliveries(self, subscriber: str, upto: int) -> None:
        """A subscriber has stored its deliveries up to one."""
        deliveries = self._subscribers[subscriber]
        if deliveries.acknowledge(upto):
            self._transaction.subscribers[subscriber] = deliveries.numbers

    def _deliveries_to(self, subscriber: str) -> UnacknowledgedDeliveries:
        return self._subscribers.setdefault(
            subscriber, UnacknowledgedDeliveries(SubscriberState(), {})
        )

    # The workspace

    def replace_workspace_subscriptions(self, wanted: Mapping[str, LocalSubscription]) -> None:
        """Makes the subscriptions of the workspace these, by id."""
        known = {each.id: each for each in self.subscriptions_of(WORKSPACE)}
        leaving = [
            id_
            for id_, each in known.items()
            if id_ not in wanted or not _differs_at_most_in_times(each, wanted[id_])
        ]
        self.unsubscribe(leaving)
        self.subscribe(list(wanted.values()))

    def change_mappings(self, table: MappingTable) -> None:
        """The mediator of the workspace has another mapping table."""
        self._handle(MappingsChanged(table=table))

    def route_published(self, sequence: int, document: Document) -> None:
        """A document that was published to the inbox."""
        receipt = self._publish(document, sequence, mark=f"inbox {sequence}", is_in_inbox=True)
        if receipt.outcome == "refused":
            self._report("", receipt.code, f"{document.identity} is not routed: {receipt.message}")
        self.journal_reached(sequence)

    def journal_reached(self, position: int) -> None:
        """The documents of the inbox up to a sequence number are routed."""
        self.journal_position = self._transaction.journal_position = position

    def own_document(self, sequence: int) -> None:
        """The router itself put a document into the inbox."""
        if self.journal_position is not None and sequence > self.journal_position:
            self._transaction.own_documents.append(sequence)

    # The core

    def _handle_document(
        self,
        input_: RouterInput,
        document: Document,
        mark: str,
        *,
        is_in_inbox: bool = False,
    ) -> tuple[RouterOutput, ...]:
        """Handles an input with a document, unless the process ended too often during it.

        ``mark`` names the input: it comes again after a restart, since it is not acknowledged.
        """
        known = mark_text(mark) if self._unclean_ends else ""
        if known and self._unclean_ends.get(known, 0) >= UNCLEAN_ENDS_MAX:
            input_ = Refuse(document=document, reason=_worker_error(document))
        self._store.mark.set(mark)
        outputs = self._handle(input_, is_in_inbox=is_in_inbox)
        self._store.mark.clear()
        if known and self._unclean_ends.pop(known, 0):
            self._transaction.handled.append(known)
        return outputs

    def _handle(
        self, input_: RouterInput, *, is_in_inbox: bool = False
    ) -> tuple[RouterOutput, ...]:
        outputs = self.router.receive(input_, self._clock())
        for output in outputs:
            match output:
                case SendMessage(neighbour=name, message=message):
                    self._send(name, message)
                case Deliveries(document=document, recipients=recipients, selected=selected):
                    for recipient in recipients:
                        if recipient.subscriber == WORKSPACE:
                            # The pipeline matches the document again: once is enough.
                            if not is_in_inbox:
                                self._deliver(recipient, document, None)
                            is_in_inbox = True
                        else:
                            self._deliver(recipient, document, selected.get(recipient.id))
                case DocumentRefused(dead_letter=letter):
                    self._transaction.dead_letters.append(letter)
                    self._report("", letter.code, f"{letter.document.identity}: {letter.message}")
                case ForwardDiscarded(neighbour=name, code=code, document=document):
                    self._report(name, code, f"{document.identity} is discarded: {output.message}")
                case SubscriptionsSetAside(code=code, document=document, subscriptions=ids):
                    for id_ in ids:
                        self._set_aside[id_] += 1
                        self._transaction.set_aside[id_] = self._set_aside[id_]
                    self._report("", code, f"{document.identity}: {output.message}")
                case NeighbourDistrusted(neighbour=name, code=code, message=text):
                    self._report(name, code, text)
                    self._effects.append(Distrusted(name))
                case MessageRefused(neighbour=name, code=code, message=text):
                    self._report(name, code, text)
                case _:
                    assert_never(output)
        return outputs

    def _report(self, neighbour: str, code: str, message: str) -> None:
        self._effects.append(Reported(neighbour, code, message))

    def _send(self, name: str, message: RouterMessage) -> None:
        box = self._outboxes[name]
        box.state.sent += 1
        encoded = router_message_to_link(message, message_bytes=ROUTER_LINK_LIMITS.message_bytes)
        if isinstance(message, ForwardedDocument):
            entry = OutboxMessage(box.state.sent, document=message)
        else:
            entry = OutboxMessage(box.state.sent, kind=encoded.kind, payload=encoded.body)
        box.messages[entry.position] = entry
        self._link_changes(name).added.append(entry)
        self._effects.append(MessageQueued(name, entry.position, encoded))

    def _deliver(
        self,
        recipient: LocalSubscription,
        document: Document,
        selected: SelectedFragments | None,
    ) -> None:
        subscriber = recipient.subscriber
        deliveries = self._deliveries_to(subscriber)
        fragments = None
        if selected is not None:
            pairs = zip(selected.fragments, selected.xml, strict=True)
            fragments = json.dumps([[each.kind, xml] for each, xml in pairs], ensure_ascii=False)
        size = len(document.content) + len(fragments or "")
        self._transaction.deliveries.append(
            StoredDelivery(
                subscriber=subscriber,
                number=deliveries.add(size),
                subscription=recipient.id,
                document=document,
                fragments=fragments,
                fragments_omitted=0 if selected is None else selected.omitted,
            )
        )
        self._transaction.subscribers[subscriber] = deliveries.numbers
        if subscriber != WORKSPACE and (discarded := deliveries.discard_excess()):
            self._deliveries_discarded += discarded
            message = f"of the deliveries to {subscriber}, the oldest {discarded:,} are discarded"
            self._report("", "routing.deliveries-full", message)
        self._effects.append(DeliveriesAdded(subscriber))


def _differs_at_most_in_times(current: LocalSubscription, other: LocalSubscription) -> bool:
    """Whether two subscriptions are the same, except perhaps for their times."""
    times_of_other = replace(current, starts_at=other.starts_at, expires_at=other.expires_at)
    return times_of_other == other


def _mark_of(document: Document) -> str:
    """Names a document that is not acknowledged yet, also in a new session.

    Its identity would do, but is a digest of the whole content where the publisher gave none.
    """
    header, content = document.header, document.content
    name = header.id or f"{len(content)} bytes, {crc32(content):08x}"
    return f"{header.publisher}/{name}"


def _worker_error(document: Document) -> DocumentError:
    """The error of a document during which the process ended too often."""
    text = f"the router's process ended {UNCLEAN_ENDS_MAX} times while it worked on the document"
    failure = {"type": "worker", "message": text, "deaths": UNCLEAN_ENDS_MAX}
    report = failure_report(document.content, failure)
    return DocumentError("internal.worker", text, report=report)
