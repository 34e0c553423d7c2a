"""The mapping of a document is selected by its header; unresolvable headers are refused."""

from __future__ import annotations

import pytest

from penstock.documents import Header
from penstock.errors import DocumentError, MappingError
from penstock.mediation import (
    GlobalSchema,
    Mapping,
    MappingCache,
    MappingChooser,
    MappingTable,
    Mediator,
    UnknownSchema,
    carrying,
)
from penstock.schema import read_tree

TEXT = "penstock mapping 1\n\nkatalog\n  => rename catalogue\n"
REGISTERED = Mapping.from_text(TEXT)
CARRIED = Mapping.from_text(TEXT.replace("katalog", "liste"))
BAD = TEXT.replace("rename", "name")


def chooser(
    unknown_schema: UnknownSchema = "refuse", cache: MappingCache | None = None
) -> MappingChooser:
    mediator = Mediator([GlobalSchema("courses", 1, read_tree("penstock schema 1\ncatalogue\n"))])
    mediator.register("katalog", REGISTERED, publisher="south")
    return MappingChooser(mediator.table(unknown_schema=unknown_schema), cache)


def header(schema: str = "", **fields: str) -> Header:
    named = {name.replace("_", "-"): value for name, value in fields.items()}
    return Header(publisher="south", schema=schema, fields=named)


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        (header(), None),
        (header("courses"), None),
        (header("katalog"), REGISTERED),
        (header("katalog", mapping=CARRIED.to_text()), CARRIED),
        (header("anything", **carrying(CARRIED)), CARRIED),
        (header(mapping=f"{CARRIED.to_text()}# the same, but for a remark\n"), CARRIED),
        (header("anything", mapping_digest=REGISTERED.digest), REGISTERED),
    ],
)
def test_the_header_selects_the_mapping(given: Header, chosen: Mapping | None) -> None:
    assert chooser().choose(given) == chosen


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (header("liste"), "mediation.schema", "the schema `liste` of `south`"),
        (
            header(mapping_digest=CARRIED.digest),
            "mediation.mapping",
            f"the mapping {CARRIED.digest} is not registered",
        ),
        (
            header("katalog", mapping=BAD),
            "mediation.carried",
            "the mapping in the header: .* at line 4, column 6 .mapping.syntax",
        ),
        (
            header(mapping='penstock mapping 1\nnamespace p "\\ud800"\n\np:a\n'),
            "mediation.carried",
            "the mapping in the header: expected `namespace PREFIX URI`",
        ),
        (
            header(mapping=f"penstock mapping 1\n\na\n  => insert n{'/n' * 599} (c)\n  c* text\n"),
            "mediation.carried",
            "the mapping in the header: .* at line 4, column 3 .mapping.levels",
        ),
        (
            header(mapping=CARRIED.to_text(), mapping_digest=REGISTERED.digest),
            "mediation.digest",
            f"has digest {CARRIED.digest}, not {REGISTERED.digest}",
        ),
    ],
)
def test_an_unresolvable_header_is_refused(given: Header, code: str, message: str) -> None:
    choose = chooser().choose
    for _ in range(2):  # the second refusal comes from the cache
        with pytest.raises(DocumentError, match=message) as refused:
            choose(given)
        assert refused.value.code == code
        assert refused.value.where is None, "no place in the document is at fault"


def test_unknown_schemas_are_matched_unchanged_on_request() -> None:
    choose = chooser("as-is").choose
    assert choose(header("liste")) is None
    assert choose(header("katalog")) == REGISTERED
    with pytest.raises(DocumentError):
        choose(header(mapping=BAD))


def test_documents_of_an_invalid_registered_mapping_are_refused() -> None:
    table = MappingTable({("south", "katalog"): "sha256:1"}, texts={"sha256:1": BAD})
    with pytest.raises(DocumentError, match="sha256:1 is no longer valid") as refused:
        MappingChooser(table).choose(header("katalog"))
    assert refused.value.code == "mediation.mapping"


def test_a_carried_mapping_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.mediation.mapping_selection.CARRIED_MAPPING_BYTES_MAX", 20)
    with pytest.raises(DocumentError, match="more than 20") as refused:
        chooser().choose(header(mapping=CARRIED.to_text()))
    assert refused.value.code == "mediation.carried"
    with pytest.raises(DocumentError, match="more than 20"):
        carrying(CARRIED)


def test_a_mapping_is_parsed_once() -> None:
    cache = MappingCache()
    choose = chooser(cache=cache).choose
    for _ in range(3):
        choose(header("katalog"))
        choose(header(mapping=REGISTERED.to_text()))
        choose(header(mapping_digest=REGISTERED.digest))
        with pytest.raises(DocumentError):
            choose(header(mapping=BAD))
    assert (cache.read_count, len(cache)) == (2, 2)


def test_the_cache_evicts_the_least_recently_used_mapping() -> None:
    cache = MappingCache(size_max=2)
    texts = [TEXT.replace("katalog", f"k{number}") for number in range(3)]
    for number in (0, 1, 0, 2, 0):
        cache.read(texts[number])
    assert (cache.read_count, len(cache)) == (3, 2)
    cache.read(texts[1])
    assert cache.read_count == 4


def test_an_invalid_mapping_is_refused_with_its_position_each_time() -> None:
    cache = MappingCache()
    for _ in range(2):
        with pytest.raises(MappingError) as refused:
            cache.read(BAD)
        assert refused.value.where is not None
        assert refused.value.where.line == 4
