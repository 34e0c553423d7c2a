"""`penstock generate`: documents, queries and catalogues as files, text and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lxml import etree

from penstock.cli.subscription_file import add_all, read
from penstock.language import parse_keywords
from penstock.language.keywords.query import Mode
from penstock.matching import KeywordIndex, SubscriptionIndex
from support.fixtures.commands import penstock

DTD = """
<!ELEMENT shop (item+)> <!ELEMENT item (name)> <!ATTLIST item price CDATA #REQUIRED>
<!ELEMENT name (#PCDATA)>
"""
SMALL = ["--size-min", "200", "--size-max", "900"]


@pytest.fixture
def shop(tmp_path: Path) -> str:
    path = tmp_path / "shop.dtd"
    path.write_text(DTD, encoding="utf-8")
    return str(path)


def test_a_document_goes_to_stdout(shop: str) -> None:
    done = penstock("generate", "documents", shop, *SMALL)
    assert done.code == 0
    assert etree.fromstring(done.out.encode()).tag == "shop"


def test_output_depends_only_on_the_seed(shop: str) -> None:
    first, again, other = (
        penstock("generate", "documents", shop, *SMALL, "--seed", seed).out for seed in "112"
    )
    assert first == again != other


def test_documents_go_to_a_folder(shop: str, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    done = penstock("generate", "documents", shop, *SMALL, "--count", "12", "--output", str(folder))
    assert done.code == 0
    assert done.out == ""
    assert "12 documents" in done.err
    assert sorted(path.name for path in folder.iterdir())[0] == "01.xml"
    assert {etree.parse(path).getroot().tag for path in folder.iterdir()} == {"shop"}


def test_several_documents_on_stdout_require_json(shop: str) -> None:
    assert penstock("generate", "documents", shop, "--count", "2").code == 2
    rows = penstock("generate", "documents", shop, *SMALL, "--count", "2", "--json").rows
    assert len(rows) == 2
    assert all(row["document"].startswith("<?xml") for row in rows)


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_queries_are_a_subscription_file(shop: str, tmp_path: Path, flags: list[str]) -> None:
    path = tmp_path / ("made.jsonl" if flags else "made.txt")
    done = penstock("generate", "queries", shop, *flags, "--count", "8", "--output", str(path))
    assert done.code == 0
    order, refused = add_all(SubscriptionIndex(), KeywordIndex(), read(path))
    assert (len(order), refused) == (8, [])


def test_queries_follow_their_parameters(shop: str) -> None:
    done = penstock(
        *("generate", "queries", shop, "--count", "3", "--depth-min", "3"),
        *("--wildcard-probability", "1", "--descendant-probability", "0", "--predicates", "0"),
        "--no-distinct",
    )
    assert [line.split("\t")[1] for line in done.out.splitlines()] == ["/*/*/*"] * 3


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_keywords_are_a_subscription_file(shop: str, tmp_path: Path, flags: list[str]) -> None:
    path = tmp_path / ("made.jsonl" if flags else "made.txt")
    done = penstock(
        *("generate", "queries", shop, "--keywords", "--words-min", "2", "--words-max", "4"),
        *("--any-probability", "0.5", "--count", "12", "--output", str(path), *flags),
    )
    assert done.code == 0
    keywords = KeywordIndex()
    order, refused = add_all(SubscriptionIndex(), keywords, read(path))
    assert (len(order), refused) == (12, [])
    queries = [parse_keywords(keywords.query(f"q{number}")) for number in range(1, 13)]
    assert {query.mode for query in queries} == {Mode.ALL, Mode.ANY}
    assert all(2 <= len(query.keywords) <= 4 for query in queries)


def test_queries_are_twigs_with_a_branching_probability() -> None:
    arguments = ("generate", "queries", "news", "--count", "20", "--depth-min", "2")
    plain = penstock(*arguments, "--predicates", "0").out
    twigs = penstock(*arguments, "--predicates", "0", "--branching-probability", "1").out
    assert "[" not in plain
    assert all("[" in line for line in twigs.splitlines())
    assert penstock(*arguments, "--branching-probability", "2").code == 2


def test_queries_include_the_namespaces_of_their_schema(tmp_path: Path) -> None:
    path = tmp_path / "spaced.dtd"
    path.write_text(
        "<!ELEMENT p:shop (p:item)> <!ATTLIST p:shop xmlns:p CDATA #FIXED 'urn:p'>"
        "<!ELEMENT p:item EMPTY>",
        encoding="utf-8",
    )
    text = penstock("generate", "queries", str(path), "--count", "1", "--predicates", "0").out
    assert text.splitlines()[0] == "@namespace p=urn:p"
    row = penstock(
        "generate", "queries", str(path), "--count", "1", "--predicates", "0", "--json"
    ).rows[0]
    assert row["namespaces"] == {"p": "urn:p"}


def test_an_unknown_schema_is_a_usage_error() -> None:
    done = penstock("generate", "queries", "no-such-schema")
    assert done.code == 2
    assert "news" in done.err


def test_a_malformed_schema_is_refused_with_its_position(tmp_path: Path) -> None:
    path = tmp_path / "broken.dtd"
    path.write_text("<!ELEMENT a (", encoding="utf-8")
    done = penstock("generate", "queries", str(path))
    assert done.code == 3
    assert f"error: {path}:1:" in done.err
    error = json.loads(penstock("generate", "documents", str(path), "--json").err)["error"]
    assert error["code"] == "schema.syntax"
    assert error["place"].startswith(f"{path}:1:")


def test_too_few_distinct_queries_are_reported(shop: str) -> None:
    done = penstock("generate", "queries", shop, "--count", "100000", "--depth-max", "1")
    assert done.code == 3
    assert "hint: " in done.err


def test_catalogues_are_written_with_schemas_matchings_and_mappings(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    flags = ("--catalogue", "elmsted", "--catalogue", "quillan", "--count", "2", "--size", "1500")
    done = penstock("generate", "catalogues", str(folder), *flags, "--json")
    assert done.code == 0
    assert [row["catalogue"] for row in done.rows] == ["elmsted", "quillan"]
    assert {path.name for path in (folder / "elmsted").iterdir()} == {
        *("elmsted.schema", "elmsted.matching", "elmsted.mapping", "1.xml", "2.xml")
    }
    derived = penstock(
        *("mapping", "derive", str(folder / "quillan/quillan.schema")),
        *(str(folder / "global.schema"), str(folder / "quillan/quillan.matching")),
    )
    assert derived.out == (folder / "quillan/quillan.mapping").read_text(encoding="utf-8")


def test_an_unknown_catalogue_is_refused(tmp_path: Path) -> None:
    done = penstock("generate", "catalogues", str(tmp_path), "--catalogue", "opera")
    assert done.code == 3
    assert "hint: " in done.err
