"""Global schemas: domain and version are in the schema file and part of the digest."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SchemaError
from penstock.mediation import GlobalSchema, Mapping
from penstock.schema import SchemaTree, read_tree
from support.strategies.schemas import schema_trees

FILE = """\
penstock schema 1
domain courses version 2 after sha256:ab

catalogue
  course*
"""


def test_domain_version_and_predecessor_are_read_and_printed() -> None:
    schema = GlobalSchema.from_text(FILE)
    assert (schema.domain, schema.version, schema.predecessor) == ("courses", 2, "sha256:ab")
    assert schema.to_text() == FILE
    assert read_tree(FILE) == schema.tree, "a global schema serves as a schema"


@given(
    schema_trees(),
    st.sampled_from(["courses", "text", "2-x_y.z", "Kurse", "é"]),
    st.integers(1, 10**9 - 1),
    st.sampled_from([None, "sha256:ab"]),
)
def test_printing_and_reading_round_trips(
    tree: SchemaTree, domain: str, version: int, predecessor: str | None
) -> None:
    schema = GlobalSchema(domain, version, tree, predecessor)
    again = GlobalSchema.from_text(schema.to_text())
    assert again == schema
    assert again.digest == schema.digest
    assert replace(schema, version=version + 1).digest != schema.digest


def test_comments_do_not_change_the_digest() -> None:
    tree = read_tree(FILE)
    remarked = replace(tree, remarks=("any element may occur in course",))
    assert GlobalSchema("a", 1, remarked).digest == GlobalSchema("a", 1, tree).digest
    assert Mapping(remarked).digest == Mapping(tree).digest


@pytest.mark.parametrize("domain", ["", "a b", "../a", "-a", ".a", "a" * 101, "a/b"])
def test_an_invalid_domain_name_is_refused(domain: str) -> None:
    with pytest.raises(SchemaError, match="not a valid domain name") as caught:
        GlobalSchema(domain, 1, read_tree(FILE))
    assert caught.value.code == "schema.domain"


def test_versions_count_from_one() -> None:
    with pytest.raises(SchemaError, match="versions start at 1"):
        GlobalSchema("a", 0, read_tree(FILE))


def test_a_schema_without_a_domain_is_not_global() -> None:
    with pytest.raises(SchemaError, match="does not name its domain") as caught:
        GlobalSchema.from_text("penstock schema 1\na\n")
    assert caught.value.code == "schema.domain"


@pytest.mark.parametrize(
    "head", ["domain a", "domain a version 0", "domain a version 1\ndomain b version 1"]
)
def test_a_malformed_domain_line_is_refused_with_its_position(head: str) -> None:
    with pytest.raises(SchemaError, match="`domain NAME version N`") as caught:
        GlobalSchema.from_text(f"penstock schema 1\n{head}\na\n")
    assert caught.value.code == "schema.file"
    assert caught.value.where is not None
    assert caught.value.where.line == 1 + head.count("\n") + 1


def test_a_mapping_has_no_domain() -> None:
    with pytest.raises(Exception, match="in a schema, `domain NAME version N`"):
        Mapping.from_text("penstock mapping 1\ndomain a version 1\na\n")


@pytest.mark.parametrize("root", ["cut", "domain", "namespace"])
def test_a_root_may_have_the_name_of_a_format_keyword(root: str) -> None:
    assert read_tree(f"penstock schema 1\n{root} text\n").root.name.local == root
