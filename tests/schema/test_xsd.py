"""Schema trees from XSDs: cardinalities, attributes, what a tree cannot express."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import DocumentError, SchemaError
from penstock.schema import SchemaTree, UnfoldLimits, print_tree
from penstock.schema.xsd import tree_from_xsd

OPEN = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" {}>'


def xsd(body: str, attributes: str = "") -> str:
    return f"{OPEN.format(attributes)}{body}</xs:schema>"


def element(name: str, content: str, attributes: str = "") -> str:
    return (
        f'<xs:element name="{name}"><xs:complexType {attributes}>{content}</xs:complexType>'
        f"</xs:element>"
    )


def outline(tree: SchemaTree) -> list[str]:
    return print_tree(tree).splitlines()[2:]


def test_sequences_choices_and_numbers_become_cardinalities() -> None:
    content = """
      <xs:sequence>
        <xs:element name="one" type="xs:string"/>
        <xs:element name="maybe" type="xs:int" minOccurs="0"/>
        <xs:choice maxOccurs="2">
          <xs:element name="left" type="xs:string"/>
          <xs:element name="right" type="xs:string"/>
        </xs:choice>
        <xs:sequence minOccurs="0">
          <xs:element name="some" type="xs:string" maxOccurs="5"/>
        </xs:sequence>
        <xs:element name="one" type="xs:string"/>
        <xs:element name="never" type="xs:string" minOccurs="0" maxOccurs="0"/>
      </xs:sequence>"""
    assert outline(tree_from_xsd(xsd(element("a", content)))) == [
        "a",
        "  one+ text",
        "  maybe? text",
        "  left* text",
        "  right* text",
        "  some* text",
    ]


def test_all_groups_attributes_and_mixed_content() -> None:
    content = """
      <xs:all><xs:element name="b" minOccurs="0"><xs:complexType/></xs:element></xs:all>
      <xs:attribute name="must" use="required" type="xs:string"/>
      <xs:attribute name="may" type="xs:string"/>
      <xs:attribute name="not" use="prohibited" type="xs:string"/>"""
    tree = tree_from_xsd(xsd(element("a", content, 'mixed="true"')))
    assert outline(tree) == ["a text", "  @must", "  @may?", "  b?"]
    assert tree.remarks == ()


def test_one_name_may_have_two_types_at_two_places() -> None:
    inner = '<xs:sequence><xs:element name="x" type="xs:string"/></xs:sequence>'
    content = f"""
      <xs:sequence>
        {element("b", f"<xs:sequence>{element('c', inner)}</xs:sequence>")}
        {element("d", '<xs:sequence><xs:element name="c" type="xs:string"/></xs:sequence>')}
      </xs:sequence>"""
    assert outline(tree_from_xsd(xsd(element("a", content)))) == [
        "a",
        "  b",
        "    c",
        "      x text",
        "  d",
        "    c text",
    ]


def test_names_are_in_the_target_namespace_as_the_schema_says() -> None:
    body = element("a", '<xs:sequence><xs:element name="b" type="xs:string"/></xs:sequence>')
    tree = tree_from_xsd(xsd(body, 'targetNamespace="urn:t" elementFormDefault="qualified"'))
    assert [str(place) for place in tree.places()] == ["/{urn:t}a", "/{urn:t}a/{urn:t}b"]
    unqualified = tree_from_xsd(xsd(body, 'targetNamespace="urn:t"'))
    assert [str(place) for place in unqualified.places()] == ["/{urn:t}a", "/{urn:t}a/b"]


def test_recursion_is_cut_at_the_named_limit() -> None:
    body = element("a", '<xs:sequence><xs:element ref="a" minOccurs="0"/></xs:sequence>')
    tree = tree_from_xsd(xsd(body), limits=UnfoldLimits(recursion_max=2))
    assert outline(tree) == ["", "a", "  a? ..."]
    assert tree.cut_at == {"recursion_max"}


def test_a_substitution_group_is_replaced_by_its_members() -> None:
    body = """
      <xs:element name="shape" abstract="true" type="xs:string"/>
      <xs:element name="circle" substitutionGroup="shape" type="xs:string"/>
      <xs:element name="square" substitutionGroup="shape" type="xs:string"/>"""
    body += element("a", '<xs:sequence><xs:element ref="shape"/></xs:sequence>')
    assert outline(tree_from_xsd(xsd(body))) == ["a", "  circle? text", "  square? text"]


def test_constructs_without_a_tree_equivalent_are_reported() -> None:
    content = '<xs:sequence><xs:any processContents="skip"/></xs:sequence><xs:anyAttribute/>'
    tree = tree_from_xsd(xsd(element("a", content)))
    assert tree.remarks == (
        "a: a tree cannot express arbitrary attributes",
        "a: a tree cannot express arbitrary elements",
    )
    assert "# a: a tree cannot express arbitrary elements" in print_tree(tree)
    abstract = '<xs:complexType name="t" abstract="true"/><xs:element name="a" type="t"/>'
    remarks = tree_from_xsd(xsd(abstract)).remarks
    assert remarks == ("a: its type is abstract; derived content is unknown",)


def test_an_ambiguous_root_must_be_named() -> None:
    body = '<xs:element name="a" type="xs:string"/><xs:element name="b" type="xs:string"/>'
    with pytest.raises(SchemaError, match="ambiguous: 'a', 'b'"):
        tree_from_xsd(xsd(body))
    assert outline(tree_from_xsd(xsd(body), root="b")) == ["b text"]
    with pytest.raises(SchemaError, match="no unique global element 'c'"):
        tree_from_xsd(xsd(body), root="c")


def test_an_invalid_xsd_is_refused() -> None:
    with pytest.raises(SchemaError) as caught:
        tree_from_xsd(xsd('<xs:element name="a" type="nothing"/>'))
    assert caught.value.code == "schema.xsd"


def test_an_xsd_that_is_not_xml_is_refused_by_the_reader() -> None:
    with pytest.raises(DocumentError):
        tree_from_xsd("<xs:schema")


def test_a_file_includes_only_files_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "schemas"
    folder.mkdir()
    types = xsd('<xs:simpleType name="t"><xs:restriction base="xs:string"/></xs:simpleType>')
    (folder / "types.xsd").write_text(types, encoding="utf-8")
    (tmp_path / "outside.xsd").write_text(types, encoding="utf-8")
    main = folder / "main.xsd"
    body = '<xs:include schemaLocation="{}"/><xs:element name="a" type="t"/>'
    main.write_text(xsd(body.format("types.xsd")), encoding="utf-8")
    assert outline(tree_from_xsd(main)) == ["a text"]
    main.write_text(xsd(body.format("../outside.xsd")), encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        tree_from_xsd(main)
    assert caught.value.code == "schema.xsd"


def test_entities_in_an_xsd_are_not_expanded() -> None:
    text = '<!DOCTYPE a [<!ENTITY n "a">]>' + xsd('<xs:element name="a"/>')
    with pytest.raises(SchemaError) as caught:
        tree_from_xsd(text)
    assert caught.value.code == "schema.xsd"
