"""Matching a document tree gives what matching its canonical XML gives."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import KeywordIndex, Matcher, SubscriptionIndex
from penstock.documents import Limits
from penstock.errors import PenstockError
from penstock.language import PrintedQuery, to_text
from penstock.language.updates.ast import Name
from penstock.sync import DocumentTree
from penstock.sync.document_tree import Place
from support.contracts.native_engines import needs_native
from support.strategies.documents import (
    ATTRIBUTE_NAMES,
    ELEMENT_NAMES,
    NAMESPACE_URIS,
    VALUES,
    deep_documents,
    documents,
)
from support.strategies.queries import Vocabulary, queries

pytestmark = needs_native

VOCABULARY = Vocabulary(
    elements=ELEMENT_NAMES, attributes=ATTRIBUTE_NAMES, uris=("", *NAMESPACE_URIS), texts=VALUES
)
some_queries = st.lists(queries(VOCABULARY).map(to_text), min_size=1, max_size=8)

UGLY = (
    b"<a>x<!--c-->y<?p d?>z</a>",
    b"<a>1<b/>0</a>",
    b"<a><![CDATA[x]]>y&#13;</a>",
    b"<!--x--><?p?><a><b>x</b><b>y</b><b>10</b></a><!--y-->",
    b'<a xmlns="urn:x"><b xmlns=""><c xmlns="urn:x" p="1"/><c/></b></a>',
    b'<q:a xmlns:q="urn:x" xmlns:r="urn:x" r:p="1" q:q="2" p="3">'
    b'<r:b xmlns:q="urn:y" q:p=""/></q:a>',
    b'<!DOCTYPE a [<!ATTLIST a p CDATA "d"><!ENTITY e "<b>x</b>">]><a>&e;y&e;</a>',
    "<a p='\u00e9'>\U0001f600<b/></a>".encode("utf-16"),
)
UGLY_QUERIES = (
    "/a",
    "//b",
    "/a/b[2]",
    "/a/b[last()]",
    "/a/b[position() < 3 and . = 'y']",
    "//a[not(b)]",
    "//a[not(b = 'x')]",
    "//a[b > 9]",
    "/a[. = '10']",
    "/a[text() = '1']",
    "/a/text()[2]",
    "/a/text()[starts-with(., 'xy')]",
    "//text()[contains(., 'z')]",
    "//*[@p]",
    "//@p[. = '1']",
    "//x:c/@p",
    "//x:a[@x:p and @x:q and @p = 3]",
    "//x:b[@y:p = '']",
    "//b[x:c]",
    "//*[count(*) = 2]",
    "//a[b = b]",
    "//*[normalize-space(.) = 'xyz']",
    "//*[string-length(.) = 1]",
)


def paths_matcher(printed: Sequence[PrintedQuery]) -> Matcher:
    index = SubscriptionIndex()
    for number, query in enumerate(printed):
        index.add(str(number), query.text, namespaces=query.namespaces)
    return index.matcher()


def ugly_matcher(engine: str) -> Matcher:
    index = SubscriptionIndex(engine=engine)
    for query in UGLY_QUERIES:
        index.add(query, query, namespaces={"x": "urn:x", "y": "urn:y"})
    return index.matcher()


def change(rng: random.Random, tree: DocumentTree, number: int) -> None:
    """Changes the tree at random; what the tree refuses changes nothing."""
    assert tree.root is not None
    nodes = tree.subtree(tree.root)
    node, other = rng.choice(nodes), rng.choice(nodes)
    try:
        match rng.randrange(6):
            case 0:
                tree.delete(node)
            case 1:
                tree.move(node, Place(other))
            case 2:
                tree.copy(node, f"7.{number}", Place(other))
            case 3:
                tree.rename(node, Name("", "", rng.choice(ELEMENT_NAMES)))
            case 4:
                tree.set_value(node, rng.choice(VALUES))
            case _:
                tree.set_attribute(node, Name("", "", ATTRIBUTE_NAMES[0]), rng.choice(VALUES))
    except PenstockError:
        pass


@pytest.mark.parametrize("engine", ["shared", "yfilter", "reference"])
@pytest.mark.parametrize("document", UGLY)
def test_ugly_documents(document: bytes, engine: str) -> None:
    matcher = ugly_matcher(engine)
    matches = matcher.match_tree(DocumentTree.read(document))
    assert set(matches.ids) == set(matcher.match(document).ids)
    assert not matches.errors


def test_each_ugly_query_tells_documents_apart() -> None:
    matcher = ugly_matcher("shared")
    found = [set(matcher.match_tree(DocumentTree.read(document)).ids) for document in UGLY]
    for query in UGLY_QUERIES:
        assert 0 < sum(query in ids for ids in found) < len(UGLY), query


@given(some_queries, documents | deep_documents)
def test_a_tree_matches_as_its_canonical_xml(printed: list[PrintedQuery], document: bytes) -> None:
    matcher = paths_matcher(printed)
    tree = DocumentTree.read(document)
    expected = matcher.match(tree.canonical_xml())
    found = matcher.match_tree(tree)
    assert set(found.ids) == set(expected.ids)
    assert found.counters.work.elements == expected.counters.work.elements


@given(some_queries, st.lists(documents, min_size=1, max_size=3), st.integers(0, 2**32))
def test_a_changed_tree_matches_as_its_canonical_xml(
    printed: list[PrintedQuery], texts: list[bytes], seed: int
) -> None:
    # One matcher and trees with names in different orders: its caches hold ids of names.
    matcher = paths_matcher(printed)
    rng = random.Random(seed)
    for document in texts:
        tree = DocumentTree.read(document)
        for number in range(5):
            assert set(matcher.match_tree(tree).ids) == set(matcher.match(tree.canonical_xml()).ids)
            change(rng, tree, number + 1)


def test_deleted_and_restored_nodes_and_adjacent_texts() -> None:
    matcher = ugly_matcher("shared")
    tree = DocumentTree.read(b"<a>1<b/>0</a>")
    assert "//b" in matcher.match_tree(tree)
    element = "0.3"
    assert tree.children("0.1") == ["0.2", element, "0.4"]
    tree.delete(element)
    # The texts are adjacent now: one text node in queries, two in the tree.
    ids = matcher.match_tree(tree).ids
    assert "//b" not in ids
    assert "/a[text() = '1']" not in ids
    assert "/a/text()[2]" not in ids
    assert "/a[. = '10']" in ids
    tree.restore(element)
    assert "//b" in matcher.match_tree(tree)


def test_keywords_match_a_tree() -> None:
    index = KeywordIndex()
    index.add("both", "red AND wine")
    index.add("phrase", '"red wine"')
    index.add("none", "beer")
    matcher = index.matcher()
    document = b"<a><b>red<!--c--> wine</b><c p='beers'/></a>"
    found = matcher.match_tree(DocumentTree.read(document))
    assert set(found.ids) == set(matcher.match(document).ids) == {"both", "phrase"}


def test_headers_are_tested() -> None:
    index = SubscriptionIndex()
    index.add("s", "//b", where={"kind": "x"})
    matcher, tree = index.matcher(), DocumentTree.read(b"<a><b/></a>")
    assert matcher.match_tree(tree, header={"kind": "x"}).ids == ("s",)
    assert matcher.match_tree(tree, header={"kind": "y"}).ids == ()


def test_a_tree_that_is_too_deep_for_the_matcher_is_refused() -> None:
    index = SubscriptionIndex()
    index.add("s", "//b")
    tree = DocumentTree.read(b"<a><p:b xmlns:p='urn:p'><c/></p:b></a>")
    (refused,) = index.matcher(limits=Limits(depth=2)).match_tree(tree).errors
    assert (refused.code, refused.path) == ("limit.depth", "/a/p:b")


def test_names_of_many_trees_do_not_pile_up() -> None:
    index = SubscriptionIndex()
    index.add("s", "//b")
    matcher = index.matcher(limits=Limits(names_bytes=2_000))
    for round_number in range(30):
        names = "".join(f"<n{round_number}_{number}/>" for number in range(10))
        assert matcher.match_tree(DocumentTree.read(f"<a>{names}<b/></a>".encode())).ids == ("s",)
    names = "".join(f"<n{number}/>" for number in range(100))
    (refused,) = matcher.match_tree(DocumentTree.read(f"<a>{names}</a>".encode())).errors
    assert refused.code == "limit.names-bytes"


def test_a_tree_without_a_root_is_refused() -> None:
    index = SubscriptionIndex()
    index.add("s", "//b")
    (refused,) = index.matcher().match_tree(DocumentTree()).errors
    assert refused.code == "xml.root"
