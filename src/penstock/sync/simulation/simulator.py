"""Runs random histories: clients that work offline, a network that loses, repeats and reorders, a
server that is killed and restored. Everything follows from a seed.

The checker compares each base with the restriction of the server's document at the same version
after every message, and at the end, when everybody has synchronised, with the reference. A second
one compares the reports that clients got with those in the server's log.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from penstock.errors import PenstockError, error
from penstock.sync.affected.change import Change
from penstock.sync.affected_search import IndexedClients
from penstock.sync.client import Client
from penstock.sync.client_transitions import ClientStatus
from penstock.sync.difference import submit_edited_tree
from penstock.sync.document_tree import DocumentTree
from penstock.sync.limits import SKIPPED_REPLICAS_MAX
from penstock.sync.messages import CloneAnswer, Message, Request
from penstock.sync.reference.restriction import restrict_to_subscription
from penstock.sync.server import Server
from penstock.sync.server_state import StoredState
from penstock.sync.simulation.report_checker import ReportChecker
from penstock.sync.simulation.workload import (
    NAMESPACES,
    random_document,
    random_edit,
    random_rare_statement,
    random_statement,
    random_subscription,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOptions:
    """The faults and the size of a history."""

    clients: int = 3
    steps: int = 150
    document_nodes: int = 16
    loss: float = 0.1
    """Probability that a message is lost."""
    repetition: float = 0.1
    """Probability that a message is delivered twice."""
    reordering: float = 0.2
    """Probability that a message is overtaken by a later one."""
    offline: float = 0.05
    """Probability of a step that takes a client offline, or back."""
    kill: float = 0.01
    """Probability of a step that kills the server and restores it from what is stored."""
    subscription_change: float = 0.03
    horizon: int = 24
    """Entries of the server's log; small, so that clients have to clone again."""
    edit: float = 0
    """Share of statements that are made of an edited file."""
    rare: float = 0
    """Share of statements of rare kinds."""
    backup: float = 0
    """Probability of a step that copies what is stored, or restores the server from the copy, so
    that it loses what it has decided since."""


def options_of_seed(seed: int) -> HistoryOptions:
    """Options that vary with the seed: from no faults to many, from few clients to more."""
    rng = random.Random(-seed - 1)
    return HistoryOptions(
        clients=rng.choice((2, 3, 3, 5)),
        steps=rng.choice((60, 150, 150, 300)),
        document_nodes=rng.choice((4, 16, 16, 40)),
        loss=rng.choice((0, 0.1, 0.4)),
        repetition=rng.choice((0, 0.1, 0.4)),
        reordering=rng.choice((0, 0.2, 0.8)),
        offline=rng.choice((0, 0.05, 0.2)),
        kill=rng.choice((0, 0.01, 0.1)),
        subscription_change=rng.choice((0, 0.03, 0.1)),
        horizon=rng.choice((8, 24, 1_000)),
        edit=rng.choice((0, 0.1, 0.5)),
        rare=rng.choice((0, 0.2, 0.5)),
        backup=rng.choice((0, 0, 0.03)),
    )


STATEMENT_NODES_MAX = 300
"""Nodes that a statement may create. Random copies of everything into everything would else make
documents of millions of nodes, which show nothing that smaller ones do not."""


@dataclass(slots=True)
class HistorySummary:
    """What happened in a history."""

    statements: int = 0
    refused: int = 0
    messages: int = 0
    lost: int = 0
    kills: int = 0
    restorations: int = 0
    clones: int = 0
    reports: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)


class Divergence(AssertionError):  # noqa: N818
    """A cache differs from the restriction of the server's document."""


def run_history(seed: int, options: HistoryOptions | None = None) -> HistorySummary:
    """Runs the history of a seed.

    Raises
    ------
    Divergence
        A base differs from the restriction, or the clients cannot synchronise.
    """
    simulation = _Simulation(seed, options or HistoryOptions())
    simulation.run()
    return simulation.summary


def _copy(state: StoredState) -> StoredState:
    return StoredState(
        state.checkpoint, list(state.entries), dict(state.clients), state.next_replica
    )


class _RecordingSearch(IndexedClients):
    """Remembers which clients it found last."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def affected(self, changes: Sequence[Change]) -> Iterable[str]:
        """The clients whose subscriptions observe what changed."""
        self.found = set(super().affected(changes))
        return self.found


class _Simulation:
    def __init__(self, seed: int, options: HistoryOptions) -> None:
        self._seed = seed
        self._options = options
        self._rng = random.Random(seed)
        document = random_document(self._rng, size=options.document_nodes)
        self._search = _RecordingSearch()
        self._server = Server.of_document(
            document, horizon=options.horizon, search=self._search, incarnation=1
        )
        self._round_version = 0
        checkpoint = self._server.take_changes().checkpoint
        assert checkpoint is not None
        self._store = StoredState(checkpoint)
        self._clients = {
            name: Client(name, random_subscription(self._rng))
            for name in (f"client{number}" for number in range(options.clients))
        }
        self._starts = 1
        self._backup: StoredState | None = None
        self._replicas = self._store.next_replica
        """The replicas before this number may have been given away, also by a server that did not
        keep it."""
        self._strangers: set[str] = set()
        """Clients that have heard nothing since the server was restored from the backup."""
        self._offline: set[str] = set()
        self._to_server: list[Request] = []
        self._to_clients: list[Message] = []
        self._report_checker = ReportChecker()
        self.summary = HistorySummary()

    def run(self) -> None:
        if self._rng.random() < 0.9:
            self._quiesce()
        for _ in range(self._options.steps):
            self._step()
        self._quiesce()
        for client in self._clients.values():
            self._check_finally(client)
        if problem := self._report_checker.problem():
            raise self._divergence(problem)
        self._check_store()

    def _step(self) -> None:
        rng, options = self._rng, self._options
        client = rng.choice(list(self._clients.values()))
        chance = rng.random()
        if chance < options.kill:
            self._kill()
            self._restart(client)
        elif chance < options.kill + options.offline:
            self._offline ^= {client.name}
            if client.name in self._offline:
                self._server.disconnect(client.name)
        elif chance < options.kill + options.offline + options.subscription_change:
            client.subscribe(random_subscription(rng))
        elif chance < (
            options.kill + options.offline + options.subscription_change + options.backup
        ):
            self._back_up_or_restore()
        else:
            rng.choice(
                [
                    *[self._statement] * 4,
                    self._undo,
                    *[self._request] * 2,
                    *[self._deliver] * 4,
                    *[self._round] * 2,
                ]
            )(client)

    def _statement(self, client: Client) -> None:
        if client.status is ClientStatus.NEW or (not client.version and not client.tree.root):
            return
        options, before = self._options, client.canonical_xml()
        try:
            if options.edit and self._rng.random() < options.edit:
                self._edit(client)
            else:
                is_rare = options.rare and self._rng.random() < options.rare
                make = random_rare_statement if is_rare else random_statement
                client.update(
                    make(self._rng, client.tree),
                    namespaces=dict(NAMESPACES),
                    nodes_max=STATEMENT_NODES_MAX,
                )
            self.summary.statements += 1
        except PenstockError as refused:
            self.summary.refused += 1
            if client.canonical_xml() != before:
                raise self._divergence("a refused statement changed the cache") from refused

    def _edit(self, client: Client) -> None:
        """Makes a statement of an edited file, which the cache then equals."""
        document = client.canonical_xml()
        if not document:
            raise error("update.no-target", "an empty file is not edited")
        edited = DocumentTree.read(random_edit(self._rng, document, nodes_max=STATEMENT_NODES_MAX))
        submit_edited_tree(client, edited)
        if client.canonical_xml(exclusive=True) != edited.canonical_xml(exclusive=True):
            raise self._divergence(f"{client.name} has not what was edited")

    def _undo(self, client: Client) -> None:
        try:
            if self._rng.random() < 0.6:
                client.undo()
            else:
                client.redo()
        except PenstockError:
            self.summary.refused += 1

    def _request(self, client: Client) -> None:
        if client.name not in self._offline:
            self._send_requests([client.request()])

    def _send_requests(self, requests: Iterable[Request]) -> None:
        for request in requests:
            self._to_server += [request] * self._copies()

    def _copies(self) -> int:
        """How often a message arrives."""
        self.summary.messages += 1
        if self._rng.random() < self._options.loss:
            self.summary.lost += 1
            return 0
        return 2 if self._rng.random() < self._options.repetition else 1

    def _position(self, link: Sequence[object]) -> int:
        """Which message of a link arrives next."""
        if self._rng.random() < self._options.reordering:
            return self._rng.randrange(len(link))
        return 0

    def _deliver(self, _client: Client) -> None:
        if self._to_server and (not self._to_clients or self._rng.random() < 0.5):
            self._server.receive(self._to_server.pop(self._position(self._to_server)))
        elif self._to_clients:
            message = self._to_clients.pop(self._position(self._to_clients))
            if message.client not in self._offline:
                self._hand_over(message)

    def _hand_over(self, message: Message) -> None:
        client = self._clients[message.client]
        before = client.status, client.version
        answers = self._receive(client, message)
        if (client.status, client.version) != before:
            self._check_base(client)
        self._send_requests(answers)

    def _receive(self, client: Client, message: Message) -> list[Request]:
        before = client.status, client.version, client.pending
        answers = client.receive(message)
        self._strangers.discard(client.name)
        if before[0] is ClientStatus.CLONING and client.status is ClientStatus.CLONED:
            assert isinstance(message, CloneAnswer)
            self.summary.clones += 1
            self._report_checker.cloned(message, before[1], before[2])
        self._count_reports(client)
        return answers

    def _count_reports(self, client: Client) -> None:
        for report in client.take_reports():
            self._report_checker.delivered(client.name, report)
            self.summary.reports += 1
            outcomes = self.summary.outcomes
            outcomes[report.outcome] = outcomes.get(report.outcome, 0) + 1

    def _round(self, _client: Client) -> None:
        for message in self._finish_round():
            self._to_clients += [message] * self._copies()

    def _finish_round(self) -> list[Message]:
        log_start = self._server.log.start
        messages = self._server.round()
        changes = self._server.take_changes()
        self._report_checker.decided(changes.entries, messages, log_start)
        self._store.write(changes)
        self._replicas = max(self._replicas, self._store.next_replica)
        changed = self._changed_restrictions()
        self._round_version = self._server.version
        if missed := changed - self._search.found:
            raise self._divergence(f"affected clients are not found: {sorted(missed)}")
        return messages

    def _changed_restrictions(self) -> set[str]:
        """The clients whose restriction differs from that at the last round."""
        tree = self._server.tree
        if self._round_version in (self._server.version, *range(self._server.log.start)):
            return set()
        changed = set()
        for name, client in self._clients.items():
            record = self._server.client(name)
            if record is None or record.subscription != client.subscription:
                continue
            query = record.subscription.compiled
            now = tree.restricted(tree.view(query)).canonical_xml()
            with tree.at_version(self._round_version):
                before = tree.restricted(tree.view(query)).canonical_xml()
            if now != before:
                changed.add(name)
        return changed

    def _kill(self) -> None:
        """Kills the server; what it did since the last round is lost."""
        self.summary.kills += 1
        self._start()

    def _start(self) -> None:
        """Starts a server from what is stored. It skips replicas, as one with a random incarnation
        does almost certainly."""
        self._starts += 1
        skipped = self._replicas - self._store.next_replica
        self._search = _RecordingSearch()
        self._server = Server(
            self._store,
            horizon=self._options.horizon,
            search=self._search,
            incarnation=self._starts * SKIPPED_REPLICAS_MAX + skipped,
        )
        self._round_version = self._server.version
        self._to_clients.clear()

    def _back_up_or_restore(self) -> None:
        if self._backup is None or self._rng.random() < 0.5:
            self._backup = _copy(self._store)
            return
        self.summary.restorations += 1
        self._store = _copy(self._backup)
        self._start()
        pending = {
            name: {statement.number for statement in client.pending}
            for name, client in self._clients.items()
        }
        self._report_checker.restored(self._server.version, pending)
        self._strangers = set(self._clients)

    def _restart(self, client: Client) -> None:
        """Stops a client and restores it from its state."""
        restored = Client.restore(client.state())
        if restored.canonical_xml() != client.canonical_xml():
            raise self._divergence("the restored cache differs")
        self._clients[client.name] = restored

    def _quiesce(self) -> None:
        """Lets everybody synchronise, without faults."""
        self._offline.clear()
        for _ in range(20):
            for request in self._to_server:
                self._server.receive(request)
            self._to_server.clear()
            messages = self._to_clients + self._finish_round()
            self._to_clients = []
            for message in messages:
                client = self._clients[message.client]
                self._to_server += self._receive(client, message)
            if not self._to_server and all(map(self._is_settled, self._clients.values())):
                return
            self._to_server += [client.request() for client in self._clients.values()]
        raise self._divergence("the clients cannot synchronise")

    def _is_settled(self, client: Client) -> bool:
        return (
            client.name not in self._strangers
            and client.status is ClientStatus.CLONED
            and not client.pending
            and not client.has_subscription_change
            and client.version == self._server.version
        )

    # Checks

    def _check_base(self, client: Client) -> None:
        """Compares a base with the restriction at its version, if the server knows that."""
        if client.status is not ClientStatus.CLONED:
            return
        tree = self._server.tree
        if not self._server.log.start <= client.version <= self._server.version:
            return
        with tree.at_version(client.version):
            view = tree.view(client.subscription.compiled)
            expected = tree.restricted(view).canonical_xml()
        if client.base_xml() != expected:
            raise self._divergence(f"{client.name} has {client.base_xml()!r}, not {expected!r}")

    def _check_finally(self, client: Client) -> None:
        self._check_base(client)
        document = self._server.tree.canonical_xml()
        expected = restrict_to_subscription(document, client.subscription).canonical_xml()
        if client.canonical_xml() != expected:
            message = f"{client.name} has {client.canonical_xml()!r}, not {expected!r}"
            raise self._divergence(f"{message}, of {document!r}")

    def _check_store(self) -> None:
        restored = Server(self._store, horizon=self._options.horizon)
        if restored.tree.canonical_xml() != self._server.tree.canonical_xml():
            raise self._divergence("the restored document differs")

    def _divergence(self, message: str) -> Divergence:
        return Divergence(f"seed {self._seed}: {message}")
