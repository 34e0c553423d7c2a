"""The server core: requests in, one message a client a round out. It does no I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from penstock.errors import error
from penstock.sync.affected_search import AffectedSearch, IndexedClients
from penstock.sync.conflicts import (
    Author,
    History,
    StatementDecider,
    is_in_effect,
    touched,
)
from penstock.sync.document_tree import DOCUMENT, DocumentTree, View
from penstock.sync.incarnations import Incarnations
from penstock.sync.limits import (
    CLIENTS_MAX,
    HORIZON_ENTRIES,
    HORIZON_OPERATIONS,
    ROUND_WORK_MAX,
    SKIPPED_REPLICAS_MAX,
    STATEMENT_NODES_MAX,
)
from penstock.sync.messages import (
    CloneAgain,
    CloneAnswer,
    CloneRequest,
    Message,
    Request,
    SubmittedStatement,
    SyncRequest,
    UpdateMessage,
)
from penstock.sync.operations import Copy, Delete, Insert, Move, apply
from penstock.sync.reports import Outcome, Report
from penstock.sync.server_state import Checkpoint, ClientRecord, StateChanges, StoredState
from penstock.sync.shared_history import SharedHistory, has_lost_record, previous_replicas
from penstock.sync.statement_work import StatementWork
from penstock.sync.subscription import SyncSubscription
from penstock.sync.update_log import AddressedReport, LogEntry, UpdateLog
from penstock.sync.view_cache import ViewCache

_UNKNOWN_CLIENT: Final = "the server does not know the client"
_BEYOND_HORIZON: Final = "the server's log does not reach back to the client's version"
_OTHER_HISTORY: Final = "the server was restored from an older state than the client's version"


@dataclass(slots=True)
class _Session:
    """What is lost when the server stops."""

    is_online: bool = False
    sent: int = 0
    """The version that the last message brings the client to, if it arrives."""
    same_as: int = -1
    same: int = -1
    """At this version, the client's restriction was still equal to that at the version ``same_as``:
    messages bring it from there, and the views of versions in between are not needed."""
    is_waiting: bool = False
    """Whether a request is not answered yet."""
    clone: int | None = None
    """Number of a clone request to answer."""
    shared_version: int | None = None
    """Of the answer to it."""
    again: CloneAgain | None = None


class RoundPolicy(Protocol):
    """Decides which statements of a round are undone as a whole."""

    def undone(
        self, statements: Sequence[tuple[str, SubmittedStatement]]
    ) -> Mapping[tuple[str, int], str]:
        """The client and number of each undone statement, and the client that it conflicts
        with."""


class Server:
    """Keeps a document and the caches of its clients in step.

    Give requests to :meth:`receive`, then call :meth:`round`, which returns messages. Store what
    :meth:`take_changes` returns, and then send them.

    Parameters
    ----------
    state
        What the server is restored from; :meth:`of_document` makes a new one.
    search
        Finds the clients that are affected; by default, an index of their subscriptions.
    policy
        Undoes whole statements before they are applied, as the paper does; by default, none.
    horizon
        Maximum number of entries of the log.
    checkpoint_entries
        Acknowledged entries after which a checkpoint replaces them; by default, a quarter of the
        horizon. Fewer make a server quicker to restore.
    tree
        The tree of the checkpoint, if it exists already.
    incarnation
        A number that no other server of the document has, at random, so that clients are recognised
        whose versions are not those of this server because it was restored from an older state; 0
        if that cannot happen.
    """

    def __init__(
        self,
        state: StoredState,
        *,
        search: AffectedSearch | None = None,
        policy: RoundPolicy | None = None,
        horizon: int = HORIZON_ENTRIES,
        checkpoint_entries: int | None = None,
        tree: DocumentTree | None = None,
        incarnation: int = 0,
    ) -> None:
        self._incarnation = incarnation
        self._incarnations = Incarnations(state.checkpoint.incarnations)
        self._shared_history = SharedHistory(self._incarnations, incarnation)
        self._replicas_to_skip = incarnation % SKIPPED_REPLICAS_MAX
        self._tree = DocumentTree.from_snapshot(state.checkpoint.snapshot) if tree is None else tree
        self._tree.set_version(state.checkpoint.version)
        self._log = UpdateLog(state.checkpoint.version)
        self._history = History()
        self._views = ViewCache(self._tree)
        self._clients: dict[str, ClientRecord] = {}
        self._sessions: dict[str, _Session] = {}
        self._due: set[str] = set()
        """Clients with a request that is not answered."""
        self._next_replica = state.next_replica
        self._search: AffectedSearch = IndexedClients() if search is None else search
        self._policy = policy
        self._statements: list[tuple[str, SubmittedStatement]] = []
        self._horizon = horizon
        self._checkpoint_entries = checkpoint_entries
        self._changes = StateChanges()
        self._round_start = state.checkpoint.version
        for entry in state.entries:
            self._redo(entry)
        for record in state.clients.values():
            self._clients[record.client] = record
            self._subscribe(record)
        self._round_start = self._log.version
        self._decider = StatementDecider(self._tree, self._log, self._history)

    @classmethod
    def of_document(
        cls,
        document: bytes,
        *,
        search: AffectedSearch | None = None,
        policy: RoundPolicy | None = None,
        horizon: int = HORIZON_ENTRIES,
        checkpoint_entries: int | None = None,
        incarnation: int = 0,
    ) -> Server:
        """A server of a document without clients; its checkpoint is to be stored."""
        tree = DocumentTree.read(document)
        checkpoint = Checkpoint(0, tree.snapshot())
        server = cls(
            StoredState(checkpoint),
            search=search,
            policy=policy,
            horizon=horizon,
            checkpoint_entries=checkpoint_entries,
            tree=tree,
            incarnation=incarnation,
        )
        server._changes.checkpoint = checkpoint
        return server

    def _redo(self, entry: LogEntry) -> None:
        self._tree.set_version(entry.version)
        author = Author(entry.version, entry.client, entry.number)
        for effect in entry.effects:
            # A deletion that repeats one from before the checkpoint has no effect.
            if not isinstance(effect, Delete) or self._tree.exists(effect.node):
                was_there = is_in_effect(effect, self._tree)
                if not was_there:
                    apply(effect, self._tree)
                self._history.record(effect, author, was_there=was_there)
        self._append(entry)

    def _append(self, entry: LogEntry) -> None:
        self._log.append(entry)
        self._incarnations.decided(entry.version, entry.incarnation)

    def _subscribe(self, record: ClientRecord) -> None:
        self._unsubscribe(record.client)
        self._search.add(record.client, record.subscription)
        if record.next_subscription is not None:
            self._search.add(record.client, record.next_subscription)

    def _unsubscribe(self, client: str) -> None:
        for subscription in self._search.remove(client):
            self._views.forget(subscription)

    # State

    @property
    def version(self) -> int:
        """The version of the document."""
        return self._log.version

    @property
    def tree(self) -> DocumentTree:
        """The document; read only."""
        return self._tree

    @property
    def log(self) -> UpdateLog:
        """The log; read only."""
        return self._log

    def client(self, name: str) -> ClientRecord | None:
        """What the server knows of a client."""
        return self._clients.get(name)

    @property
    def clients(self) -> Collection[ClientRecord]:
        """What the server knows of its clients."""
        return self._clients.values()

    def take_changes(self) -> StateChanges:
        """What a store has to write before the messages of the next round are sent."""
        changes, self._changes = self._changes, StateChanges()
        return changes

    def _store(self, record: ClientRecord) -> None:
        self._clients[record.client] = record
        self._changes.clients[record.client] = record

    def _session(self, client: str) -> _Session:
        return self._sessions.setdefault(client, _Session())

    # Inputs

    def receive(self, request: Request) -> None:
        """A request of a client; it is answered at the end of the round.

        Requests may be lost, repeated and reordered.
        """
        if isinstance(request, CloneRequest):
            self._clone(request)
        else:
            self._synchronise(request)

    def disconnect(self, client: str) -> None:
        """A client cannot be reached; it is sent nothing until its next request."""
        self._sessions.pop(client, None)

    def connect(self, client: str, sent: int) -> None:
        """A client can be reached again, after the server was restored; the last message to it
        brings it to the version ``sent``."""
        if client in self._clients:
            session = self._session(client)
            session.is_online = True
            session.sent = sent

    def sent_version(self, client: str) -> int | None:
        """The version that the last message brings a connected client to, if it arrives; ``None``
        for others."""
        session = self._sessions.get(client)
        return session.sent if session is not None and session.is_online else None

    def remove(self, client: str) -> None:
        """A client leaves for good."""
        if self._clients.pop(client, None) is not None:
            self._changes.clients[client] = None
            self._unsubscribe(client)
        self._sessions.pop(client, None)

    def _clone(self, request: CloneRequest) -> None:
        known = self._clients.get(request.client)
        if known is None and len(self._clients) >= CLIENTS_MAX:
            raise error("sync.clients", f"the server has {CLIENTS_MAX:,} clients")
        if known is not None and request.number < known.clone_number:
            return
        shared_version = self._shared_history.version_with(request, self.version, known)
        if known is None or request.number > known.clone_number:
            self._skip_replicas()
            reported = request.version if shared_version is None else shared_version
            # A client that was forgotten goes on with its numbers.
            decided = request.decided if shared_version == request.version else 0
            record = ClientRecord(
                client=request.client,
                clone_number=request.number,
                replica=self._next_replica,
                previous_replicas=previous_replicas(
                    request, known, self._clients.values(), self._next_replica
                ),
                version=min(reported, self.version) if request.previous else self.version,
                decided=decided if known is None else known.decided,
                epoch=0,
                subscription=request.subscription,
            )
            self._next_replica += 1
            self._changes.next_replica = self._next_replica
            self._store(record)
            self._subscribe(record)
        session = self._session(request.client)
        session.is_online = True
        session.clone = request.number
        session.shared_version = shared_version
        self._due.add(request.client)

    def _skip_replicas(self) -> None:
        """Before the first clone, skips replicas that a server with the same state before may have
        given away."""
        self._next_replica += self._replicas_to_skip
        self._replicas_to_skip = 0

    def _synchronise(self, request: SyncRequest) -> None:
        record = self._clients.get(request.client)
        if record is None:
            self._session(request.client).again = self._again(request, _UNKNOWN_CLIENT)
            self._due.add(request.client)
            return
        if request.replica in record.previous_replicas:
            return  # A late request, or a copy of the client.
        session = self._session(request.client)
        session.is_online = True
        session.is_waiting = True
        self._due.add(request.client)
        if self._shared_history.has_lost(request, self.version) or has_lost_record(request, record):
            session.again = self._again(request, _OTHER_HISTORY)
            return
        record = self._acknowledge(record, request)
        session.sent = record.version
        if record.version < self._log.start:
            session.again = self._again(request, _BEYOND_HORIZON)
            return
        self._statements += [(request.client, statement) for statement in request.statements]

    def _acknowledge(self, record: ClientRecord, request: SyncRequest) -> ClientRecord:
        """The record after what a request acknowledges; a late request acknowledges less."""
        if request.epoch == record.epoch + 1 and record.next_subscription is not None:
            record = replace(
                record,
                epoch=request.epoch,
                subscription=record.next_subscription,
                next_subscription=None,
                version=max(record.version, min(request.version, self.version)),
            )
            self._subscribe(record)
        elif request.epoch == record.epoch:
            version = max(record.version, min(request.version, self.version))
            record = replace(record, version=version)
        if request.epoch == record.epoch and request.subscription is not None:
            record = replace(record, next_subscription=request.subscription)
            self._subscribe(record)
        if record != self._clients[record.client]:
            self._store(record)
        return record

    @staticmethod
    def _again(request: SyncRequest, reason: str) -> CloneAgain:
        return CloneAgain(
            client=request.client, replica=request.replica, version=request.version, reason=reason
        )

    # Rounds

    def _decide_statements(self) -> None:
        """Decides the statements of the round, in the order of their arrival.

        Those of a client beyond what it may cost in a round are left out: the client finds them not
        decided, and submits them again.
        """
        statements, self._statements = self._statements, []
        undone = {} if self._policy is None else self._policy.undone(statements)
        touched_nodes: dict[str, int] = {}
        for client, statement in statements:
            if touched_nodes.get(client, 0) > ROUND_WORK_MAX:
                continue
            record = self._clients.get(client)
            # Repeated statements are decided once, and those after a gap come again.
            if record is None or statement.number != record.decided + 1:
                continue
            self._tree.set_version(self.version + 1)
            if (client, statement.number) in undone:
                entry = self._undone(client, statement, undone[client, statement.number])
            else:
                replicas = frozenset((record.replica, *record.previous_replicas))
                work = StatementWork(self._tree, STATEMENT_NODES_MAX)
                entry = self._decider.decide(client, replicas, statement, work)
                touched_nodes[client] = touched_nodes.get(client, 0) + work.touched
            entry = replace(entry, incarnation=self._incarnation)
            self._append(entry)
            self._changes.entries.append(entry)
            self._store(replace(record, decided=statement.number))

    def _undone(self, client: str, statement: SubmittedStatement, by: str) -> LogEntry:
        """The entry of a statement that the policy of the round undoes."""
        reason = "the policy undoes it because of a conflict"
        report = Report(Outcome.UNDONE, statement.number, DOCUMENT, by, reason)
        return LogEntry(
            self.version + 1,
            client,
            statement.number,
            statement.base,
            (),
            (AddressedReport(client, report),),
            statement.text,
        )

    def round(self) -> list[Message]:
        """Ends a round: the messages to the clients that requested one or are affected."""
        self._decide_statements()
        due, self._due = self._due, set()
        changes = self._decider.take_changes()
        entries = self._log.after(max(self._round_start, self._log.start))
        due.update(
            each.client
            for entry in entries
            for each in entry.reports
            if each.client in self._sessions and self._sessions[each.client].is_online
        )
        self._round_start = self.version
        self._views.begin_round(
            self.version, entries, self._search.reselecting(changes) if changes else ()
        )
        due.update(
            name
            for name in self._search.affected(changes)
            if name in self._sessions
            and self._sessions[name].is_online
            and name not in due
            and not self._is_found_in_vain(name)
        )
        messages: list[Message] = []
        for name in sorted(due):
            messages += self._messages(name, self._views)
        self._trim()
        return messages

    def _is_found_in_vain(self, name: str) -> bool:
        """Whether a client that was up to date before the round, and that nothing is reported to,
        still is."""
        session, record = self._sessions[name], self._clients.get(name)
        if record is None or record.next_subscription is not None:
            return False
        if session.same_as != max(session.sent, record.version):
            return False
        if not self._views.is_untouched(record.subscription):
            return False
        session.same = self.version
        return True

    def _messages(self, name: str, views: ViewCache) -> Iterable[Message]:
        session = self._sessions.get(name)
        if session is None:
            return
        again, session.again = session.again, None
        record = self._clients.get(name)
        if session.clone is not None and record is not None:
            number, session.clone = session.clone, None
            session.sent = self.version
            session.is_waiting = False
            yield replace(
                self._clone_answer(record, number, views), shared_version=session.shared_version
            )
        elif again is not None:
            session.is_waiting = False
            if record is None:
                del self._sessions[name]
            yield again
        elif record is not None:
            was_requested, session.is_waiting = session.is_waiting, False
            since = max(session.sent, record.version)
            if since < self._log.start:
                return
            same = session.same if session.same_as == since else since
            message = self._update(record, since, same, views)
            if was_requested or message.patch is not None or message.reports:
                session.sent = self.version
                yield message
            elif message.epoch == message.since_epoch and not self._has_entries(name, same):
                session.same_as, session.same = since, self.version

    def _has_entries(self, client: str, since: int) -> bool:
        return any(entry.client == client for entry in self._log.after(since))

    def _clone_answer(self, record: ClientRecord, number: int, views: ViewCache) -> CloneAnswer:
        view = views.current(record.subscription)
        patch = self._tree.patch(self._tree.empty_view(), view, since=self.version)
        entries = self._log.after(max(record.version, self._log.start))
        unreported = 0
        if record.version < self._log.start:
            reported = sum(entry.client == record.client for entry in entries)
            unreported = max(0, record.decided - reported)
        return CloneAnswer(
            client=record.client,
            number=number,
            replica=record.replica,
            version=self.version,
            decided=record.decided,
            snapshot=patch or b"",
            reports=self._reports(record.client, entries, record.subscription, views),
            unreported=unreported,
            incarnation=self._incarnations.of(self.version),
        )

    def _update(
        self, record: ClientRecord, since: int, same: int, views: ViewCache
    ) -> UpdateMessage:
        """The message that brings a client from a version to the current one.

        Its restriction at the version ``same`` is equal to that at ``since``, and nothing between
        them is to be reported to it: a client that is found in vain for many rounds does not have
        the log read from ``since`` in each of them.
        """
        wanted = record.next_subscription or record.subscription
        patch = views.patch(record.subscription, wanted, same)
        return UpdateMessage(
            client=record.client,
            replica=record.replica,
            since=since,
            version=self.version,
            since_epoch=record.epoch,
            epoch=record.epoch + (record.next_subscription is not None),
            decided=record.decided,
            patch=patch,
            reports=self._reports(record.client, self._log.after(same), wanted, views),
            incarnation=self._incarnations.of(self.version),
            since_incarnation=self._incarnations.of(since),
        )

    def _reports(
        self,
        client: str,
        entries: Sequence[LogEntry],
        subscription: SyncSubscription,
        views: ViewCache,
    ) -> tuple[Report, ...]:
        """What entries of the log mean for a client with a subscription."""
        reports = [
            each.report for entry in entries for each in entry.reports if each.client == client
        ]
        own = [entry for entry in entries if entry.client == client]
        reports += self._not_selected(own, views.current(subscription)) if own else []
        return tuple(dict.fromkeys(reports))

    def _not_selected(self, entries: Iterable[LogEntry], view: View) -> list[Report]:
        """Reports about what a client put into the document and does not see."""
        reason = "the client's subscription does not select it"
        return [
            Report(Outcome.NOT_SELECTED, entry.number, node, "", reason)
            for entry in entries
            for effect in entry.effects
            if isinstance(effect, Insert | Copy | Move)
            and self._tree.exists(node := touched(effect))
            and self._tree.is_live(node)
            and not self._tree.is_in_view(node, view)
        ]

    def _trim(self) -> None:
        """Moves the start of the log to the oldest acknowledged version, or to the horizon."""
        is_large = self._log.operations > HORIZON_OPERATIONS
        removed_min = self._checkpoint_entries
        kept_max = self._horizon // 2 if removed_min is None else 2 * removed_min
        if len(self._log) <= kept_max and not is_large:
            return
        oldest = min((each.version for each in self._clients.values()), default=self.version)
        start = max(oldest, self.version - self._horizon)
        if is_large:
            start = max(start, self._log.start_of(HORIZON_OPERATIONS // 2))
        # A checkpoint costs as much as the document is large.
        elif start - self._log.start < max(1, kept_max // 2):
            return
        self._log.forget(start)
        self._history.forget(start)
        self._tree.forget(start)
        self._views.clear()
        with self._tree.at_version(start):
            snapshot = self._tree.snapshot()
        self._changes.checkpoint = Checkpoint(start, snapshot, self._incarnations.up_to(start))
