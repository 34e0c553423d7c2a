"""The paper's conflicts, cascade and messages, and how they differ from ours."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.language import overlaps, parse
from penstock.language.updates import parse_statement
from penstock.language.xpath.ast import Step
from penstock.sync import Client, DocumentTree, Outcome, Server, SyncSubscription
from penstock.sync.baselines import operation_index
from penstock.sync.baselines.operation_index import OperationIndex
from penstock.sync.baselines.paper_cascade import (
    PaperCascade,
    conflict_counts,
    operation_table,
    undone_by_the_paper,
)
from penstock.sync.baselines.path_conflicts import (
    ConflictKind,
    TableEntry,
    conflict_kind,
    path_conflicts,
)
from penstock.sync.baselines.statement_forwarding import NO_CLIENT, ForwardingServer
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
        ("/a/x!copy(/a/b)", "/a/b!insert(c)", [ConflictKind.SYNTAX]),
        ("/a/x!copy(/a/b)", "/a/b!insertAfter(c)", []),
        ("/a/x!copy(/a/b)", "/a/b/c!insertAfter(c)", [ConflictKind.SYNTAX]),
        ("/a/x!copy(/a/b)", "/a/b!delete()", [ConflictKind.SYNTAX]),
        ("/a/x!copy(/a/b)", "/a/y!copy(/a/b)", [ConflictKind.SYNTAX]),
        ("/a/x!copy(/a/b)", "/a/y!copyBefore(/a/b)", []),
        ("/a/x!copy(/a/b)", "/a/y!copy(/a/c)", []),
        ("/a/x!copy(/a/b)", "/a/y!move(/a/b)", [ConflictKind.DIRECT]),
        ("/a!insert(c)", "/a/b!insertAfter(d)", [ConflictKind.SYNTAX]),
        ("/a/*!update('x')", "/a/text()!update('y')", [ConflictKind.DIRECT]),
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


NAMES = st.sampled_from(["a", "b", "*"])
STEPS = st.builds("{}{}".format, st.sampled_from(["/", "/", "//"]), NAMES)
ENDS = st.sampled_from(["", "", "", "/@a", "/@*", "//@b", "/text()", "//text()"])
PATHS = st.builds(
    lambda steps, end: "".join(steps) + end, st.lists(STEPS, min_size=1, max_size=4), ENDS
)
RELATIVE = st.sampled_from([".", "..", "../a", "b", "../../*", "//a", "a//b"])


@given(st.lists(PATHS, max_size=8), PATHS)
def test_the_operation_index_finds_the_paths_that_overlap(
    inserted: list[str], searched: str
) -> None:
    index = OperationIndex()
    for oid, text in enumerate(inserted):
        index.insert(oid, parse(text).branches)
    assert index.overlapping(parse(searched).branches) == {
        oid for oid, text in enumerate(inserted) if overlaps(parse(text), parse(searched))
    }


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["one", "two", "three"]),
            st.one_of(
                st.builds("{}!delete()".format, PATHS),
                st.builds("{}!update('a')".format, PATHS),
                st.builds("{}!{}(c)".format, PATHS, st.sampled_from(["insert", "insertAfter"])),
                st.builds(
                    "{}!{}({})".format,
                    PATHS,
                    st.sampled_from(["copy", "copyBefore", "move", "moveAfter"]),
                    st.one_of(PATHS, RELATIVE),
                ),
            ),
        ),
        max_size=6,
    )
)
def test_conflicts_are_those_of_all_pairs(statements: list[tuple[str, str]]) -> None:
    table = operation_table(
        (client, number, text) for number, (client, text) in enumerate(statements, 1)
    )
    expected = []
    for first, second in combinations(table, 2):
        pairs = [
            (one, other)
            for one, path in enumerate(first.paths)
            for other, path_of_second in enumerate(second.paths)
            if overlaps(path, path_of_second)
        ]
        kind = conflict_kind(first, second, pairs)
        if kind is not None and first.client != second.client:
            expected.append((kind, first.order, second.order))
    found = [(each.kind, each.first.order, each.second.order) for each in path_conflicts(table)]
    assert found == expected


def test_statements_at_other_places_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    comparisons = 0
    have_common_label = operation_index._have_common_label

    def counted(one: Step, other: Step) -> bool:
        nonlocal comparisons
        comparisons += 1
        return have_common_label(one, other)

    monkeypatch.setattr(operation_index, "_have_common_label", counted)
    table = operation_table(
        (f"client{number}", 1, f"/a/b{number % 100}/c{number}!delete()") for number in range(1_000)
    )
    assert path_conflicts(table) == []
    assert comparisons < 3 * len(table)


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


FILTERED = {
    "what leaves is removed": (
        b"<r><a k='v'>1</a><a k='v'>2</a></r>",
        "/r/a[@k = 'v']",
        "/r/a[0]/@k!update('w')",
    ),
    "a new node outside the subscription is not added": (
        b"<r><a/></r>",
        "/r/a",
        "/r!insert(b)",
    ),
}
"""Document, subscription and statement: caches that are right because they are post-filtered."""


@pytest.mark.parametrize("case", sorted(FILTERED))
def test_forwarded_statements_are_filtered_by_the_client(case: str) -> None:
    document, query, statement = FILTERED[case]
    subscriptions = {"one": SyncSubscription(query)}
    forwarding = ForwardingServer(DocumentTree.read(document), subscriptions)
    before = forwarding.caches["one"].canonical_xml()
    assert forwarding.submit(statement) == []
    assert (forwarding.caches["one"].canonical_xml() == before) is ("new node" in case)


CONCURRENT = {
    "each author has inserted its own node first": (
        b"<r/>",
        ("/r!insert(a)", "/r!insert(b)"),
    ),
    "a position counts what another author has inserted": (
        b"<r><a>1</a><a>2</a></r>",
        ("/r/a[0]!insertBefore(a)", "/r/a[1]!insert(b)"),
    ),
    "a value is set last by another author": (
        b"<r><a>1</a></r>",
        ("/r/a!insert(@k/'1')", "/r/a!insert(@k/'2')"),
    ),
    "a copy has what its author saw": (
        b"<r><a/><b/></r>",
        ("/r/a!insert(x)", "/r/b!copy(/r/a)"),
    ),
}
"""Document and statements of two authors who cache everything: rounds that diverge."""


@pytest.mark.parametrize("case", sorted(CONCURRENT))
def test_statements_of_several_authors_diverge_and_ours_do_not(case: str) -> None:
    document, (first, second) = CONCURRENT[case]
    subscriptions = {name: SyncSubscription("/*") for name in ("one", "two")}
    forwarding = ForwardingServer(DocumentTree.read(document), subscriptions)
    (divergence,) = forwarding.round([("one", first), ("two", second)])
    assert divergence.client == "two"
    assert forwarding.undone == 0
    net = Neighbourhood(document, one="/*", two="/*")
    net["one"].update(first)
    net["two"].update(second)
    net.push()
    net.push()
    assert net["one"].canonical_xml() == net["two"].canonical_xml()
    net.check()


def test_authors_make_statements_that_their_caches_accept() -> None:
    subscriptions = {"one": SyncSubscription("/r/a")}
    forwarding = ForwardingServer(DocumentTree.read(b"<r><a/><b/></r>"), subscriptions)
    assert forwarding.accepts("one", "/r/a!insert(x)")
    assert not forwarding.accepts("one", "/r!insert(@k/'1')")
    assert not forwarding.accepts("one", "/r/b!delete()")
    assert forwarding.accepts(NO_CLIENT, "/r/b!delete()")
    assert forwarding.caches["one"].canonical_xml() == b"<r><a></a></r>"
    assert forwarding.document.canonical_xml() == b"<r><a></a><b></b></r>"


def test_statements_that_the_cascade_undoes_are_not_forwarded() -> None:
    subscriptions = {name: SyncSubscription("/*") for name in ("one", "two")}
    forwarding = ForwardingServer(DocumentTree.read(b"<r><a/><b/><c/></r>"), subscriptions)
    round_ = [
        ("one", "/r/a!insert(x)"),
        ("one", "/r/b!delete()"),
        ("one", "/r/c!insert(y)"),
        ("two", "/r/b!insert(z)"),
    ]
    assert forwarding.round(round_) == []
    assert forwarding.undone == 2
    expected = b"<r><a><x></x></a><b><z></z></b><c></c></r>"
    assert forwarding.caches["one"].canonical_xml() == expected
    assert forwarding.document.canonical_xml() == expected


def test_forwarded_statements_agree_where_everything_is_cached() -> None:
    everything = {"one": SyncSubscription("/*")}
    forwarding = ForwardingServer(DocumentTree.read(b"<r><a>1</a></r>"), everything)
    statements = ("/r/a/*!update('2')", "/r!insert(b)", "/r/x!delete()", "/r/b!move(/r/a)")
    for statement in statements:
        assert forwarding.submit(statement) == []
    assert forwarding.bytes_sent == len("".join(statements))
