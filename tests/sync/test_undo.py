"""Undo and redo of statements that the server has decided."""

from __future__ import annotations

import random

import pytest

from penstock.errors import PenstockError
from penstock.sync import Client, Outcome
from penstock.sync.difference import submit_edited, submit_edited_tree
from penstock.sync.document_tree import DocumentTree
from penstock.sync.simulation.workload import (
    NAMESPACES,
    random_document,
    random_edit,
    random_rare_statement,
    random_statement,
)
from support.contracts.native_engines import needs_native
from support.sync_network import Neighbourhood

pytestmark = needs_native


def told(net: Neighbourhood, name: str) -> list[tuple[Outcome, int, str]]:
    return [(each.outcome, each.statement, each.by) for each in net.reports(name)]


def test_a_deletion_is_undone_by_its_author() -> None:
    net = Neighbourhood(b"<r><a><b>1</b></a></r>", one="/*", two="/*")
    net["one"].update("//b/*!update('2')")
    net["one"].update("//b!delete()")
    net.push("one", "two")
    assert net.document == b"<r><a></a></r>"
    assert net["one"].undo() == 2
    net.push("one", "two")
    assert net.document == b"<r><a><b>2</b></a></r>"
    assert told(net, "one") == told(net, "two") == []
    net.check()
    assert net["one"].undo() == 1
    net.push("one", "two")
    assert net.document == b"<r><a><b>1</b></a></r>"
    net["one"].redo()
    net["one"].redo()
    net.push("one", "two")
    assert net.document == b"<r><a></a></r>"
    net.check()


def test_what_a_deletion_removed_can_be_undone_before_the_server_has_restored_it() -> None:
    """It was refused: the cache does not have what the statement before changed."""
    net = Neighbourhood(b"<r><a><b>1</b></a></r>", one="/*", two="/*")
    net["one"].update("//b/*!update('2')")
    net["one"].update("//b!delete()")
    net.push("one", "two")
    assert [net["one"].undo(), net["one"].undo()] == [2, 1]
    net.push("one", "two")
    assert net.document == b"<r><a><b>1</b></a></r>"
    net["one"].redo()
    net["one"].redo()
    net["one"].undo()
    net.push("one", "two")
    assert net.document == b"<r><a><b>2</b></a></r>"
    assert told(net, "one") == told(net, "two") == []
    net.check()


def test_an_undone_deletion_stays_pending_across_a_restart_of_the_client() -> None:
    net = Neighbourhood(b"<r><a/><b/></r>", one="/*")
    net["one"].update("/r/a!delete()")
    net.push("one")
    net["one"].undo()
    restored = Client.restore(net["one"].state())
    assert restored.pending == net["one"].pending
    assert restored.take_reports() == []
    net["one"].update("/r/b!insert(c)")
    net.push("one")
    assert net.document == b"<r><a></a><b><c></c></b></r>"
    assert told(net, "one") == []
    net.check()


def test_a_pushed_edit_that_unwraps_an_element_is_undone_as_a_whole() -> None:
    """Only the element came back, empty: what had been moved out of it stayed where it was."""
    document = b"<r><w><a>1</a><b>2</b></w><z></z></r>"
    net = Neighbourhood(document, one="/*", two="/*")
    submit_edited(net["one"], b"<r><a>1</a><b>2</b><z></z></r>")
    net.push("one", "two")
    net["one"].undo()
    net.push("one", "two")
    assert net.document == document
    net["one"].redo()
    net.push("one", "two")
    assert net.document == b"<r><a>1</a><b>2</b><z></z></r>"
    assert told(net, "one") == told(net, "two") == []
    net.check()


def test_a_refused_undo_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one took the statement before back instead."""
    monkeypatch.setattr("penstock.sync.client.PENDING_STATEMENTS_MAX", 2)
    net = Neighbourhood(b"<r>1</r>", one="/*")
    for value in "23":
        net["one"].update(f"/r/*!update('{value}')")
    net["one"].request()
    with pytest.raises(PenstockError) as refused:
        net["one"].undo()
    assert refused.value.code == "sync.pending"
    net.push("one")
    assert net["one"].undo() == 2
    net.push("one")
    assert net.document == b"<r>2</r>"


def test_a_refused_redo_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Neighbourhood(b"<r>1</r>", one="/*")
    net["one"].update("/r/*!update('2')")
    net.push("one")
    net["one"].undo()
    monkeypatch.setattr("penstock.sync.client.PENDING_STATEMENTS_MAX", 1)
    with pytest.raises(PenstockError) as refused:
        net["one"].redo()
    assert refused.value.code == "sync.pending"
    net.push("one")
    net["one"].redo()
    net.push("one")
    assert net.document == b"<r>2</r>"


LEAVING = b"<r><a k='1'>x</a><a k='1'>y</a></r>"


def test_a_change_that_took_a_node_out_of_the_cache_is_undone() -> None:
    """It was refused, and could not be undone any more."""
    net = Neighbourhood(LEAVING, one="//a[@k = '1']", two="/*")
    net["one"].update("/r/a[0]/@k!update('2')")
    net.push("one", "two")
    assert net["one"].canonical_xml() == b'<r><a k="1">y</a></r>'
    net["one"].undo()
    net.push("one", "two")
    assert net.document == b'<r><a k="1">x</a><a k="1">y</a></r>'
    assert told(net, "one") == told(net, "two") == []
    net["one"].redo()
    net.push("one", "two")
    assert net.document == b'<r><a k="2">x</a><a k="1">y</a></r>'
    net.check()


def test_who_is_overwritten_by_an_undo_that_has_not_seen_the_value_is_told() -> None:
    net = Neighbourhood(LEAVING, one="//a[@k = '1']", two="/*")
    net["one"].update("/r/a[0]/@k!update('2')")
    net.push("one", "two")
    net["two"].update("/r/a[0]/@k!update('3')")
    net.push("two", "one")
    net["one"].undo()
    net.push("one", "two")
    assert net.document == b'<r><a k="1">x</a><a k="1">y</a></r>'
    assert told(net, "two") == [(Outcome.OVERWRITTEN, 1, "one")]
    net.check()


def test_who_is_deleted_under_by_an_undo_that_has_not_seen_the_node_is_told() -> None:
    net = Neighbourhood(b"<r><a/><b/></r>", one="//a", two="/*")
    net["one"].update("/r!insert(new)")
    net.push("one", "two")
    assert told(net, "one") == [(Outcome.NOT_SELECTED, 1, "")]
    net["two"].update("/r/new!insert(inner)")
    net.push("two", "one")
    net["one"].undo()
    net.push("one", "two")
    assert net.document == b"<r><a></a><b></b></r>"
    assert told(net, "two") == [(Outcome.DELETED_UNDER, 1, "one")]
    net.check()


def test_an_undo_of_what_another_client_deleted_is_refused_with_a_report() -> None:
    net = Neighbourhood(b"<r><x>1</x></r>", one="/*", two="/*")
    net["one"].update("/r/x/*!update('2')")
    net.push("one", "two")
    net["two"].update("/r/x!delete()")
    net.push("two", "one")
    net["one"].undo()
    net.push("one", "two")
    assert net.document == b"<r></r>"
    assert told(net, "one") == [(Outcome.REFUSED, 2, "")]
    assert told(net, "two") == []
    net.check()


def test_who_deleted_the_same_is_told_when_the_deletion_is_undone() -> None:
    net = Neighbourhood(b"<r><x>1</x></r>", one="/*", two="/*")
    for name in ("one", "two"):
        net[name].update("/r/x!delete()")
    net.push("one")
    net.server.receive(net["two"].request())
    net.deliver([each for each in net.server.round() if each.client == "two"])
    net["one"].undo()
    net.push("one", "two")
    assert net.document == b"<r><x>1</x></r>"
    assert (Outcome.UNDONE, 1, "one") in told(net, "two")
    net.check()


def test_a_deletion_that_was_undone_is_not_undone_against_a_later_one() -> None:
    net = Neighbourhood(b"<r><x>1</x></r>", one="/*", two="/*")
    net["two"].update("/r/x/*!update('2')")
    net["one"].update("/r/x!delete()")
    net.push("one", "two")
    assert told(net, "one") == [(Outcome.UNDONE, 1, "two")]
    net["two"].update("/r/x!delete()")
    net.push("two", "one")
    net["one"].undo()
    net.push("one", "two")
    assert net.document == b"<r></r>"
    assert told(net, "one") == [(Outcome.REFUSED, 2, "")]
    assert told(net, "two") == []
    net.check()


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_what_was_pushed_and_undone_was_never_there(first: int) -> None:
    """Of edited files and statements; doing it again makes it as it was."""
    for seed in range(first, first + 50):
        rng = random.Random(seed)
        net = Neighbourhood(random_document(rng, size=12), one="/*", two="/*")
        states = [net["one"].canonical_xml()]
        for _ in range(rng.choice((1, 1, 3))):
            if not _change(rng, net["one"]):
                continue
            if rng.random() < 0.7:
                net.push("one")
            states.append(net["one"].canonical_xml())
        net.push("one")
        assert states[-1] == net["one"].canonical_xml(), seed
        for states_left, step in ((states[-2::-1], Client.undo), (states[1:], Client.redo)):
            pushes = rng.random() < 0.7
            for state in states_left:
                step(net["one"])
                if pushes or state is states_left[-1]:
                    net.push("one", "two")
                    assert net["one"].canonical_xml() == state, seed
        assert net.reports("one") == net.reports("two") == [], seed
        net.check()


def _change(rng: random.Random, client: Client) -> bool:
    """Makes a statement, unless it is refused or changes nothing."""
    try:
        if rng.random() < 0.5:
            edited = random_edit(rng, client.canonical_xml(), nodes_max=100)
            return submit_edited_tree(client, DocumentTree.read(edited)) is not None
        make = random_rare_statement if rng.random() < 0.4 else random_statement
        client.update(make(rng, client.tree), namespaces=dict(NAMESPACES), nodes_max=100)
    except PenstockError:
        return False
    return True
