"""The paper's conflicts, cascade and messages, and how they differ from ours."""

from __future__ import annotations

import pytest

from penstock.language.updates import parse_statement
from penstock.sync import Client, DocumentTree, Outcome, Server, SyncSubscription
from penstock.sync.baselines.paper_cascade import (
    PaperCascade,
    conflict_counts,
    operation_table,
    undone_by_the_paper,
)
from penstock.sync.baselines.path_conflicts import ConflictKind, TableEntry, path_conflicts
from penstock.sync.baselines.statement_forwarding import ForwardingServer
from support.contracts.native_engines import needs_native
from support.sync_network import Neighbourhood

pytestmark = needs_native


def kinds(*statements: str) -> list[ConflictKind]:
    table = [
        TableEntry(order, f"client{order}", 1, parse_statement(text))
        for order, text in enumerate(statements)
    ]
    return [conflict.kind for conflict in path_conflicts(table)]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("/a/b!delete()", "/a/b/c!insert(d)", [ConflictKind.DIRECT]),
        ("/a/b!delete()", "/a/c!insert(d)", []),
        ("/a/*!update('x')", "/a/b!insert(d)", [ConflictKind.DIRECT]),
        ("/a/x!move(/a/b)", "/a/b!insert(c)", [ConflictKind.DIRECT]),
        ("/a/x!move(/a/b)", "/a/c!insert(c)", []),
        ("/a/x!copy(/a/b)", "/a/b!insert(c)", []),
        ("/a/b!insert(c)", "/a/b!insert(d)", [ConflictKind.SYNTAX]),
        ("/a/b!insert(c)", "/a/b!insertAfter(d)", []),
        ("/a/b!insertBefore(c)", "/a/b!copyAfter(//d)", [ConflictKind.SYNTAX]),
        ("//b!delete()", "/a/c//d!update('x')", [ConflictKind.DIRECT]),
        ("/a/x!moveAfter(../b)", "/a/b!delete()", [ConflictKind.DIRECT]),
        ("//(a/b)[0]!delete()", "/c/a/b!update('x')", [ConflictKind.DIRECT]),
    ],
)
def test_conflicts_by_prose_and_table_2(
    first: str, second: str, expected: list[ConflictKind]
) -> None:
    assert kinds(first, second) == expected


def test_statements_of_one_client_do_not_conflict() -> None:
    table = operation_table([("one", 1, "/a!delete()"), ("one", 2, "/a!update('b')")])
    assert path_conflicts(table) == []


def test_the_cascade_undoes_later_statements_of_the_client_too() -> None:
    table = operation_table(
        [
            ("one", 1, "/r/a!insert(x)"),
            ("one", 2, "/r/b!delete()"),
            ("one", 3, "/r/c!insert(y)"),
            ("two", 1, "/r/b/d!insert(z)"),
            ("two", 2, "undo something"),
        ]
    )
    undone = undone_by_the_paper(table)
    assert sorted((entry.client, entry.number) for entry in undone) == [("one", 2), ("one", 3)]


def test_the_cascade_can_be_selected_and_converges() -> None:
    server = Server.of_document(b"<r><a/><b><d/></b><c/></r>", policy=PaperCascade())
    clients = {name: Client(name, SyncSubscription("/*")) for name in ("one", "two")}
    for client in clients.values():
        server.receive(client.clone())
    for message in server.round():
        clients[message.client].receive(message)
    clients["one"].update("/r/b!delete()")
    clients["one"].update("/r/c!insert(y)")
    clients["two"].update("/r/b/d!insert(z)")
    for client in clients.values():
        server.receive(client.request())
    for message in server.round():
        clients[message.client].receive(message)
    document = server.tree.canonical_xml()
    assert document == b"<r><a></a><b><d><z></z></d></b><c></c></r>"
    assert [client.canonical_xml() for client in clients.values()] == [document] * 2
    reports = [(each.outcome, each.statement) for each in clients["one"].take_reports()]
    assert reports == [(Outcome.UNDONE, 1), (Outcome.UNDONE, 2)]


def test_paths_suspect_conflicts_that_identities_exclude() -> None:
    net = Neighbourhood(b"<r><a>1</a><a>2</a><b/></r>", one="/*", two="/*")
    net["one"].update("/r/a[0]/*!update('one')")
    net["two"].update("/r/a[1]/*!update('two')")
    net["two"].update("/r/b!insert(c)")
    net.push("one", "two")
    counts = conflict_counts(list(net.server.log))
    assert (counts.direct_by_paths, counts.syntax_by_paths, counts.exact) == (1, 0, 0)
    net["one"].update("/r/a[0]/*!update('three')")
    net["two"].update("/r/a[0]/*!update('four')")
    net.push("one", "two")
    assert conflict_counts(list(net.server.log)).exact == 1
    net.check()


DIVERGING = {
    "a position counts other nodes in the cache": (
        b"<r><a><k/>1</a><a>2</a><a><k/>3</a></r>",
        "/r/a[k]",
        "/r/a[2]/text()!update('x')",
    ),
    "what enters was never sent": (
        b"<r><a>1</a></r>",
        "/r/a[@k]",
        "/r/a!insert(@k/'v')",
    ),
    "what leaves stays": (
        b"<r><a k='v'>1</a></r>",
        "/r/a[@k = 'v']",
        "/r/a/@k!update('w')",
    ),
    "a source is not in the cache": (
        b"<r><a/><b>2</b></r>",
        "/r/a",
        "/r/a!copy(/r/b)",
    ),
    "a condition looks at what is not in the cache": (
        b"<r><a><n>1</n><p/></a></r>",
        "/r/a/p",
        "/r/a[n = 1]/p!insert(q)",
    ),
    "a new node outside the subscription is added": (
        b"<r><a/></r>",
        "/r/a",
        "/r!insert(b)",
    ),
}
"""Document, subscription and statement: histories in which forwarded statements diverge."""


@pytest.mark.parametrize("case", sorted(DIVERGING))
def test_forwarded_statements_diverge_and_ours_do_not(case: str) -> None:
    document, query, statement = DIVERGING[case]
    forwarding = ForwardingServer(DocumentTree.read(document), {"one": SyncSubscription(query)})
    (divergence,) = forwarding.submit(statement)
    assert divergence.cache != divergence.restriction
    net = Neighbourhood(document, one=query, author="/*")
    net["author"].update(statement)
    net.push("author")
    assert net["one"].canonical_xml() == divergence.restriction
    net.check()


def test_forwarded_statements_agree_where_everything_is_cached() -> None:
    everything = {"one": SyncSubscription("/*")}
    forwarding = ForwardingServer(DocumentTree.read(b"<r><a>1</a></r>"), everything)
    statements = ("/r/a/*!update('2')", "/r!insert(b)", "/r/x!delete()", "/r/b!move(/r/a)")
    for statement in statements:
        assert forwarding.submit(statement) == []
    assert forwarding.bytes_sent == len("".join(statements))
