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


def test_a_symbolic_link_does_not_leave_the_folder(tmp_path: Path) -> None:
    types = xsd('<xs:complexType name="t"/>')
    folder = tmp_path / "schemas"
    folder.mkdir()
    (tmp_path / "outside.xsd").write_text(types, encoding="utf-8")
    (folder / "inside.xsd").write_text(types, encoding="utf-8")
    main = folder / "main.xsd"
    body = '<xs:include schemaLocation="link.xsd"/><xs:element name="a" type="t"/>'
    main.write_text(xsd(body), encoding="utf-8")
    (folder / "link.xsd").symlink_to(folder / "inside.xsd")
    assert outline(tree_from_xsd(main)) == ["a"]
    (folder / "link.xsd").unlink()
    (folder / "link.xsd").symlink_to(tmp_path / "outside.xsd")
    with pytest.raises(SchemaError):
        tree_from_xsd(main)
    # The schema itself may be reached by a link.
    main.write_text(xsd(body.replace("link", "inside")), encoding="utf-8")
    (tmp_path / "main.xsd").symlink_to(main)
    assert outline(tree_from_xsd(tmp_path / "main.xsd")) == ["a"]


def test_a_folder_whose_name_continues_that_of_the_schema_is_outside(tmp_path: Path) -> None:
    for folder in ("schemas", "schemas-private"):
        (tmp_path / folder).mkdir()
    types = xsd('<xs:complexType name="t"/>')
    (tmp_path / "schemas-private" / "t.xsd").write_text(types, encoding="utf-8")
    main = tmp_path / "schemas" / "main.xsd"
    include = '<xs:include schemaLocation="../schemas-private/t.xsd"/>'
    main.write_text(xsd(f'{include}<xs:element name="a" type="t"/>'), encoding="utf-8")
    with pytest.raises(SchemaError):
        tree_from_xsd(main)


def limit_message(source: str | Path) -> str:
    with pytest.raises(SchemaError) as caught:
        tree_from_xsd(source)
    assert caught.value.code == "schema.limit"
    return caught.value.message


def nested_groups(levels: int, references: int) -> str:
    """Groups that refer to the next one several times each."""
    groups = [
        f'<xs:group name="g{n}"><xs:sequence>'
        + f'<xs:group ref="g{n + 1}"/>' * references
        + "</xs:sequence></xs:group>"
        for n in range(levels)
    ]
    leaf = '<xs:sequence><xs:element name="x" type="xs:int"/></xs:sequence>'
    last = f'<xs:group name="g{levels}">{leaf}</xs:group>'
    return xsd("".join(groups) + last + element("a", '<xs:group ref="g0"/>'))


def test_nested_groups_are_refused_before_they_are_expanded() -> None:
    assert outline(tree_from_xsd(nested_groups(3, 3))) == ["a", "  x+ text"]
    assert "comparisons" in limit_message(nested_groups(12, 10))


PATTERN = '<xs:pattern value="(a+)+b"/>'
UNIONS = "".join(
    f'<xs:simpleType name="u{n}"><xs:union memberTypes="u{n + 1} u{n + 1}"/></xs:simpleType>'
    for n in range(60)
)
"""A type with 2 to the power of 60 members."""


@pytest.mark.parametrize(
    "declarations",
    [
        f'<xs:element name="a" default="{"a" * 60}"><xs:simpleType>'
        f'<xs:restriction base="xs:string">{PATTERN}</xs:restriction></xs:simpleType></xs:element>',
        f'<xs:element name="a"><xs:simpleType><xs:restriction base="xs:string">{PATTERN}'
        f'<xs:enumeration value="{"a" * 60}"/></xs:restriction></xs:simpleType></xs:element>',
        f'{UNIONS}<xs:simpleType name="u60"><xs:restriction base="xs:int"/></xs:simpleType>'
        '<xs:element name="a" type="u0" fixed="x"/>',
        f'{UNIONS}<xs:simpleType name="u60"><xs:restriction base="xs:int"/></xs:simpleType>'
        '<xs:simpleType name="e"><xs:restriction base="u0"><xs:enumeration value="x"/>'
        '</xs:restriction></xs:simpleType><xs:element name="a" type="e"/>',
        '<xs:element name="a" type="xs:string"><xs:unique name="u">'
        f'<xs:selector xpath="{"a:" * 100_000}!"/><xs:field xpath="b"/></xs:unique></xs:element>',
    ],
    ids=["default", "enumeration", "union", "enumeration of a union", "identity constraint"],
)
def test_values_and_identity_constraints_are_not_checked(declarations: str) -> None:
    # Each of these would take years, or many minutes.
    assert outline(tree_from_xsd(xsd(declarations))) == ["a text"]


def test_default_values_of_attributes_are_not_checked() -> None:
    attribute = (
        f'<xs:attribute name="k" use="required" fixed="{"a" * 60}"><xs:simpleType>'
        f'<xs:restriction base="xs:string">{PATTERN}</xs:restriction></xs:simpleType>'
        "</xs:attribute>"
    )
    assert outline(tree_from_xsd(xsd(element("a", attribute)))) == ["a", "  @k"]


@pytest.mark.parametrize(
    "source",
    [
        xsd(
            '<xs:attributeGroup name="g">'
            + "".join(f'<xs:attribute name="k{n}"/>' for n in range(500))
            + "</xs:attributeGroup>"
            + "".join(element(f"a{n}", '<xs:attributeGroup ref="g"/>') for n in range(500))
        ),
        xsd(
            "".join(
                f'<xs:complexType name="t{n}"><xs:complexContent><xs:extension base="t{n + 1}">'
                + "".join(f'<xs:attribute name="k{n}_{k}"/>' for k in range(100))
                + "</xs:extension></xs:complexContent></xs:complexType>"
                for n in range(80)
            )
            + '<xs:complexType name="t80"/><xs:element name="a" type="t0"/>'
        ),
    ],
    ids=["groups", "extensions"],
)
def test_attributes_of_types_are_limited(source: str) -> None:
    assert "attributes" in limit_message(source)


@pytest.mark.parametrize(
    "source",
    [
        xsd(
            element(
                "a", "<xs:choice>" + "".join(f'<xs:element name="e{n}"/>' for n in range(1500))
            ).replace("</xs:complexType>", "</xs:choice></xs:complexType>")
        ),
        xsd(
            '<xs:element name="h"/>'
            + "".join(f'<xs:element name="s{n}" substitutionGroup="h"/>' for n in range(1000))
            + element("a", "<xs:sequence>" + '<xs:element ref="h"/>' * 50 + "</xs:sequence>")
        ),
    ],
    ids=["choice", "substitution group"],
)
def test_large_content_models_are_refused(source: str) -> None:
    assert "comparisons" in limit_message(source)


@pytest.mark.parametrize(
    "source",
    [
        nested_groups(500, 1),
        xsd(
            '<xs:element name="e"><xs:complexType><xs:sequence>' * 300
            + "</xs:sequence></xs:complexType></xs:element>" * 300
        ),
        xsd(
            '<xs:element name="s0"/>'
            + "".join(
                f'<xs:element name="s{n}" substitutionGroup="s{n - 1}"/>' for n in range(1, 2000)
            )
        ),
    ],
    ids=["groups", "elements", "substitution groups"],
)
def test_deep_nesting_is_refused(source: str) -> None:
    assert "nested too deeply" in limit_message(source)


def test_the_files_of_a_schema_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(3):
        next_file = f'<xs:include schemaLocation="{n + 1}.xsd"/>'
        (tmp_path / f"{n}.xsd").write_text(xsd(next_file), encoding="utf-8")
    (tmp_path / "3.xsd").write_text(xsd('<xs:element name="a" type="xs:int"/>'), encoding="utf-8")
    assert outline(tree_from_xsd(tmp_path / "0.xsd")) == ["a text"]
    with monkeypatch.context() as limited:
        limited.setattr("penstock.schema.xsd_files.XSD_FILES_MAX", 3)
        assert "files" in limit_message(tmp_path / "0.xsd")
    monkeypatch.setattr("penstock.schema.xsd_files.XSD_BYTES_MAX", 300)
    assert "bytes" in limit_message(tmp_path / "0.xsd")


def test_an_included_file_is_read_by_the_hardened_reader(tmp_path: Path) -> None:
    (tmp_path / "a.xsd").write_text(
        xsd('<xs:include schemaLocation="b.xsd"/><xs:element name="a"/>'), encoding="utf-8"
    )
    (tmp_path / "b.xsd").write_text(
        f"<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/hostname'>]>{xsd('&e;')}", encoding="utf-8"
    )
    with pytest.raises(DocumentError) as caught:
        tree_from_xsd(tmp_path / "a.xsd")
    assert caught.value.code == "entity.external"
