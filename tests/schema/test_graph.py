"""Schema graphs: roots, heights, names, files, and their use as path universes."""

from __future__ import annotations

import pickle
from io import StringIO
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from penstock.errors import SchemaError
from penstock.language.relations.path_universe import AttributeRule, Occurs, PathUniverse, TextRule
from penstock.schema import SchemaGraph
from support.fixtures.shared_data import shared_data

XHTML = "http://www.w3.org/1999/xhtml"


def test_roots_are_those_that_no_other_element_contains() -> None:
    schema = SchemaGraph.from_dtd("<!ELEMENT a (a?, b)><!ELEMENT b EMPTY><!ELEMENT c (b)>")
    assert schema.root_labels == ("a", "c")


def test_a_cycle_needs_its_root_named() -> None:
    cycle = "<!ELEMENT a (b?)><!ELEMENT b (a?)>"
    with pytest.raises(SchemaError, match="there is no root"):
        SchemaGraph.from_dtd(cycle)
    assert SchemaGraph.from_dtd(cycle, roots=["b"]).root_labels == ("b",)


def test_heights_are_the_levels_an_element_needs() -> None:
    schema = SchemaGraph.from_dtd("""
        <!ELEMENT a (b | c)> <!ELEMENT b (c, d)> <!ELEMENT c (d)> <!ELEMENT d (#PCDATA | a)*>""",
        roots=["a"],
    )  # fmt: skip
    assert schema.heights == {"d": 1, "c": 2, "b": 3, "a": 3}


def test_names_carry_the_uris_that_are_given() -> None:
    schema = SchemaGraph.from_dtd(
        """<!ELEMENT p:a (b)> <!ELEMENT b EMPTY>
        <!ATTLIST p:a p:x CDATA #IMPLIED y CDATA #IMPLIED xml:lang CDATA #IMPLIED>""",
        namespaces={"p": "urn:p", "": "urn:d"},
    )
    assert schema.roots() == {("urn:p", "a")}
    assert schema.name_of("b") == ("urn:d", "b")
    assert schema.label_of(("urn:p", "a")) == "p:a"
    assert set(schema.attributes(("urn:p", "a"))) == {
        ("urn:p", "x"),
        ("", "y"),
        ("http://www.w3.org/XML/1998/namespace", "lang"),
    }


def test_names_carry_the_uris_that_the_dtd_fixes() -> None:
    schema = SchemaGraph.from_dtd(
        f"<!ELEMENT html EMPTY><!ATTLIST html xmlns CDATA #FIXED '{XHTML}' id ID #IMPLIED>"
    )
    assert schema.roots() == {(XHTML, "html")}
    assert set(schema.attributes((XHTML, "html"))) == {("", "id")}


@pytest.mark.parametrize(
    "text",
    [
        "<!ELEMENT p:a (q:a)><!ELEMENT q:a EMPTY>",
        "<!ELEMENT a (b)><!ATTLIST a xmlns CDATA #FIXED 'urn:1'>"
        "<!ELEMENT b EMPTY><!ATTLIST b xmlns CDATA #FIXED 'urn:2'>",
    ],
)
def test_names_that_would_be_ambiguous_are_refused(text: str) -> None:
    with pytest.raises(SchemaError) as caught:
        SchemaGraph.from_dtd(text, namespaces={"p": "urn:p", "q": "urn:p"})
    assert caught.value.code == "schema.namespace"


@pytest.mark.parametrize(
    "data",
    [
        "<!ELEMENT größe EMPTY>".encode(),
        b"\xef\xbb\xbf" + "<!ELEMENT größe EMPTY>".encode(),
        "<!ELEMENT größe EMPTY>".encode("utf-16"),
        '<?xml encoding="ISO-8859-1"?><!ELEMENT größe EMPTY>'.encode("latin-1"),
    ],
)
def test_a_file_is_read_in_the_encoding_it_declares(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.dtd").write_bytes(data)
    assert SchemaGraph.from_dtd_file(tmp_path / "a.dtd").root_labels == ("größe",)


@pytest.mark.parametrize(
    "data",
    [b"<?xml encoding='EBCDIC'?>", b"<!ELEMENT a EMPTY>\n<!-- \xff -->"],
)
def test_a_file_that_cannot_be_decoded_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.dtd").write_bytes(data)
    with pytest.raises(SchemaError) as caught:
        SchemaGraph.from_dtd_file(tmp_path / "a.dtd")
    assert caught.value.code == "schema.encoding"


def test_it_is_a_path_universe() -> None:
    universe: PathUniverse = SchemaGraph.from_dtd("""
        <!ELEMENT a (b+, c?)> <!ELEMENT b EMPTY> <!ELEMENT c (#PCDATA)>
        <!ATTLIST a need CDATA #REQUIRED may (x | y) #IMPLIED
                    given (x | y) "x" fixed CDATA #FIXED "z">""")
    assert universe.roots() == {("", "a")}
    assert universe.children(("", "a")) == {
        ("", "b"): Occurs(required=True, many=True),
        ("", "c"): Occurs(required=False, many=False),
    }
    assert universe.attributes(("", "a")) == {
        ("", "need"): AttributeRule(required=True),
        ("", "may"): AttributeRule(values=frozenset("xy")),
        ("", "given"): AttributeRule(values=frozenset("xy")),
        ("", "fixed"): AttributeRule(values=frozenset("z")),
    }
    texts = [universe.text(("", label)) for label in "abcx"]
    assert texts == [TextRule.SPACE, TextRule.NONE, TextRule.ANY, TextRule.NONE]
    assert universe.children(("", "x")) == {}
    assert universe.attributes(("urn:other", "a")) == {}


@pytest.mark.parametrize(
    "model",
    [
        "EMPTY", "ANY", "(#PCDATA)", "(#PCDATA | b | c)*", "(b)", "(b?, c)", "(b | c)", "(b | c)+",
        "((b, c) | d)", "((b | c), d?)", "(b, (c | d)*)", "((b, c)+ | (c, d))?", "(b, c, b?, d?)",
    ],
)  # fmt: skip
def test_admits_agrees_with_a_validator(model: str) -> None:
    leaves = "<!ELEMENT b EMPTY><!ELEMENT c EMPTY><!ELEMENT d EMPTY>"
    text = f"<!ELEMENT a {model}>{leaves}"
    schema = SchemaGraph.from_dtd(text, roots=["a"])
    # Every set of children in some valid content of up to five children.
    shown = {frozenset(word) for word in _valid_words(text, alphabet="bcd", length_max=5)}
    for among in _subsets("bcd"):
        for wanted in _subsets("".join(sorted(among))):
            expected = any(wanted <= one <= among for one in shown)
            answer = schema.admits(
                ("", "a"),
                frozenset(("", label) for label in among),
                frozenset(("", label) for label in wanted),
            )
            if model != "ANY":
                assert answer == expected, (among, wanted)
            assert answer or not expected


def _valid_words(dtd: str, alphabet: str, length_max: int) -> list[str]:
    validator = etree.DTD(StringIO(dtd))
    words = [""]
    for length in range(length_max):
        words += [word + letter for word in words if len(word) == length for letter in alphabet]
    documents = ((word, "".join(f"<{letter}/>" for letter in word)) for word in words)
    return [word for word, inner in documents if validator.validate(etree.XML(f"<a>{inner}</a>"))]


def _subsets(letters: str) -> list[frozenset[str]]:
    sizes = range(len(letters) + 1)
    return [frozenset(one) for one in chain(*(combinations(letters, size) for size in sizes))]


def test_large_sets_of_required_names_are_decided_one_by_one() -> None:
    labels = [f"e{number}" for number in range(12)]
    schema = SchemaGraph.from_dtd(
        f"<!ELEMENT a ({', '.join(labels[:-1])}?)>"
        + "".join(f"<!ELEMENT {label} EMPTY>" for label in labels),
        roots=["a"],
    )
    names = [("", label) for label in labels]
    everything = frozenset(names)
    assert schema.admits(("", "a"), everything, frozenset(names[:-1]))
    assert not schema.admits(("", "a"), everything, everything)
    assert not schema.admits(("", "a"), frozenset(names[1:]))


def test_a_schema_survives_pickling() -> None:
    schema = SchemaGraph.from_dtd("<!ELEMENT a (b*)><!ELEMENT b EMPTY><!ATTLIST b x ID #REQUIRED>")
    again = pickle.loads(pickle.dumps(schema))
    assert again.elements == schema.elements
    assert again.roots() == schema.roots()


def test_the_auction_dtd_of_xmark_agrees_with_libxml() -> None:
    path = shared_data("xmark", "auction.dtd")
    schema = SchemaGraph.from_dtd_file(path, roots=["site"])
    peer: Any = etree.DTD(str(path))
    assert set(schema.elements) == {element.name for element in peer.iterelements()}
    for element in peer.iterelements():
        declared = {attribute.name: attribute for attribute in element.iterattributes()}
        assert set(schema.elements[element.name].attributes) == set(declared)
    assert schema.elements["item"].children["incategory"] == Occurs(required=True, many=True)
    assert schema.elements["open_auction"].children["reserve"] == Occurs(False, False)
    assert schema.heights["site"] > 2
