"""An edited file becomes operations: the round trip, their number, what is refused."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import DocumentError, PenstockError, UpdateError
from penstock.sync import Client, Server, SyncSubscription
from penstock.sync import limits as sync_limits
from penstock.sync.difference import compared_tree, edit_script, node_matching, submit_edited
from penstock.sync.difference.text_alignment import align_texts
from penstock.sync.document_tree import DocumentTree
from penstock.sync.simulation.workload import NAMESPACES, random_document, random_statement
from support.contracts.native_engines import needs_native
from support.sync_network import Neighbourhood

pytestmark = needs_native


def clone(document: bytes, subscription: str = "/*", *, name: str = "one") -> Client:
    server = Server.of_document(document)
    client = Client(name, SyncSubscription(subscription, NAMESPACES))
    server.receive(client.clone())
    for message in server.round():
        client.receive(message)
    return client


def kinds(document: bytes, edited: bytes, subscription: str = "/*") -> list[str]:
    """The operations of an edit, after the round trip was checked."""
    client = clone(document, subscription)
    submit_edited(client, edited)
    expected = DocumentTree.read(edited).canonical_xml(exclusive=True)
    assert client.canonical_xml(exclusive=True) == expected
    return [type(each).__name__ for each in client.pending[0].operations]


MENU = (
    b"<menu><dish n='1'><name>Soup</name><price>1</price></dish>"
    b"<dish n='2'><name>Bread</name><price>2</price></dish><!--end--><?page 1?></menu>"
)


@pytest.mark.parametrize(
    ("old", "new", "operations"),
    [
        (b"Soup", b"Stew", ["SetValue"]),
        (b"n='2'", b"n='3'", ["SetAttribute"]),
        (b"<dish n='2'>", b"<dish>", ["SetAttribute"]),
        (b"<!--end-->", b"<!--the end-->", ["SetValue"]),
        (b"<?page 1?>", b"<?page 2?>", ["SetValue"]),
        (b"<?page 1?>", b"<?side 1?>", ["Insert", "Delete"]),
        (b"<name>Soup</name>", b"<title>Soup</title>", ["Rename"]),
        (b"<name>Soup</name>", b"", ["Delete"]),
        (b"<name>Soup</name>", b"<name>Soup</name><new>n</new>", ["Insert"]),
        (b"<name>Soup</name><price>1</price>", b"<price>1</price><name>Soup</name>", ["Move"]),
        (b"<name>Soup</name><price>1</price>", b"", ["Delete", "Delete"]),
        (b"<price>1</price>", b"<sale><price>1</price></sale>", ["Insert", "Move"]),
        (b"<!--end--><?page 1?>", b"<?page 1?><!--end-->", ["Move"]),
    ],
)
def test_a_small_edit_is_a_small_difference(old: bytes, new: bytes, operations: list[str]) -> None:
    assert old in MENU
    assert kinds(MENU, MENU.replace(old, new)) == operations


def test_a_subtree_moves_to_another_parent() -> None:
    document = b"<r><a><x><y>1</y><z>2</z></x></a><b/></r>"
    assert kinds(document, b"<r><a/><b><x><y>1</y><z>2</z></x></b></r>") == ["Move"]


def test_a_moved_subtree_can_be_edited_at_the_same_time() -> None:
    document = b"<r><a><x><y>1</y><z>2</z><v>3</v></x></a><b/></r>"
    edited = b"<r><a/><b><x><y>1</y><z>two</z><v>3</v></x></b></r>"
    assert kinds(document, edited) == ["Move", "SetValue"]


def test_parent_and_child_can_change_places() -> None:
    document = b"<r><a k='1'><b k='2'><c>1</c><d>2</d></b><e>3</e><f>4</f></a></r>"
    edited = b"<r><b k='2'><a k='1'><e>3</e><f>4</f></a><c>1</c><d>2</d></b></r>"
    assert sorted(kinds(document, edited)) == ["Move", "Move"]


def test_text_around_a_deleted_element_is_not_touched() -> None:
    assert kinds(b"<r>one <b/>two</r>", b"<r>one two</r>") == ["Delete"]


def test_a_line_is_deleted_from_indented_text() -> None:
    document = b"<r>\n  <a>1</a>\n  <b>2</b>\n  <c>3</c>\n</r>"
    assert kinds(document, document.replace(b"  <b>2</b>\n", b"")) == ["Delete", "Delete"]


def test_adjacent_text_nodes_are_one_text() -> None:
    client = clone(b"<r>one <b/>two<c/></r>")
    client.update("/r/b!delete()")
    assert submit_edited(client, b"<r>one two<c/></r>") is None
    submit_edited(client, b"<r>one three<c/></r>")
    assert [type(each).__name__ for each in client.pending[-1].operations] == ["SetValue"]
    assert client.canonical_xml() == b"<r>one three<c></c></r>"


def test_a_prefix_can_stand_for_another_namespace() -> None:
    document = b'<r xmlns:p="urn:1"><p:a p:k="1"><b>1</b><c>2</c></p:a></r>'
    edited = b'<r xmlns:p="urn:2"><p:a p:k="1"><b>1</b><c>2</c></p:a></r>'
    assert kinds(document, edited) == ["SetAttribute", "Rename", "SetAttribute"]


def test_identities_of_unchanged_nodes_stay() -> None:
    client = clone(MENU)
    before = {client.tree.string_value(each): each for each in client.tree.subtree("0.0")}
    submit_edited(client, MENU.replace(b"Bread", b"Cake").replace(b"<dish n='1'>", b"<dish>"))
    assert client.tree.string_value(before["Soup"]) == "Soup"
    assert client.tree.string_value(before["Bread"]) == "Cake"


def test_an_inserted_element_keeps_its_namespace_declarations() -> None:
    """A value may need a prefix that no name uses."""
    net = Neighbourhood(b"<a><b/></a>", one="/*", two="//c")
    submit_edited(net["one"], b'<a><b/><c xmlns:q="urn:q" xmlns="urn:d" type="q:T"><d/></c></a>')
    net.push()
    net.check()
    assert b'<c xmlns="urn:d" xmlns:q="urn:q" type="q:T"><d></d></c>' in net.document


def test_an_edited_file_can_be_undone() -> None:
    client = clone(MENU)
    submit_edited(client, MENU.replace(b"Soup", b"Stew").replace(b"<price>2</price>", b""))
    client.undo()
    assert client.canonical_xml() == clone(MENU).canonical_xml()


def test_an_unchanged_file_is_no_statement() -> None:
    client = clone(MENU)
    assert submit_edited(client, MENU) is None
    assert not client.pending


@pytest.mark.parametrize(
    ("edited", "path", "change"),
    [
        (
            b"<menu><plate><name>Soup</name></plate><dish><name>Bread</name></dish></menu>",
            "/menu/dish[0]",
            "renamed",
        ),
        (
            b"<menu><dish><name>Soup</name></dish><dish k='1'><name>Bread</name></dish></menu>",
            "/menu/dish[1]",
            "given an attribute",
        ),
        (b"<menu><dish><name>Bread</name></dish></menu>", "/menu/dish[0]", "deleted"),
        (
            b"<menu><dish><name>Bread</name></dish><dish><name>Soup</name></dish></menu>",
            "/menu/dish[1]",
            "moved",
        ),
        (
            b"<card><dish><name>Soup</name></dish><dish><name>Bread</name></dish></card>",
            "/menu",
            "renamed",
        ),
    ],
)
def test_bare_elements_cannot_be_changed(edited: bytes, path: str, change: str) -> None:
    client = clone(MENU, "/menu/dish/name")
    before = client.canonical_xml()
    with pytest.raises(UpdateError) as refused:
        submit_edited(client, edited)
    assert refused.value.code == "update.bare"
    assert refused.value.message.startswith(f"`{path}` was {change}, ")
    assert client.canonical_xml() == before
    assert not client.pending


def test_inserting_below_a_bare_element_is_allowed() -> None:
    edited = b"<menu><dish><name>Soup</name><new/></dish><dish><name>Bread</name></dish></menu>"
    assert kinds(MENU, edited, "/menu/dish/name") == ["Insert"]


def test_the_root_element_gets_no_siblings() -> None:
    client = clone(MENU)
    with pytest.raises(UpdateError) as refused:
        submit_edited(client, b"<!--new-->" + MENU)
    assert refused.value.code == "update.root"
    assert refused.value.message == "the root element was given a sibling (comment)"


def test_a_cache_without_root_is_not_edited() -> None:
    client = clone(MENU, "/menu/nothing")
    with pytest.raises(UpdateError) as refused:
        submit_edited(client, MENU)
    assert refused.value.code == "update.root"


def test_a_malformed_file_is_refused() -> None:
    client = clone(MENU)
    with pytest.raises(DocumentError):
        submit_edited(client, b"<menu>")


@pytest.mark.parametrize(
    ("module", "limit"),
    [(compared_tree, "DIFFERENCE_NODES_MAX"), (edit_script, "STATEMENT_OPERATIONS_MAX")],
)
def test_limits_refuse_an_edited_file(
    module: object, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = clone(MENU)
    monkeypatch.setattr(module, limit, 1)
    with pytest.raises(UpdateError) as refused:
        submit_edited(client, MENU.replace(b"Soup", b"Stew").replace(b"Bread", b"Cake"))
    assert refused.value.code == "update.limit"
    assert client.canonical_xml() == clone(MENU).canonical_xml()


def test_long_lists_are_paired_in_order() -> None:
    count = 3 * int(sync_limits.ALIGNED_PAIRS_MAX**0.5)
    rows = [b"<row><id>%d</id><v>%d</v></row>" % (at, at % 7) for at in range(count)]
    edited = [row.replace(b"<v>", b"<v>new ") for row in rows]
    operations = kinds(b"<r>%s</r>" % b"".join(rows), b"<r>%s</r>" % b"".join(edited))
    assert operations == ["SetValue"] * count


def test_a_list_in_reverse_is_moved() -> None:
    rows = [b"<row>%d</row>" % at for at in range(200)]
    operations = kinds(b"<r>%s</r>" % b"".join(rows), b"<r>%s</r>" % b"".join(reversed(rows)))
    assert operations == ["Move"] * 199


def test_texts_are_aligned_with_what_fits() -> None:
    runs, deleted = align_texts([("1", "a"), ("2", "b"), ("3", "c")], ["ab", "new"])
    assert [run.kept if run else None for run in runs] == [("1", "2"), ("3",)]
    assert runs[1] is not None
    assert runs[1].values == (("3", "new"),)
    assert deleted == []


def test_generated_edits_take_no_more_operations_than_they_had() -> None:
    """Over many histories; a single one may take more, as an editor's statements may overlap."""
    made = found = 0
    for seed in range(60):
        rng = random.Random(seed)
        document = random_document(rng, size=20)
        editor, client = clone(document), clone(document)
        of_history = edit(editor, rng, 4)
        submit_edited(client, editor.canonical_xml())
        of_difference = sum(len(each.operations) for each in client.pending)
        assert of_difference <= 3 * of_history, seed
        made += of_history
        found += of_difference
    assert 0 < found <= made


SEEDS = st.integers(0, 2**32)


def edit(client: Client, rng: random.Random, statements: int) -> int:
    """Makes random statements; returns the number of their operations."""
    for _ in range(statements):
        if len(client.tree) > 200:
            break  # Copies of everything to everywhere.
        try:
            client.update(random_statement(rng, client.tree), namespaces=dict(NAMESPACES))
        except PenstockError:
            continue
    return sum(len(each.operations) for each in client.pending)


@settings(max_examples=150)
@given(SEEDS, st.integers(1, 6), st.integers(2, 30))
def test_the_difference_turns_one_version_into_another(
    seed: int, statements: int, size: int
) -> None:
    rng = random.Random(seed)
    document = random_document(rng, size=size)
    editor = clone(document)
    edit(editor, rng, statements)
    client = clone(document)
    edited = editor.canonical_xml()
    submit_edited(client, edited)
    assert client.canonical_xml(exclusive=True) == editor.canonical_xml(exclusive=True)
    if client.pending:
        client.undo()
    assert client.canonical_xml() == clone(document).canonical_xml()


@settings(max_examples=100)
@given(SEEDS, SEEDS, st.booleans())
def test_unrelated_documents_differ_by_what_turns_one_into_the_other(
    seed: int, other: int, is_paired_in_order: bool
) -> None:
    client = clone(random_document(random.Random(seed), size=30))
    edited = clone(random_document(random.Random(other), size=30)).canonical_xml()
    with pytest.MonkeyPatch.context() as patch:
        if is_paired_in_order:
            patch.setattr(node_matching, "ALIGNED_PAIRS_MAX", 0)
        submit_edited(client, edited)
    expected = DocumentTree.read(edited).canonical_xml(exclusive=True)
    assert client.canonical_xml(exclusive=True) == expected
