"""Schema files: printing and reading round-trips, errors have positions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from penstock.documents import Name
from penstock.errors import SchemaError
from penstock.language.relations.path_universe import Occurs
from penstock.schema import SchemaNode, SchemaTree, print_tree, read_schema_file, read_tree
from support.strategies.schemas import schema_trees

FILE = """\
penstock schema 1
namespace n1 urn:courses
cut recursion_max
# a remark

n1:catalogue
  @n1:year
  @xml:lang?
  course* text ...
    title? text
  n1:note+
"""


def test_every_kind_of_line_is_read_and_printed() -> None:
    tree = read_tree(FILE)
    assert print_tree(tree) == FILE.replace("# a remark\n", "")
    course = tree.root.children[0]
    assert (course.occurs, course.text, course.cut) == (Occurs(False, True), True, True)
    assert tree.root.children[1].name == Name("urn:courses", "note")
    assert [each.required for each in tree.root.attributes] == [True, False]
    assert tree.cut_at == {"recursion_max"}


def test_any_string_may_be_a_namespace() -> None:
    odd = ' a "b"\n'
    tree = SchemaTree(SchemaNode(Name(odd, "a"), children=(SchemaNode(Name("é b", "c")),)))
    assert read_tree(print_tree(tree)) == tree


@given(schema_trees())
def test_printing_and_reading_round_trips(tree: SchemaTree) -> None:
    assert read_tree(print_tree(tree)) == tree


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("", "the first line must be `penstock schema 1`", 1, 1),
        ("penstock mapping 1\na\n", "the first line must be", 1, 1),
        ("penstock schema 1\n\n", "there is no node", 3, 1),
        ("penstock schema 1\na\nb\n", "a second root", 3, 1),
        ("penstock schema 1\na*\n", "the root must not have an occurrence indicator", 2, 1),
        ("penstock schema 1\na\n  b\n  b?\n", "duplicate child 'b'", 4, 3),
        ("penstock schema 1\na\n  @b\n  @b?\n", "duplicate attribute 'b'", 4, 3),
        ("penstock schema 1\na\n    b\n", "indented too far", 3, 5),
        ("penstock schema 1\na b\n", "expected a node", 2, 1),
        ("penstock schema 1\na\n  p:b\n", "expected a node", 3, 3),
        ("penstock schema 1\n@a\n", "expected an attribute", 2, 1),
        ("penstock schema 1\na\n  @*\n", "expected an attribute", 3, 3),
        ("penstock schema 1\ncut knife\na\n", "expected `namespace PREFIX URI`", 2, 1),
        ("penstock schema 1\nnamespace p\na\n", "expected `namespace PREFIX URI`", 2, 1),
        ("penstock schema 1\nnamespace p u\nnamespace q u\na\n", "both new", 3, 1),
        ('penstock schema 1\nnamespace p "u\na\n', "expected `namespace", 2, 1),
        ("penstock schema 1\nnamespace p u v\na\n", "expected `namespace", 2, 1),
        ("penstock schema 1\nnamespace 1 u\na\n", "expected `namespace", 2, 1),
        ("penstock schema 1\na\n\tb\n", "each level is indented by 2 spaces", 3, 2),
        ("penstock schema 1\na\n   b\n", "each level is indented by 2 spaces", 3, 4),
        ("penstock schema 1\na\n  => rename b\n", "this is a mapping", 3, 3),
    ],
)
def test_errors_have_positions(text: str, message: str, line: int, column: int) -> None:
    with pytest.raises(SchemaError, match=message) as caught:
        read_tree(text)
    assert caught.value.code == "schema.file"
    assert caught.value.where is not None
    assert (caught.value.where.line, caught.value.where.column) == (line, column)


def test_a_tree_may_not_be_too_deep() -> None:
    lines = ["penstock schema 1", *("  " * depth + "a" for depth in range(201))]
    with pytest.raises(SchemaError, match="more than 200 levels at line 202"):
        read_tree("\n".join(lines))


def test_the_suffix_determines_the_kind_of_schema_file(tmp_path: Path) -> None:
    dtd, own, broken = (tmp_path / name for name in ("a.dtd", "a.schema", "b.schema"))
    dtd.write_text("<!ELEMENT a (b*)> <!ELEMENT b EMPTY>", encoding="utf-8")
    tree = read_schema_file(dtd)
    own.write_text(print_tree(tree), encoding="utf-8")
    assert read_schema_file(own) == tree
    xsd = tmp_path / "a.xsd"
    xsd.write_text(
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"/></xs:schema>',
        encoding="utf-8",
    )
    assert read_schema_file(xsd).root.name == Name("", "a")
    broken.write_bytes(b"penstock schema 1\n\xff")
    with pytest.raises(SchemaError, match="not UTF-8 at line 2"):
        read_schema_file(broken)


def test_a_dtd_of_several_roots_needs_one_named(tmp_path: Path) -> None:
    dtd = tmp_path / "a.dtd"
    dtd.write_text("<!ELEMENT a EMPTY> <!ELEMENT b EMPTY>", encoding="utf-8")
    with pytest.raises(SchemaError, match="several roots: 'a', 'b'"):
        read_schema_file(dtd)
    assert read_schema_file(dtd, root="b").root == SchemaNode(Name("", "b"))
