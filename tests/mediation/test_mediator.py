"""The mediator: domains, local schemas and their mappings."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from penstock.errors import IndexFileError, MappingError
from penstock.mediation import GlobalSchema, Mapping, MappingTable, Mediator, limits
from penstock.schema import read_tree

CATALOGUE = read_tree("penstock schema 1\ncatalogue\n  course*\n    title text\n")
LARGER = read_tree("penstock schema 1\ncatalogue\n  course*\n    title text\n    room? text\n")
OTHER = read_tree("penstock schema 1\ncatalogue\n  course*\n    name text\n")


def renaming(root: str) -> Mapping:
    return Mapping.from_text(f"penstock mapping 1\n{root}\n  => rename catalogue\n")


@pytest.fixture
def mediator() -> Mediator:
    return Mediator([GlobalSchema("courses", 1, CATALOGUE)])


def code_of(refused: pytest.ExceptionInfo[MappingError]) -> str:
    return refused.value.code


def test_mappings_are_found_by_schema_and_by_digest(mediator: Mediator) -> None:
    mapping = renaming("katalog")
    made = mediator.register("katalog", mapping, publisher="south")
    assert (made.domain, made.version, made.digest) == ("courses", 1, mapping.digest)
    assert mediator.mapping_of("south", "katalog") == mapping
    assert mediator.mapping(mapping.digest) == mapping
    with pytest.raises(MappingError) as refused:
        mediator.mapping_of("north", "katalog")
    assert code_of(refused) == "mediation.unregistered"


def test_a_publishers_mapping_takes_precedence(mediator: Mediator) -> None:
    mediator.register("katalog", renaming("katalog"))
    mediator.register("katalog", renaming("liste"), publisher="south")
    assert mediator.mapping_of("south", "katalog") == renaming("liste")
    assert mediator.mapping_of("north", "katalog") == renaming("katalog")
    table = mediator.table()
    assert table.digest_for("north", "katalog") == renaming("katalog").digest
    assert table.digest_for("south", "katalog") == renaming("liste").digest


def test_replaced_mappings_are_still_found_by_digest(mediator: Mediator) -> None:
    mappings = [renaming(f"v{number}") for number in range(limits.EARLIER_MAPPINGS_MAX + 2)]
    for mapping in mappings:
        made = mediator.register("katalog", mapping)
    assert made.digest == mappings[-1].digest
    assert list(made.earlier) == [each.digest for each in reversed(mappings[1:-1])]
    assert mediator.mapping(mappings[1].digest) == mappings[1]
    with pytest.raises(MappingError, match="no mapping sha256:"):
        mediator.mapping(mappings[0].digest)
    assert mediator.register("katalog", mappings[-2]).earlier[0] == mappings[-1].digest


def test_a_withdrawn_mapping_is_removed_unless_another_schema_uses_it(mediator: Mediator) -> None:
    mapping = renaming("katalog")
    mediator.register("katalog", mapping, publisher="south")
    mediator.register("katalog", mapping, publisher="north")
    mediator.withdraw("south", "katalog")
    assert mediator.mapping(mapping.digest) == mapping
    mediator.withdraw("north", "katalog")
    assert dict(mediator.texts) == {}
    with pytest.raises(MappingError) as refused:
        mediator.withdraw("north", "katalog")
    assert code_of(refused) == "mediation.unregistered"


def test_a_single_domain_is_the_default(mediator: Mediator) -> None:
    mediator.add(GlobalSchema("news", 1, CATALOGUE))
    with pytest.raises(MappingError, match="several domains: courses, news") as refused:
        mediator.register("katalog", renaming("katalog"))
    assert code_of(refused) == "mediation.domain"
    assert mediator.register("katalog", renaming("katalog"), domain="news").domain == "news"
    with pytest.raises(MappingError, match="there are no domains"):
        Mediator().register("katalog", renaming("katalog"))
    with pytest.raises(MappingError, match="unknown domain `sports`"):
        mediator.register("katalog", renaming("katalog"), domain="sports")


def test_versions_of_a_global_schema_only_grow(mediator: Mediator) -> None:
    made = mediator.register("katalog", renaming("katalog"))
    assert not mediator.add(GlobalSchema("courses", 1, CATALOGUE)), "the same is known"
    assert mediator.next_version("courses", CATALOGUE).version == 1
    second = mediator.next_version("courses", LARGER)
    assert (second.version, second.predecessor) == (2, mediator.global_schema("courses").digest)
    assert mediator.add(second)
    assert mediator.global_schema("courses") == second
    assert mediator.global_schema("courses", 1).tree == CATALOGUE
    assert mediator.local_schema("", "katalog") == made, "its mapping serves as before"
    assert mediator.register("katalog", renaming("katalog")).version == 2
    with pytest.raises(MappingError, match="no version 3"):
        mediator.global_schema("courses", 3)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            GlobalSchema("courses", 1, LARGER),
            "`courses` differs, and 1 is the latest",
        ),
        (GlobalSchema("courses", 2, OTHER), "lacks /catalogue/course/title of version 1"),
    ],
)
def test_a_version_that_removes_nodes_is_refused(
    mediator: Mediator, schema: GlobalSchema, message: str
) -> None:
    with pytest.raises(MappingError, match=message) as refused:
        mediator.add(schema)
    assert code_of(refused) == "mediation.version"


def test_an_empty_domain_can_be_removed(mediator: Mediator) -> None:
    mediator.register("katalog", renaming("katalog"), publisher="south")
    with pytest.raises(MappingError, match="`katalog` of `south` is registered") as refused:
        mediator.remove("courses")
    assert code_of(refused) == "mediation.domain"
    mediator.withdraw("south", "katalog")
    mediator.remove("courses")
    assert mediator.domains == []


@pytest.mark.parametrize("name", ["", " katalog", "kata\nlog", "k" * 201])
def test_an_invalid_name_is_refused(mediator: Mediator, name: str) -> None:
    with pytest.raises(MappingError) as refused:
        mediator.register(name, renaming("katalog"))
    assert code_of(refused) == "mediation.name"


def test_local_schemas_are_bounded(mediator: Mediator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOCAL_SCHEMAS_MAX", 1)
    mediator.register("katalog", renaming("katalog"))
    mediator.register("katalog", renaming("liste"))
    with pytest.raises(MappingError) as refused:
        mediator.register("liste", renaming("liste"))
    assert code_of(refused) == "mediation.limit"


def test_nodes_missing_from_a_local_schema_are_reported(mediator: Mediator) -> None:
    made = mediator.register("katalog", renaming("katalog"))
    missing = [str(place) for place in mediator.comparison(made).missing]
    assert missing == ["/catalogue/course"]


@pytest.mark.parametrize(
    "damage",
    [
        {"domains": [1, "a"]},
        {"schemas": [["p", "s", 5]]},
        {"schemas": [["p", None, "sha256:1"]]},
        {"schemas": ["psd", 1]},
        {"mappings": {"sha256:1": ["penstock mapping 1"]}},
        {"mappings": [[1, "text"]]},
        {"unknown_schema": []},
    ],
)
def test_a_table_with_values_of_other_types_is_damaged(damage: dict[str, object]) -> None:
    content = json.loads(MappingTable({("p", "s"): "sha256:1"}).to_text()) | damage
    with pytest.raises(IndexFileError) as refused:
        MappingTable.from_text(json.dumps(content))
    assert refused.value.code == "index.damaged"


def test_a_table_round_trips(mediator: Mediator) -> None:
    mediator.register("katalog", renaming("katalog"), publisher="süd")
    table = mediator.table(unknown_schema="as-is")
    assert MappingTable.from_text(table.to_text()) == table
    assert table.to_text() != replace(table, unknown_schema="refuse").to_text()
    with pytest.raises(IndexFileError, match="newer format") as refused:
        MappingTable.from_text(table.to_text().replace('"format": 1', '"format": 2'))
    assert refused.value.code == "index.too-new"
    with pytest.raises(ValueError, match="'refuse' and 'as-is'"):
        mediator.table(unknown_schema="guess")  # type: ignore[arg-type]
