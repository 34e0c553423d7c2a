"""`penstock relate`: relations of queries, with and without a schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.fixtures.commands import penstock

FLAT = """
<!ELEMENT items (item*)> <!ELEMENT item (#PCDATA)> <!ATTLIST item price CDATA #REQUIRED>
"""
NESTED = """
<!ELEMENT items (item*)> <!ELEMENT item (item*)> <!ATTLIST item price CDATA #REQUIRED>
"""
BRANDED = """
<!ELEMENT product (computers | phones)> <!ELEMENT computers (brand)> <!ELEMENT phones (brand)>
<!ELEMENT brand (#PCDATA)> <!ELEMENT model (#PCDATA)>
"""
UNBRANDED = """
<!ELEMENT product (computers | phones)> <!ELEMENT computers (model)> <!ELEMENT phones (brand)>
<!ELEMENT brand (#PCDATA)> <!ELEMENT model (#PCDATA)>
"""


def verdict(first: str, second: str, dtd: Path | None = None) -> str:
    done = penstock("relate", first, second, *(["--dtd", str(dtd)] if dtd else []))
    assert done.code == 0, done.err
    return done.out.partition(":")[0]


def schema(folder: Path, text: str) -> Path:
    path = folder / "schema.dtd"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_wildcard_contains_a_name() -> None:
    assert verdict("/product/*", "/product/computers") == "contains"
    assert verdict("/product/computers", "/product/*") == "contained"


def test_ranges_of_one_attribute_are_disjoint() -> None:
    assert verdict("/items/item[@price<10]", "/items/item[@price>30]") == "disjoint"


@pytest.mark.parametrize(
    ("dtd", "expected"), [(None, "overlaps"), (FLAT, "disjoint"), (NESTED, "overlaps")]
)
def test_descendant_ranges_are_disjoint_only_if_items_do_not_nest(
    tmp_path: Path, dtd: str | None, expected: str
) -> None:
    path = schema(tmp_path, dtd) if dtd else None
    assert verdict("//item[@price<10]", "//item[@price>30]", path) == expected


def test_brands_and_computers_depend_on_the_schema(tmp_path: Path) -> None:
    brands, computers = "//brand", "/product/computers"
    assert verdict(brands, computers) == "overlaps"
    assert verdict(brands, computers, schema(tmp_path, BRANDED)) == "contains"
    assert verdict(brands, computers, schema(tmp_path, UNBRANDED)) == "disjoint"


def test_queries_for_the_same_documents_are_equal() -> None:
    assert verdict("/a[b]", "/a[b][b]") == "equal"


def test_a_query_that_never_matches_is_flagged(tmp_path: Path) -> None:
    path = schema(tmp_path, FLAT)
    assert "never matches" in penstock("relate", "/items/brand", "/items", "--dtd", str(path)).out


def test_every_relation_is_listed_with_its_certainty() -> None:
    rows = penstock("relate", "/product/*", "/product/computers").out.splitlines()[1:]
    assert [row.split()[:2] for row in rows] == [
        ["contains", "yes"],
        ["contained", "no"],
        ["covers", "yes"],
        ["covered", "no"],
        ["overlaps", "yes"],
    ]
    assert "(counterexample: <product>" in rows[1]


def test_an_unproved_relation_is_not_reported_as_no() -> None:
    rows = penstock("relate", "//item[@price<10]", "//item[@price>30]").out.splitlines()[1:]
    assert [row.split()[:2] for row in rows] == [
        ["contains", "not"],
        ["contained", "not"],
        ["covers", "not"],
        ["covered", "not"],
        ["overlaps", "perhaps"],
    ]


def test_json() -> None:
    row = json.loads(penstock("relate", "--json", "/product/*", "/product/computers").out)
    assert (row["verdict"], row["sure"]) == ("contains", True)
    assert row["contains"] == {"holds": True, "sure": True, "witness": None}
    assert row["contained"]["holds"] is False
    assert row["contained"]["witness"].startswith("<product>")
    assert row["overlaps"]["holds"] is True


def test_namespaces_distinguish_names() -> None:
    bound = ["--namespace", "p=urn:p", "--namespace", "q=urn:q"]
    assert "disjoint" in penstock("relate", *bound, "/p:a", "/q:a").out


def test_a_bad_query_is_shown_with_a_caret() -> None:
    done = penstock("relate", "/a", "/a[")
    assert done.code == 3
    assert "    /a[\n       ^\n" in done.err


def test_a_malformed_schema_is_shown_with_its_position(tmp_path: Path) -> None:
    path = schema(tmp_path, "<!ELEMENT a (b*)>\n<!ELEMENT b (")
    done = penstock("relate", "/a", "/a/b", "--dtd", str(path))
    assert done.code == 3
    assert f"error: {path}:2:" in done.err


def test_the_roots_can_be_named(tmp_path: Path) -> None:
    path = schema(tmp_path, FLAT)
    assert "never matches" in penstock("relate", "/item", "/items", "--dtd", str(path)).out
    named = ["--dtd", str(path), "--root", "item", "--root", "items"]
    assert "never matches" not in penstock("relate", "/item", "/items", *named).out


@pytest.mark.parametrize("query", ["/a[b]", "/a[@b = '1']", "/a[b/c][d]//e"])
def test_equal_satisfiable_queries_overlap_for_certain(query: str) -> None:
    (row,) = penstock("relate", query, query, "--json").rows
    assert (row["verdict"], row["overlaps"]["holds"], row["overlaps"]["sure"]) == (
        "equal",
        True,
        True,
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [("/a[b]/c", "/a[c]/b"), ("/a[. = '']/text()", "/a/text()"), ("/a[b]", "/c[b]")],
)
def test_an_overlap_without_proof_is_not_certain(first: str, second: str) -> None:
    (row,) = penstock("relate", first, second, "--json").rows
    assert not (row["overlaps"]["holds"] and row["overlaps"]["sure"])
