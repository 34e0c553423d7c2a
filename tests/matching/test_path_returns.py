"""Path returns of keyword subscriptions: Python objects and columns agree."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.documents import Fragment
from penstock.matching import KeywordIndex, SubscriptionIndex
from penstock.matching.lazy_fragments import LazyFragments
from penstock.matching.path_returns import PathReturns, columns_of
from penstock.native import native

pytestmark = pytest.mark.skipif(native is None, reason="needs the native core")

DOCUMENTS = [
    b"<a>x y</a>",
    b"<a xmlns='urn:&lt;\"'><b>x</b> omitted <b>y</b></a>",
    b"<r xmlns:p='urn:p' xmlns:q='urn:q' xmlns='urn:d'><p:a t='q:n'><b>x</b>y<i/>y</p:a></r>",
    b"<r xmlns:p='urn:p'><p:a xmlns:p = 'urn:own' note='>'  xmlns=\"\">x y</p:a></r>",
    b"<r xmlns:p='urn:p'><a title='xmlns:p=1'>x<p:b>y</p:b></a></r>",
    b"<r><a>x<c>omitted</c>y</a><a>x<c/><![CDATA[y]]></a><a>x &amp; y</a></r>",
    "<?xml version='1.0' encoding='ISO-8859-1'?><r><a>x \u00e9<i/>\u00e9 y</a></r>".encode(
        "latin-1"
    ),
    "<r><a>x \u00e9<i/>\u00e9 y</a></r>".encode("utf-16"),
    b"<!DOCTYPE r [<!ENTITY e '<a>x y</a>'>]><r>&e;<a>x y</a></r>",
]


def path_returns(document: bytes, query: str = "x y") -> PathReturns:
    index = KeywordIndex()
    index.add("q", query)
    found = index.matcher().select(document, ["q"])["q"]
    assert isinstance(found, PathReturns)
    return found


@pytest.mark.parametrize("document", DOCUMENTS)
def test_columns_are_those_of_the_fragments(document: bytes) -> None:
    found = path_returns(document)
    fragments = tuple(found)
    assert fragments
    assert all(isinstance(each, Fragment) for each in fragments)
    assert found.columns(len(found)) == columns_of(fragments)
    assert found.columns(1) == columns_of(fragments[:1])


@pytest.mark.parametrize("document", DOCUMENTS)
def test_fragments_are_those_of_the_detailed_answers(document: bytes) -> None:
    index = KeywordIndex()
    index.add("q", "x y")
    answers = index.matcher().answers(document)["q"]
    assert path_returns(document) == [answer.fragment for answer in answers]


NAMES = st.sampled_from(["a", "p:a", "q:b"])
TEXTS = st.sampled_from(["", "x", "y", " x ", "x y", "p:n", "&amp;", "<![CDATA[x]]>", "<!--c-->"])
ATTRIBUTES = st.sampled_from(
    ["", " xmlns='urn:1'", " xmlns:p='urn:2'", ' t="p:y"', " t = '>' xmlns:q = \"urn:'3\""]
)


@st.composite
def elements(draw: st.DrawFn, depth: int = 3) -> str:
    name, attributes = draw(NAMES), draw(ATTRIBUTES)
    children = draw(st.lists(elements(depth - 1), max_size=3)) if depth else []
    content = draw(TEXTS) + "".join(child + draw(TEXTS) for child in children)
    return f"<{name}{attributes}>{content}</{name}>"


@given(elements(), st.sampled_from(["x y", "x OR y"]))
def test_columns_agree_with_fragments_on_generated_documents(element: str, query: str) -> None:
    document = f"<r xmlns:p='urn:p' xmlns:q='urn:q' xmlns='urn:d'>{element}</r>".encode()
    found = path_returns(document, query)
    assert found.columns(len(found)) == columns_of(tuple(found))


def test_they_behave_as_a_sequence() -> None:
    found = path_returns(b"<r><a>x y</a><b>x y</b></r>")
    assert len(found) == 2
    assert found[-1].to_xml() == "<b>x y</b>"
    assert [part.to_xml() for part in found[:1]] == ["<a>x y</a>"]
    assert found == tuple(found)
    assert found != "xy"
    assert pickle.loads(pickle.dumps(found)) == tuple(found)
    with pytest.raises(IndexError):
        found[2]


def test_fragments_of_paths_are_created_when_they_are_accessed() -> None:
    index = SubscriptionIndex()
    index.add("q", "//b | //@k")
    document = b"<r xmlns:p='urn:p'><b/><a k='1'/></r>"
    found = index.matcher().match(document, fragments=True).fragments["q"]
    assert isinstance(found, LazyFragments)
    assert [part.kind for part in found] == ["element", "attribute"]
    assert found[0].to_xml() == "<b/>"
    assert found == tuple(found)
    assert pickle.loads(pickle.dumps(found)) == tuple(found)
    with pytest.raises(IndexError):
        found[2]


@pytest.mark.parametrize("kind", [SubscriptionIndex, KeywordIndex])
def test_fragments_of_a_file_outlive_its_mapping(
    kind: type[SubscriptionIndex | KeywordIndex], tmp_path: Path
) -> None:
    index = kind()
    index.add("q", "//x" if isinstance(index, SubscriptionIndex) else "x")
    (tmp_path / "document.xml").write_bytes(b"<r><x/></r>")
    matches = index.matcher().match_file(tmp_path / "document.xml", fragments=True)
    assert [part.to_xml() for part in matches.fragments["q"]] == ["<x/>"]
