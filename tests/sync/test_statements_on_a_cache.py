"""Statements on a client's cache: what they select, what they change, what is refused."""

from __future__ import annotations

import pytest

from penstock.errors import PenstockError, UpdateError, Where
from penstock.language.updates import at
from penstock.sync import Client, Outcome, Server, SyncSubscription, path_evaluation
from penstock.sync import server as server_core
from support.contracts.native_engines import needs_native

pytestmark = needs_native

MENU = (
    b"<City><Restaurant><Name>A</Name><Entree><Name>Soup</Name><Price>1</Price></Entree>"
    b"<Entree><Name>Bread</Name><Rating>5</Rating><Price>2</Price></Entree></Restaurant>"
    b"<Restaurant/></City>"
)

EMPTY = b"<Restaurant></Restaurant>"


def cache(document: bytes, subscription: str = "/*", **namespaces: str) -> Client:
    server = Server.of_document(document)
    client = Client("one", SyncSubscription(subscription, tuple(namespaces.items())))
    server.receive(client.clone())
    for message in server.round():
        client.receive(message)
    return client


def after(statement: str, document: bytes = MENU, subscription: str = "/*") -> bytes:
    client = cache(document, subscription)
    client.update(statement)
    return client.canonical_xml()


@pytest.mark.parametrize(
    ("statement", "before", "after_it"),
    [
        ("*/Restaurant[1]!insert(Phone)", EMPTY, b"<Restaurant><Phone></Phone></Restaurant>"),
        (
            '*/Restaurant[0]!insert(Entree/Name/"Black bean soup")',
            b"</Restaurant><Restaurant>",
            b"<Entree><Name>Black bean soup</Name></Entree></Restaurant><Restaurant>",
        ),
        (
            '*/Restaurant/Entree[1]!insert(@Note/"Sunday Only")',
            b"<Entree><Name>Bread",
            b'<Entree Note="Sunday Only"><Name>Bread',
        ),
        ("*/Restaurant[1]!insertBefore(Cafe)", EMPTY, b"<Cafe></Cafe>" + EMPTY),
        ("*/Restaurant/Name!delete()", b"<Name>A</Name>", b""),
        (
            "*/Restaurant/Entree/Price!moveAfter(../Rating)",
            b"<Rating>5</Rating><Price>2</Price>",
            b"<Price>2</Price><Rating>5</Rating>",
        ),
        ('*/Restaurant/Entree[1]/Name/*!update("Onion soup")', b"Bread", b"Onion soup"),
        ('*/Restaurant[1]!update("Cafe")', b"<Restaurant></Restaurant>", b"<Cafe></Cafe>"),
        (
            "*/Restaurant[1]!copy(//(Restaurant/Entree)[0]/*)",
            b"<Restaurant></Restaurant>",
            b"<Restaurant><Name>Soup</Name><Price>1</Price></Restaurant>",
        ),
        (
            "//Rating!copyBefore(//Restaurant[0]/Entree[0]/*)",
            b"<Rating>",
            b"<Name>Soup</Name><Price>1</Price><Rating>",
        ),
        (
            "//Rating!copyAfter(//Restaurant[0]/Entree[0]/*)",
            b"</Rating>",
            b"</Rating><Name>Soup</Name><Price>1</Price>",
        ),
        ("//Entree[Price > 1]/Rating/text()!update('6')", b"<Rating>5", b"<Rating>6"),
        (
            "//Entree[Name = 'Soup' and not(Rating)]!delete()",
            b"<Entree><Name>Soup</Name><Price>1</Price></Entree>",
            b"",
        ),
        ("//Rating!insertAfter('text')", b"</Rating>", b"</Rating>text"),
    ],
)
def test_statements_of_the_paper(statement: str, before: bytes, after_it: bytes) -> None:
    document = cache(MENU).canonical_xml()
    assert document.count(before) == 1
    assert after(statement) == document.replace(before, after_it)


def test_every_target_is_changed() -> None:
    assert after("*/Restaurant!insert(Phone)").count(b"<Phone></Phone></Restaurant>") == 2


def test_sources_are_evaluated_for_each_target_before_the_statement() -> None:
    document = b"<a><b>1</b><b>2</b></a>"
    assert after("/a/b!copy(/a/b/*)", document) == b"<a><b>112</b><b>212</b></a>"
    assert after("/a/b!copy(*)", document) == b"<a><b>11</b><b>22</b></a>"
    assert after("/a/b[1]!move(/a/b/*)", document) == b"<a><b></b><b>12</b></a>"


def test_attributes_are_copied_and_moved() -> None:
    document = b'<a><b k="1" l="2"/><c/></a>'
    assert after("/a/c!copy(/a/b/@*)", document) == (
        b'<a><b k="1" l="2"></b><c k="1" l="2"></c></a>'
    )
    assert after("/a/c!move(../b/@k)", document) == b'<a><b l="2"></b><c k="1"></c></a>'
    assert after("/a/b/@k!delete()", document) == b'<a><b l="2"></b><c></c></a>'
    assert after("/a/b/@k!update('3')", document) == b'<a><b k="3" l="2"></b><c></c></a>'


def test_comments_and_instructions_can_be_changed() -> None:
    document = b"<a><!--c--><?p d?></a>"
    assert after("/a/comment()!update('e')", document) == b"<a><!--e--><?p d?></a>"
    assert after("/a/pi()!update('e')", document) == b"<a><!--c--><?p e?></a>"
    assert after("//comment()!delete()", document) == b"<a><?p d?></a>"


def test_the_value_of_an_instruction_does_not_begin_with_white_space() -> None:
    """A reader of the document takes it for the white space after the target."""
    client = cache(b"<a><?p d?></a>")
    with pytest.raises(UpdateError) as refused:
        client.update("/a/pi()!update(' e')")
    assert refused.value.code == "update.content"
    assert refused.value.where == Where(15, 1, 16)
    assert client.canonical_xml() == b"<a><?p d?></a>"


def test_a_text_of_several_nodes_is_one() -> None:
    client = cache(b"<a>x<b/>y</a>")
    client.update("/a/b!delete()")
    client.update('/a/text()[0]!update("z")')
    assert client.canonical_xml() == b"<a>z</a>"


def test_the_python_api_takes_any_value() -> None:
    client = cache(b"<a>x</a>")
    client.update(at("/a/text()").update("\"'"))
    assert client.canonical_xml() == b"<a>\"'</a>"
    assert client.pending[0].text == "update with a value that has no literal"


@pytest.mark.parametrize(
    ("statement", "code", "column"),
    [
        ("/City/Bar!delete()", "update.no-target", 7),
        ("/City/Bar/Name!delete()", "update.no-target", 7),
        ("/City/Restaurant!copy(//Bar)", "update.no-target", 25),
        ("//Entree!copy(Name/Bar)", "update.no-target", 20),
        ("//Rating!copy(../Bar)", "update.no-target", 18),
        ("/City/Restaurant[7]!delete()", "update.no-target", 7),
        ("//(Restaurant/Entree)[7]/Name!delete()", "update.no-target", 3),
        ("/City!delete()", "update.root", 2),
        ("/City!insertAfter(x)", "update.root", 2),
        ("/!insert(x)", "update.root", 1),
        ("//Entree!move(/City)", "update.cycle", 16),
        ("//Entree[0]/Name!move( //Entree[0] )", "update.cycle", 26),
        ("//Name/text()!insert(x)", "update.kind", 8),
        ("//Name!insertBefore(@k/'v')", "update.kind", 21),
        ("//Name!insertBefore( @k/'v' )", "update.kind", 22),
        ("/!delete()", "update.kind", 1),
        ("//Name!copy(/)", "update.kind", 13),
        ("//Name!update('a b')", "update.content", 15),
        ("//Name!insert(@xmlns/'urn:x')", "update.content", 3),
    ],
)
def test_refused_statements_change_nothing(statement: str, code: str, column: int) -> None:
    client = cache(MENU)
    before = client.canonical_xml()
    with pytest.raises(UpdateError) as refused:
        client.update(statement)
    assert refused.value.code == code
    assert refused.value.where == Where(column - 1, 1, column)
    assert client.canonical_xml() == before
    assert not client.pending


def test_statements_without_a_text_are_refused_without_a_position() -> None:
    client = cache(MENU)
    for statement in (at("//Bar").delete(), at("//Name").copy("Bar"), at("/City").delete()):
        with pytest.raises(UpdateError) as refused:
            client.update(statement)
        assert refused.value.where is None


def test_bare_ancestors_are_not_changed_but_get_content() -> None:
    client = cache(MENU, "//Price")
    for statement, column in (
        ("/City/Restaurant!delete()", 7),
        ("/City/Restaurant!update('x')", 7),
        ("/City!move(/City/Restaurant/Entree)", 29),
        ("/City!copy(/City/Restaurant/Entree)", 29),
        ("/City/Restaurant!insert(@k/'v')", 7),
    ):
        with pytest.raises(UpdateError) as refused:
            client.update(statement)
        assert refused.value.code == "update.bare", statement
        assert refused.value.where == Where(column - 1, 1, column), statement
    client.update("/City/Restaurant/Entree[1]!insert(Price/'3')")
    client.update("//Price[0]!move(//Price[-1]/*)")
    assert b"<Price>3</Price>" not in client.canonical_xml()


def test_undo_and_redo_of_what_was_not_sent() -> None:
    client = cache(b"<a><b>1</b></a>")
    client.update("/a/b/*!update('2')")
    client.update("/a!insert(c)")
    assert client.undo() == 2
    assert client.undo() == 1
    assert client.canonical_xml() == b"<a><b>1</b></a>"
    assert not client.pending
    with pytest.raises(PenstockError) as refused:
        client.undo()
    assert refused.value.code == "sync.undo"
    assert client.redo() == 1
    assert client.canonical_xml() == b"<a><b>2</b></a>"
    client.update("/a/b!delete()")
    with pytest.raises(PenstockError):
        client.redo()


def test_undo_and_redo_of_what_was_sent() -> None:
    client = cache(b"<a><b k='1'>1</b><c/></a>")
    original = client.canonical_xml()
    client.update("/a/b/*!update('2')")
    client.update("/a/c!move(/a/b)")
    client.update("/a/c/b/@k!delete()")
    client.update("/a/c!copyAfter(/a/c)")
    client.update("/a/c[0]!delete()")
    changed = client.canonical_xml()
    client.request()
    for _ in range(5):
        client.undo()
    assert client.canonical_xml() == original
    assert len(client.pending) == 10
    for _ in range(5):
        client.redo()
    assert client.canonical_xml() == changed


def test_a_client_without_a_cache_changes_nothing() -> None:
    client = Client("one", SyncSubscription("/*"))
    with pytest.raises(PenstockError) as refused:
        client.update("/a!delete()")
    assert refused.value.code == "sync.not-cloned"


def test_pending_statements_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    client = cache(b"<a/>")
    monkeypatch.setattr("penstock.sync.client.PENDING_STATEMENTS_MAX", 1)
    client.update("/a!insert(b)")
    with pytest.raises(PenstockError) as refused:
        client.update("/a!insert(b)")
    assert refused.value.code == "sync.pending"


WIDE = b"<r>" + b"<a><b/></a>" * 200 + b"</r>"


@pytest.mark.parametrize("statement", ["//a!copy(//(a/c)[0])", "//a[//(a/c)]!delete()"])
def test_an_absolute_path_is_evaluated_once_whatever_the_number_of_targets(
    statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A history of 300 steps took 30 s; it had statements with 2,500 targets."""
    monkeypatch.setattr(path_evaluation, "STATEMENT_VISITS_MAX", 20 * 400)
    client = cache(WIDE)
    with pytest.raises(UpdateError) as refused:
        client.update(statement)
    assert refused.value.code == "update.no-target"


def test_paths_that_visit_too_many_nodes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_evaluation, "STATEMENT_VISITS_MAX", 20 * 400)
    client = cache(WIDE)
    before = client.canonical_xml()
    with pytest.raises(UpdateError) as refused:
        client.update("//a!copy(../a/b)")
    assert refused.value.code == "update.limit"
    assert client.canonical_xml() == before


COPIES = "//*!copy(//*)"
"""Each copy contains the copies that were made before it."""


def test_a_statement_that_creates_too_many_nodes_is_refused() -> None:
    client = cache(b"<r><a><b/></a><a><b/></a></r>")
    before = client.canonical_xml()
    with pytest.raises(UpdateError) as refused:
        client.update(COPIES, nodes_max=50)
    assert refused.value.code == "update.limit"
    assert client.canonical_xml() == before
    assert len(client.tree) < 50
    client.update("/r/a!copy(b)", nodes_max=2)


def test_a_server_refuses_what_is_left_of_a_statement_that_creates_too_many_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_core, "STATEMENT_NODES_MAX", 50)
    document = b"<r><a><b/></a><a><b/></a></r>"
    server = Server.of_document(document)
    client = Client("one", SyncSubscription("/*"))
    server.receive(client.clone())
    for message in server.round():
        client.receive(message)
    client.update(COPIES)
    created = len(client.tree)
    server.receive(client.request())
    for message in server.round():
        client.receive(message)
    reports = client.take_reports()
    assert {report.outcome for report in reports} == {Outcome.REFUSED}
    assert {report.reason for report in reports} == {"the statement creates too many nodes"}
    assert len(client.tree) < created
    assert client.canonical_xml() == server.tree.canonical_xml()
