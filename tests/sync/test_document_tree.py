"""The native document tree: reading, canonical XML, operations, versions, patches."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from penstock.documents import Limits
from penstock.errors import DocumentError, PenstockError
from penstock.language.updates.ast import Name
from penstock.sync import DocumentTree, SyncSubscription
from penstock.sync.document_tree import NewNode, NodeKind, Place, TreeQuery, derived_identity
from penstock.sync.reference.restriction import restrict_to_subscription
from penstock.sync.simulation.workload import random_document, random_subscription
from support.contracts.native_engines import needs_native

pytestmark = needs_native

UGLY = [
    b'<?pi a  b?><!--x--><p:a xmlns:p="urn:p" xmlns="urn:q" p:k="1&lt;"><b>t<!--c-->'
    b'<c k="p:x"/>u</b><d xmlns=""/><?z?></p:a><!--e--><?f?>',
    b"<a>x<![CDATA[<&>]]>y&#13;&#10;<!-- - \r\n --></a>",
    b'<a b="&#9;&#10;&#13;&quot;\'&amp;&lt;&gt;" xml:lang="en" xml:space="preserve"> &gt; </a>',
    b'<a xmlns="urn:u"><b xmlns=""><c xmlns="urn:u"/><c/></b></a>',
    b'<q:a xmlns:q="urn:u" xmlns:r="urn:u" r:z="1" q:y="2" a="3">'
    b'<r:b xmlns:q="urn:v" q:k=""/></q:a>',
    b'<!DOCTYPE a [<!ATTLIST a k CDATA "d"><!ENTITY e "<b>x</b>">]><a>&e;y&e;</a>',
    "<a>\u00e9\U0001f600</a>".encode("utf-16"),
    b"<a><?t \t d  ?></a>",
]


@pytest.mark.parametrize("document", UGLY)
@pytest.mark.parametrize("exclusive", [False, True])
def test_canonical_xml_is_that_of_lxml(document: bytes, exclusive: bool) -> None:
    parser = etree.XMLParser(attribute_defaults=True)
    tree = etree.ElementTree(etree.fromstring(document, parser))
    expected = etree.tostring(tree, method="c14n", exclusive=exclusive, with_comments=True)
    assert DocumentTree.read(document).canonical_xml(exclusive=exclusive) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_markup_across_windows_of_the_reader_is_kept_whole(encoding: str) -> None:
    long = "x- ?\n" * 40_000
    text = f"<!--{long}--><a><?p {long}?><!--{long}-->{long}<b/></a><?q {long}?>"
    declaration = (
        "" if encoding.startswith("utf") else f'<?xml version="1.0" encoding="{encoding}"?>'
    )
    document = (declaration + text).encode(encoding)
    expected = DocumentTree.read(text.encode()).canonical_xml()
    assert DocumentTree.read(document).canonical_xml() == expected
    assert expected == etree.tostring(
        etree.ElementTree(etree.fromstring(document, etree.XMLParser(huge_tree=True))),
        method="c14n",
        with_comments=True,
    )


@given(st.integers(0, 2**32), st.sampled_from(range(1, 60)))
def test_restrictions_are_those_of_the_reference(seed: int, size: int) -> None:
    rng = random.Random(seed)
    document = random_document(rng, size=size)
    subscription = random_subscription(rng)
    tree = DocumentTree.read(document)
    expected = restrict_to_subscription(document, subscription)
    cache = tree.restricted(tree.view(subscription.compiled))
    for exclusive in (False, True):
        assert cache.canonical_xml(exclusive=exclusive) == expected.canonical_xml(
            exclusive=exclusive
        )
    assert DocumentTree.from_snapshot(tree.snapshot()).canonical_xml() == tree.canonical_xml()


def test_nodes_are_numbered_in_document_order_and_can_be_read() -> None:
    tree = DocumentTree.read(b'<a k="v">x<b/><!--c--><?p d?></a>')
    assert tree.root == "0.1"
    assert tree.children("0.1") == ["0.2", "0.3", "0.4", "0.5"]
    assert [tree.node(each).kind for each in tree.children("0.1")] == [
        NodeKind.TEXT,
        NodeKind.ELEMENT,
        NodeKind.COMMENT,
        NodeKind.INSTRUCTION,
    ]
    assert tree.node("0.5").name.local == "p"
    assert tree.attributes("0.1") == {Name("", "", "k"): "v"}
    assert tree.string_value("0.1") == "x"
    assert tree.neighbours("0.3") == ("0.2", "0.4")
    assert tree.label_path("0.3") == (("", "a"), ("", "b"))
    assert tree.subtree("0.1") == ["0.1", *tree.children("0.1")]


def test_operations_and_versions() -> None:
    tree = DocumentTree.read(b"<a><b>x</b><c/></a>")
    tree.set_version(1)
    tree.insert([_element("1.1", "d"), _text("1.2", "new", 1)], Place("0.1", (("0.2", True),)))
    tree.set_version(2)
    tree.move("0.2", Place("0.4"))
    tree.set_version(3)
    tree.delete("0.4")
    tree.set_value("1.2", "other")
    tree.rename("1.1", Name("", "", "e"))
    tree.set_attribute("1.1", Name("", "", "k"), "v")
    assert tree.canonical_xml() == b'<a><e k="v">other</e></a>'
    assert tree.hidden_by("0.3") == ["0.4"]
    with tree.at_version(2):
        assert tree.canonical_xml() == b"<a><d>new</d><c><b>x</b></c></a>"
    with tree.at_version(0):
        assert tree.canonical_xml() == b"<a><b>x</b><c></c></a>"
    assert tree.canonical_xml() == b'<a><e k="v">other</e></a>'
    tree.set_version(4)
    tree.restore("0.4")
    tree.copy("0.4", "1.9", Place("1.1", (("1.1", True),)))
    copied = derived_identity("1.9", "0.4")
    assert tree.children("1.1") == [copied, "1.2"]
    assert tree.canonical_xml() == (b'<a><e k="v"><c><b>x</b></c>other</e><c><b>x</b></c></a>')
    tree.undo_after(1)
    assert tree.canonical_xml() == b"<a><b>x</b><d>new</d><c></c></a>"
    assert not tree.exists(copied)


def test_what_is_forgotten_is_gone_and_places_survive() -> None:
    tree = DocumentTree.read(b"<a><b/><c/><d/></a>")
    tree.set_version(1)
    tree.delete("0.3")
    tree.set_version(2)
    tree.insert([_element("1.1", "x")], Place("0.1", (("0.3", True),)))
    assert tree.recorded_place("1.1") == Place("0.1", (("0.3", True), ("0.2", True)))
    assert len(tree) == 6
    tree.forget(1)
    assert len(tree) == 5
    assert not tree.exists("0.3")
    assert tree.canonical_xml() == b"<a><b></b><x></x><d></d></a>"
    with tree.at_version(1):
        assert tree.canonical_xml() == b"<a><b></b><d></d></a>"


def test_a_moved_node_keeps_its_namespaces() -> None:
    tree = DocumentTree.read(b'<a><b xmlns:p="urn:1"><p:c p:k="v"/></b><d xmlns:p="urn:2"/></a>')
    tree.move("0.3", Place("0.4"))
    moved = b'<p:c xmlns:p="urn:1" p:k="v"></p:c>'
    assert tree.canonical_xml() == (
        b'<a><b xmlns:p="urn:1"></b><d xmlns:p="urn:2">' + moved + b"</d></a>"
    )


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda tree: tree.delete("0.9"), "sync.node"),
        (lambda tree: tree.delete("x"), "sync.node"),
        (lambda tree: tree.set_value("0.1", "v"), "sync.node"),
        (lambda tree: tree.rename("0.3", Name("", "", "n")), "sync.node"),
        (lambda tree: tree.delete("0.1"), "update.root"),
        (lambda tree: tree.move("0.1", Place("0.2")), "update.root"),
        (lambda tree: tree.move("0.2", Place("0.0")), "update.root"),
        (lambda tree: tree.move("0.2", Place("0.4")), "update.cycle"),
        (lambda tree: tree.insert([_element("0.2", "n")], Place("0.1")), "sync.identity"),
        (lambda tree: tree.insert([_element("1.1", "1")], Place("0.1")), "update.content"),
        (lambda tree: tree.insert([_text("1.1", "a\x00", 0)], Place("0.1")), "update.content"),
        (lambda tree: tree.insert([], Place("0.1")), "update.content"),
        (lambda tree: tree.set_attribute("0.1", Name("", "u", "k"), ""), "update.content"),
        (lambda tree: tree.rename("0.2", Name("xmlns", "u", "k")), "update.content"),
        # Written, the attribute would be a namespace declaration.
        (lambda tree: tree.set_attribute("0.1", Name("", "", "xmlns"), "u"), "update.content"),
        (
            lambda tree: tree.insert(
                [
                    NewNode(
                        "1.1",
                        0,
                        NodeKind.ELEMENT,
                        Name("", "", "n"),
                        attributes=((Name("", "", "xmlns"), "u"),),
                    )
                ],
                Place("0.1"),
            ),
            "update.content",
        ),
        (lambda tree: tree.apply_patch(b"junk"), "sync.patch"),
        (lambda tree: tree.apply_patch(b"PSP1\x01\x01\x07\x07\x00"), "sync.patch"),
    ],
)
def test_refused_operations_change_nothing(change: object, code: str) -> None:
    tree = DocumentTree.read(b"<a><b>x<c/></b></a>")
    assert callable(change)
    with pytest.raises(PenstockError) as refused:
        change(tree)
    assert refused.value.code == code
    assert tree.canonical_xml() == b"<a><b>x<c></c></b></a>"


def test_documents_are_refused_by_the_reader_and_by_the_limits_of_the_tree() -> None:
    with pytest.raises(DocumentError) as refused:
        DocumentTree.read(b"<a><b></a>")
    assert refused.value.code == "xml.end-tag"
    with pytest.raises(DocumentError):
        DocumentTree.read(b"<a><b/></a>", limits=Limits(depth=1))


def test_a_tree_that_is_too_large_or_too_deep_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.sync.document_tree.TREE_NODES_MAX", 3)
    with pytest.raises(DocumentError) as refused:
        DocumentTree.read(b"<a><b/><c/></a>")
    assert refused.value.code == "limit.tree"
    tree = DocumentTree.read(b"<a><b/></a>", limits=Limits(depth=2))
    with pytest.raises(DocumentError) as refused:
        tree.insert([_element("1.1", "c")], Place("0.2"))
    assert refused.value.code == "limit.tree"


def test_queries_are_refused_with_their_code() -> None:
    with pytest.raises(PenstockError) as refused:
        TreeQuery("/a[")
    assert refused.value.code == "query.syntax"


def test_a_selected_text_is_every_adjacent_text_node() -> None:
    tree = DocumentTree.read(b"<a>x<b/>y<c/></a>")
    tree.delete("0.3")
    texts = SyncSubscription("/a/text()[1]")
    assert tree.restricted(tree.view(texts.compiled)).canonical_xml() == b"<a>xy</a>"
    tree.set_value("0.4", "")
    assert len(tree.view(texts.compiled)) == 2


def _element(identity: str, name: str, depth: int = 0) -> NewNode:
    return NewNode(identity, depth, NodeKind.ELEMENT, Name("", "", name))


def _text(identity: str, value: str, depth: int) -> NewNode:
    return NewNode(identity, depth, NodeKind.TEXT, value=value)
