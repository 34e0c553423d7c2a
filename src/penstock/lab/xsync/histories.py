"""The paper's conflicts, its resolution and its messages, beside ours, on generated histories."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress

from penstock.errors import PenstockError
from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import ResultTable
from penstock.lab.xsync.scale import Scale
from penstock.sync import Client, DocumentTree, Outcome, Server
from penstock.sync.baselines.paper_cascade import PaperCascade, conflict_counts
from penstock.sync.baselines.statement_forwarding import NO_CLIENT, ForwardingServer
from penstock.sync.simulation.workload import (
    NAMESPACES,
    random_document,
    random_statement,
    random_subscription,
)

CLIENTS = 3
ROUNDS = 5
STATEMENTS = 3
"""Statements of each client in a round, made before it knows those of the others."""

DOCUMENT_NODES = 16


def conflicts(scale: Scale, progress: Progress) -> ResultTable:
    """Count conflicts by paths and by identities, and what each resolution undoes."""
    progress("lab xsync: conflicts")
    rows = [
        (name, *_totals(scale.histories, is_paper))
        for name, is_paper in (("Penstock", False), ("XSync's cascade", True))
    ]
    return ResultTable(
        "conflicts",
        "Conflicts between statements, and statements that are undone",
        ("resolution", "statements", "direct, by paths", "syntax, by paths", "exact", "undone"),
        tuple(rows),
        (
            f"{scale.histories} histories of {CLIENTS} clients, {ROUNDS} rounds, {STATEMENTS}"
            " statements of each client in a round. By paths: pairs that the paper suspects,"
            " without the document. Exact: statements that another one overwrites, deletes under"
            " or undoes, by node identities. There are few names, so paths overlap often.",
        ),
    )


def _totals(histories: int, is_paper: bool) -> tuple[int, int, int, int, int]:
    totals: Counter[str] = Counter()
    for seed in range(histories):
        rng = random.Random(seed)
        policy = PaperCascade(dict(NAMESPACES)) if is_paper else None
        document = random_document(rng, size=DOCUMENT_NODES)
        server = Server.of_document(document, policy=policy)
        clients = [Client(f"client{number}", random_subscription(rng)) for number in range(CLIENTS)]
        _synchronise(server, clients)
        for _ in range(ROUNDS):
            for client in clients:
                for _ in range(STATEMENTS):
                    with suppress(PenstockError):
                        client.update(
                            random_statement(rng, client.tree), namespaces=dict(NAMESPACES)
                        )
            _synchronise(server, clients)
        log = list(server.log)
        counts = conflict_counts(log, dict(NAMESPACES))
        totals["statements"] += len(log)
        totals["direct"] += counts.direct_by_paths
        totals["syntax"] += counts.syntax_by_paths
        totals["exact"] += counts.exact
        totals["undone"] += sum(
            len({each.statement for each in client.take_reports() if _is_undone(each.outcome)})
            for client in clients
        )
    return (
        totals["statements"],
        totals["direct"],
        totals["syntax"],
        totals["exact"],
        totals["undone"],
    )


def _is_undone(outcome: Outcome) -> bool:
    return outcome is Outcome.UNDONE


def _synchronise(server: Server, clients: list[Client]) -> None:
    by_name = {client.name: client for client in clients}
    for client in clients:
        server.receive(client.request())
    for message in server.round():
        by_name[message.client].receive(message)


def forwarding(scale: Scale, progress: Progress) -> ResultTable:
    """Forward statements as the paper does, and compare each cache with the restriction."""
    progress("lab xsync: forwarded statements")
    rows = [
        (name, scale.histories, *_forwarding_totals(scale.histories, is_concurrent))
        for name, is_concurrent in (("one author", False), ("every client", True))
    ]
    return ResultTable(
        "forwarding",
        "Caches that diverge if statements are forwarded and filtered by the client",
        (
            "authors",
            "histories",
            "statements",
            "undone",
            "caches",
            "diverged caches",
            "histories with one",
        ),
        tuple(rows),
        (
            f"The paper's messages to {CLIENTS} clients in {ROUNDS} rounds, undone by its cascade,"
            " filtered by its clients. One author, who caches everything, makes a statement in a"
            " round; or every client makes one on its own cache, before it knows those of the"
            " others. With our messages no cache diverges: the simulator compares each with the"
            " restriction after every message.",
        ),
    )


def _forwarding_totals(histories: int, is_concurrent: bool) -> tuple[int, int, int, int, int]:
    statements = undone = diverged_caches = diverged_histories = 0
    for seed in range(histories):
        rng = random.Random(seed)
        document = random_document(rng, size=DOCUMENT_NODES)
        subscriptions = {f"client{number}": random_subscription(rng) for number in range(CLIENTS)}
        server = ForwardingServer(DocumentTree.read(document), subscriptions, dict(NAMESPACES))
        diverged: set[str] = set()
        for _ in range(ROUNDS):
            round_ = _round_of(rng, server, is_concurrent)
            statements += len(round_)
            diverged |= {each.client for each in server.round(round_)}
        undone += server.undone
        diverged_caches += len(diverged)
        diverged_histories += bool(diverged)
    return statements, undone, CLIENTS * histories, diverged_caches, diverged_histories


def _round_of(
    rng: random.Random, server: ForwardingServer, is_concurrent: bool
) -> list[tuple[str, str]]:
    """A statement of each author that its cache does not refuse."""
    caches = server.caches if is_concurrent else {NO_CLIENT: server.document}
    round_ = [(author, random_statement(rng, cache)) for author, cache in caches.items()]
    return [each for each in round_ if server.accepts(*each)]
