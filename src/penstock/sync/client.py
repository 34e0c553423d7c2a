"""The client core: a cache that is changed offline and brought up to date. It does no I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from penstock.errors import PenstockError, error
from penstock.language.updates import Statement
from penstock.language.updates.parser import StatementPositions, parse_located_statement
from penstock.language.updates.printer import statement_text
from penstock.sync.client_state import ClientState, UndoableStatement
from penstock.sync.client_transitions import CLIENT_TRANSITIONS, ClientInput, ClientStatus
from penstock.sync.conflicts import touched
from penstock.sync.document_tree import DOCUMENT, DocumentTree, NodeId
from penstock.sync.inverses import inverse, repetition
from penstock.sync.limits import (
    PENDING_STATEMENTS_MAX,
    REQUEST_STATEMENTS_MAX,
    STATEMENT_NODES_MAX,
    STATEMENT_TEXT_CHARACTERS_MAX,
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
from penstock.sync.operations import Operation, apply
from penstock.sync.reports import Outcome, Report
from penstock.sync.resolution import resolve
from penstock.sync.statement_work import StatementWork
from penstock.sync.subscription import SyncSubscription
from penstock.sync.undo_history import UndoHistory


class Client:
    """A cache of the part of a document that a subscription selects.

    The *base* is the restriction of the server's document at a version. Statements are resolved on
    the cache (the base with what is pending), stay pending until the server has decided them, and
    are applied again on every new base.

    Parameters
    ----------
    name
        Identifies the client at the server.
    subscription
        What to cache.

    Examples
    --------
    >>> from penstock.sync import Client, Server, SyncSubscription
    >>> server = Server.of_document(b"<menu><dish>soup</dish></menu>")
    >>> client = Client("tablet", SyncSubscription("/menu/dish"))
    >>> server.receive(client.clone())
    >>> for message in server.round():
    ...     _ = client.receive(message)
    >>> client.update('/menu/dish/*!update("stew")')
    1
    >>> client.canonical_xml()
    b'<menu><dish>stew</dish></menu>'
    """

    def __init__(self, name: str, subscription: SyncSubscription) -> None:
        self.name: Final = name
        self.status = ClientStatus.NEW
        self.subscription = subscription
        """The subscription that the base is a restriction to."""
        self._wanted: SyncSubscription | None = None
        self._requested: SyncSubscription | None = None
        self._clone_number = 0
        self._tree = DocumentTree()
        self._tree_version = 0
        self._replica = 0
        self._version = 0
        self._incarnation = 0
        self._epoch = 0
        self._next_node = 0
        self._next_number = 1
        self._sent_number = 0
        self._pending: list[SubmittedStatement] = []
        self._undo_history = UndoHistory()
        self._reports: list[Report] = []
        self._suspended: set[tuple[int, NodeId]] = set()
        """Statements and nodes of operations that the cache lacks the nodes for, and that were
        reported or made so."""

    # State

    def state(self) -> ClientState:
        """What to keep while the client is not running."""
        with self._tree.at_version(0):
            base = self._tree.snapshot()
        return ClientState(
            name=self.name,
            status=self.status,
            subscription=self.subscription,
            wanted=self._wanted,
            requested=self._requested,
            clone_number=self._clone_number,
            replica=self._replica,
            version=self._version,
            epoch=self._epoch,
            next_node=self._next_node,
            next_number=self._next_number,
            sent_number=self._sent_number,
            base=base,
            pending=tuple(self._pending),
            undoable=tuple(self._undo_history.undoable),
            redoable=tuple(self._undo_history.redoable),
            reports=tuple(self._reports),
            incarnation=self._incarnation,
        )

    @classmethod
    def restore(cls, state: ClientState) -> Client:
        """The client of :meth:`state`."""
        client = cls(state.name, state.subscription)
        client.status = state.status
        client._wanted = state.wanted
        client._requested = state.requested
        client._clone_number = state.clone_number
        client._replica = state.replica
        client._version = state.version
        client._incarnation = state.incarnation
        client._epoch = state.epoch
        client._next_node = state.next_node
        client._next_number = state.next_number
        client._sent_number = state.sent_number
        client._tree = DocumentTree.from_snapshot(state.base)
        client._pending = list(state.pending)
        client._undo_history = UndoHistory(state.undoable, state.redoable)
        client._apply_pending()
        client._reports = list(state.reports)
        return client

    @property
    def version(self) -> int:
        """The version of the base."""
        return self._version

    @property
    def pending(self) -> Sequence[SubmittedStatement]:
        """The statements that the server has not decided, as far as the client knows."""
        return tuple(self._pending)

    @property
    def has_subscription_change(self) -> bool:
        """Whether a change of the subscription is not answered yet."""
        return self._wanted is not None or self._requested is not None

    @property
    def tree(self) -> DocumentTree:
        """The cache; read only."""
        return self._tree

    def canonical_xml(self, *, exclusive: bool = False) -> bytes:
        """The cache as canonical XML; empty if nothing is selected."""
        return self._tree.canonical_xml(exclusive=exclusive)

    def base_xml(self, *, exclusive: bool = False) -> bytes:
        """The base as canonical XML."""
        with self._tree.at_version(0):
            return self._tree.canonical_xml(exclusive=exclusive)

    def take_reports(self) -> list[Report]:
        """What happened to the client's operations since the last call."""
        reports, self._reports = self._reports, []
        return reports

    def _change_status(self, happened: ClientInput) -> None:
        self.status = CLIENT_TRANSITIONS[self.status][happened]

    def _require_cache(self) -> None:
        if self._replica == 0:
            raise error("sync.not-cloned", "the client has no cache yet")

    # Requests

    def clone(self) -> CloneRequest:
        """Asks for a new base. What is pending stays."""
        self._change_status(ClientInput.CLONE)
        self._clone_number += 1
        if self._wanted is not None:
            self.subscription = self._wanted
        elif self._requested is not None:
            self.subscription = self._requested
        self._wanted = self._requested = None
        return self._clone_request()

    def _clone_request(self) -> CloneRequest:
        return CloneRequest(
            client=self.name,
            number=self._clone_number,
            subscription=self.subscription,
            previous=self._replica,
            version=self._version,
            incarnation=self._incarnation,
            decided=self._undecided_number - 1,
        )

    def request(self, *, submit: bool = True) -> Request:
        """What to send to the server: acknowledgement, pending statements, the wish for news.

        While a clone is requested, that request again: the first may be lost. Without ``submit``,
        no statements are sent.
        """
        if self.status is ClientStatus.NEW:
            return self.clone()
        if self.status is ClientStatus.CLONING:
            return self._clone_request()
        if self._requested is None and self._wanted is not None:
            self._requested, self._wanted = self._wanted, None
        statements = tuple(self._pending[:REQUEST_STATEMENTS_MAX]) if submit else ()
        if statements:
            self._sent_number = max(self._sent_number, statements[-1].number)
        return SyncRequest(
            client=self.name,
            replica=self._replica,
            version=self._version,
            epoch=self._epoch,
            statements=statements,
            subscription=self._requested,
            incarnation=self._incarnation,
        )

    def subscribe(self, subscription: SyncSubscription) -> None:
        """Changes the subscription with the next request. The cache keeps what both select."""
        self._wanted = subscription

    # Messages

    def receive(self, message: Message) -> list[Request]:
        """A message of the server; returns what to send because of it.

        Messages may be lost, repeated and reordered.
        """
        happened = self._classify(message)
        self._change_status(happened)
        match happened:
            case ClientInput.CLONE_ANSWER:
                assert isinstance(message, CloneAnswer)
                self._replace_cache(message)
            case ClientInput.UPDATE_MESSAGE:
                assert isinstance(message, UpdateMessage)
                self._advance(message)
            case ClientInput.CLONE_AGAIN:
                self._clone_number += 1
                return [self._clone_request()]
            case ClientInput.GAP:
                return [self.request()]
        return []

    def _classify(self, message: Message) -> ClientInput:
        if message.client != self.name:
            return ClientInput.STALE_MESSAGE
        if isinstance(message, CloneAnswer):
            is_expected = (
                self.status is ClientStatus.CLONING and message.number == self._clone_number
            )
            return ClientInput.CLONE_ANSWER if is_expected else ClientInput.STALE_MESSAGE
        if self.status is not ClientStatus.CLONED or message.replica != self._replica:
            return ClientInput.STALE_MESSAGE
        if isinstance(message, CloneAgain):
            is_current = message.version == self._version
            return ClientInput.CLONE_AGAIN if is_current else ClientInput.STALE_MESSAGE
        if (message.since, message.since_epoch) == (self._version, self._epoch):
            if 0 not in (message.since_incarnation, self._incarnation) and (
                message.since_incarnation != self._incarnation
            ):
                # A late request acknowledged an older version to a restored server; this one is not
                # that of the same number here.
                return ClientInput.GAP
            # The server has lost statements that it had decided, or the client.
            has_lost = message.decided + 1 < self._undecided_number
            return ClientInput.CLONE_AGAIN if has_lost else ClientInput.UPDATE_MESSAGE
        is_news = message.version > self._version or message.epoch > self._epoch
        return ClientInput.GAP if is_news else ClientInput.STALE_MESSAGE

    def _replace_cache(self, answer: CloneAnswer) -> None:
        self._tree = DocumentTree()
        self._tree_version = 0
        if answer.snapshot:
            self._tree.apply_patch(answer.snapshot)
        self._enter_history(answer)
        self._replica = answer.replica
        self._version = answer.version
        self._incarnation = answer.incarnation
        self._epoch = 0
        self._next_node = 0
        self._next_number = max(self._next_number, answer.decided + 1)
        self._report_unknown(answer.unreported)
        self._settle(answer.decided)
        self._reports += answer.reports
        self._apply_pending()

    def _report_unknown(self, unreported: int) -> None:
        """Reports the pending statements that the server decided, it does not know how."""
        reason = "the server decided the statement before its log starts"
        self._reports += [
            Report(Outcome.UNKNOWN, statement.number, touched(statement.operations[0]), "", reason)
            for statement in self._pending
            if statement.number <= unreported
        ]

    @property
    def _undecided_number(self) -> int:
        """Number of the first statement that is not known to be decided."""
        return self._pending[0].number if self._pending else self._next_number

    def _enter_history(self, answer: CloneAnswer) -> None:
        """Goes on from the last version that the server has, too.

        If the server was restored from an older state, statements that it had decided are lost, and
        what is pending counts as made on the shared version. The restored server has not decided
        it, whatever numbers it has decided: it gets the next ones.
        """
        gone = range(answer.decided + 1, self._undecided_number)
        shared = answer.shared_version
        if shared is None:
            shared = 0 if gone else self._version
        is_lost = shared < self._version
        if is_lost:
            self._report_lost(gone)
            self._pending = [replace(each, base=min(each.base, shared)) for each in self._pending]
        if is_lost or gone:
            self._number_anew(answer.decided + 1 - self._undecided_number)
            self._undo_history.forget_numbers(gone if is_lost else ())

    def _report_lost(self, numbers: range) -> None:
        about = {each.number: touched(each.operations[0]) for each in self._undo_history.undoable}
        reason = "the server was restored from an older state, which does not have the statement"
        self._reports += [
            Report(Outcome.LOST, number, about.get(number, DOCUMENT), "", reason)
            for number in numbers[-PENDING_STATEMENTS_MAX:]
        ]

    def _number_anew(self, difference: int) -> None:
        """Numbers what is pending as the server expects it, without gaps. It counts as sent, so
        that :meth:`undo` does not withdraw it."""
        self._pending = [replace(each, number=each.number + difference) for each in self._pending]
        self._suspended = {(number + difference, node) for number, node in self._suspended}
        self._next_number += difference
        self._sent_number = self._next_number - 1

    def _advance(self, message: UpdateMessage) -> None:
        if message.epoch != self._epoch and self._requested is None:
            raise error("sync.message", "the message is about a subscription nobody asked for")
        self._tree.undo_after(0)
        if message.patch is not None:
            self._tree.apply_patch(message.patch)
        self._version = message.version
        self._incarnation = message.incarnation
        if message.epoch != self._epoch:
            assert self._requested is not None
            self.subscription, self._requested = self._requested, None
            self._epoch = message.epoch
        self._settle(message.decided)
        self._reports += message.reports
        self._apply_pending()

    def _settle(self, decided: int) -> None:
        """Drops the statements that the server has decided."""
        self._pending = [each for each in self._pending if each.number > decided]
        self._suspended = {each for each in self._suspended if each[0] > decided}

    def _apply_pending(self) -> None:
        """Applies pending statements to a new base."""
        for statement in self._pending:
            self._begin_statement()
            for operation in statement.operations:
                try:
                    apply(operation, self._tree)
                except PenstockError as refused:
                    self._suspend(statement, operation, refused)

    def _suspend(
        self, statement: SubmittedStatement, operation: Operation, refused: PenstockError
    ) -> None:
        key = statement.number, touched(operation)
        if key not in self._suspended:
            self._suspended.add(key)
            self._reports.append(Report(Outcome.SUSPENDED, *key, "", refused.message))

    def _begin_statement(self) -> None:
        self._tree_version += 1
        self._tree.set_version(self._tree_version)

    # Statements

    def update(
        self,
        statement: Statement | str,
        *,
        namespaces: dict[str, str] | None = None,
        default_namespace: str | None = None,
        nodes_max: int = STATEMENT_NODES_MAX,
    ) -> int:
        """Applies a statement to the cache; returns its number.

        Parameters
        ----------
        statement
            The statement, or its text.
        namespaces
            The prefixes in a text.
        default_namespace
            The namespace of names without a prefix in a text.
        nodes_max
            Nodes that the statement may create.

        Raises
        ------
        UpdateError
            The statement was refused, and nothing was changed; ``where`` is the position in its
            text.
        """
        positions: StatementPositions | None = None
        if isinstance(statement, str):
            text = statement
            parsed, positions = parse_located_statement(
                text, namespaces=namespaces, default_namespace=default_namespace
            )
        else:
            text = _text_of(statement)
            parsed = statement
        return self.change(
            lambda: resolve(
                parsed, self._tree, self._new_id, nodes_max=nodes_max, positions=positions
            ),
            text=text,
        )

    def change(self, make: Callable[[], tuple[Operation, ...]], *, text: str = "") -> int:
        """Makes a statement of the operations that a function applies to :attr:`tree`.

        If the function raises, nothing is changed.
        """
        self._require_cache()
        self._require_room()
        before = self._tree_version
        self._begin_statement()
        try:
            operations = make()
            if not operations:
                raise error("update.no-target", "the statement changes nothing")
        except PenstockError:
            self._tree.undo_after(before)
            raise
        undone = self._inverses(operations, before)
        number = self._append(operations, text)
        self._undo_history.made(UndoableStatement(number, operations, undone, text))
        return number

    def new_identity(self) -> NodeId:
        """An identity for a new node."""
        self._require_cache()
        return self._new_id()

    def _new_id(self) -> NodeId:
        self._next_node += 1
        return f"{self._replica}.{self._next_node}"

    def _require_room(self) -> None:
        if len(self._pending) >= PENDING_STATEMENTS_MAX:
            raise error("sync.pending", f"{PENDING_STATEMENTS_MAX} statements are pending")

    def _inverses(self, operations: Sequence[Operation], before: int) -> tuple[Operation, ...]:
        """What undoes operations that were applied since a version of the tree, last first."""
        self._tree.undo_after(before)
        self._tree.set_version(self._tree_version)
        inverses: list[Operation] = []
        for operation in operations:
            inverses.append(inverse(operation, self._tree))
            apply(operation, self._tree)
        return tuple(reversed(inverses))

    def _append(
        self, operations: tuple[Operation, ...], text: str, unseen: tuple[NodeId, ...] = ()
    ) -> int:
        number = self._next_number
        self._next_number += 1
        self._pending.append(
            SubmittedStatement(
                number=number,
                base=self._version,
                operations=operations,
                text=text[:STATEMENT_TEXT_CHARACTERS_MAX],
                unseen=unseen,
            )
        )
        return number

    # Undo and redo

    def undo(self) -> int:
        """Undoes the client's last statement that is not undone; returns its number.

        A statement that was not sent is withdrawn; otherwise a statement that undoes it becomes
        pending. What the cache does not have any more, such as what a deletion removed that the
        server has decided already, is undone by the server, and is in the cache with its answer.

        Raises
        ------
        PenstockError
            ``sync.undo``: there is none. ``sync.pending``, ``update.limit``: a limit is exceeded;
            it can be undone later.
        """
        self._require_cache()
        done = self._undo_history.last
        last = self._pending[-1] if self._pending else None
        if last is not None and last.number == done.number > self._sent_number:
            self._pending.pop()
            self._next_number = done.number
            self._rebuild()
            self._undo_history.undone(replace(done, number=0))
            return done.number
        again = tuple(map(repetition, done.operations))
        number, redo = self._perform(done.inverse, again, f"undo {done.text}")
        self._undo_history.undone(UndoableStatement(number, redo, done.inverse, done.text))
        return done.number

    def redo(self) -> int:
        """Does what was undone last again; returns the number of the new statement.

        Raises
        ------
        PenstockError
            As :meth:`undo`.
        """
        self._require_cache()
        undone = self._undo_history.last_undone
        number, back = self._perform(undone.operations, undone.inverse, undone.text)
        self._undo_history.redone(UndoableStatement(number, undone.operations, back, undone.text))
        return number

    def _perform(
        self, operations: tuple[Operation, ...], back: tuple[Operation, ...], text: str
    ) -> tuple[int, tuple[Operation, ...]]:
        """Makes a statement of operations; returns its number and what undoes it.

        Those that the cache lacks the nodes for are submitted all the same: the server has the
        nodes, unless somebody deleted them, which it reports.

        Parameters
        ----------
        operations
            The operations.
        back
            What undoes them if the cache cannot tell how the document is before them.
        text
            Of the statement.
        """
        self._require_room()
        before = self._tree_version
        self._begin_statement()
        inverses: list[Operation] = []
        suspended: list[NodeId] = []
        work = StatementWork(self._tree, STATEMENT_NODES_MAX)
        for operation in operations:
            try:
                work.add(operation)
            except PenstockError:
                self._tree.undo_after(before)
                raise
            try:
                undoing = inverse(operation, self._tree)
                apply(operation, self._tree)
                inverses.append(undoing)
            except PenstockError:
                suspended.append(touched(operation))
        unseen = dict.fromkeys(node for node in suspended if not self._tree.exists(node))
        number = self._append(operations, text, tuple(unseen))
        self._suspended.update((number, node) for node in suspended)
        return number, back if suspended else tuple(reversed(inverses))

    def _rebuild(self) -> None:
        """Applies what is pending to the base again."""
        self._tree.undo_after(0)
        self._apply_pending()


def _text_of(statement: Statement) -> str:
    try:
        return statement_text(statement)
    except PenstockError:
        return f"{statement.function.value} with a value that has no literal"
