"""Documents of several schemas in one batch, without Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.documents import Header
from penstock.mediation import Mapping, MappingChooser, carrying
from penstock.pipeline.batch_matcher import BatchMatcher
from penstock.pipeline.document_mappings import NO_MAPPINGS, choose_mappings
from penstock.workspace.index_versions import OpenVersion, open_version, write_version
from penstock.workspace.table_schemas import DOCUMENTS
from support.fixtures.mediated_data import GERMAN, TURNED_OLD, mediator_of
from support.spark.example_tables import START, subscription_table

QUERIES = {
    "anna.price": "/news/item/price[. < 10]",
    "anna.word": "meldung 7",
    "ben.old": "/olds",
    "ben.sent": "/nachrichten",
}
MELDUNG = b"<nachrichten><meldung preis='7'/></nachrichten>"
ITEM = b"<news><item><price>7</price></item></news>"


def header(publisher: str = "wire", schema: str = "", **fields: str) -> Header:
    named = {name.replace("_", "-"): text for name, text in fields.items()}
    return Header(publisher=publisher, schema=schema, fields=named)


def batch_of(documents: Sequence[tuple[Header, bytes]]) -> pa.RecordBatch:
    rows = [
        {
            "document": str(number),
            "publisher": header.publisher,
            "schema": header.schema,
            "fields": list(header.fields.items()),
            "sequence": number,
            "published_at": START,
            "content": content,
        }
        for number, (header, content) in enumerate(documents)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=DOCUMENTS)


@pytest.fixture
def version(tmp_path: Path) -> OpenVersion:
    return open_version(write_version(str(tmp_path), subscription_table(QUERIES)))


def chooser() -> MappingChooser:
    return MappingChooser(mediator_of({"nachrichten": GERMAN}, publisher="berlin").table())


def matched(
    version: OpenVersion, batch: pa.RecordBatch, chooser: MappingChooser | None
) -> list[set[str] | str]:
    """The subscriptions that each document matches, or its error code."""
    matcher = BatchMatcher(version, chooser=chooser)
    outcomes = matcher.match(batch)
    assert len(outcomes.errors) == batch.num_rows
    (names,) = matcher.subscription_columns(outcomes, ["subscription"])
    errors: Any = outcomes.errors
    found: list[Any] = [fault and fault["code"] for fault in errors.to_pylist()]
    for row, name in zip(outcomes.document_rows, names.to_pylist(), strict=True):
        assert not isinstance(found[row], str), "a refused document has no matches"
        found[row] = {*(found[row] or ()), name}
    return [set() if each is None else each for each in found]


def test_each_document_is_matched_with_the_mapping_of_its_header(version: OpenVersion) -> None:
    batch = batch_of(
        [
            (header("berlin", "nachrichten"), MELDUNG),
            (header("berlin"), MELDUNG),
            (header("berlin", "wire"), ITEM),
            (header("hamburg", "nachrichten"), MELDUNG),
            (header("hamburg", "nachrichten", **carrying(GERMAN)), MELDUNG),
            (header("hamburg", mapping="no mapping"), MELDUNG),
            (header("hamburg", mapping_digest=TURNED_OLD.digest), MELDUNG),
            (header("hamburg", mapping=TURNED_OLD.to_text()), ITEM),
            (header("hamburg", mapping=GERMAN.to_text(), mapping_digest="sha256:0"), MELDUNG),
            (header("berlin", "nachrichten"), MELDUNG[:-1]),
        ]
    )
    assert matched(version, batch, chooser()) == [
        {"anna.price", "anna.word"},  # keywords match the original document
        {"ben.sent", "anna.word"},
        {"anna.price"},
        "mediation.schema",
        {"anna.price", "anna.word"},
        "mediation.carried",
        "mediation.mapping",
        {"ben.old"},
        "mediation.digest",
        "xml.unclosed",
    ]
    # Without a chooser, headers have no effect.
    sent = {"ben.sent", "anna.word"}
    assert matched(version, batch, None) == [
        *(sent, sent, {"anna.price"}, *[sent] * 4, {"anna.price"}, sent, "xml.unclosed")
    ]
    # A slice of a batch gives the same.
    assert matched(version, batch.slice(4, 2), chooser()) == [
        {"anna.price", "anna.word"},
        "mediation.carried",
    ]


def test_a_refusal_has_a_message_and_a_hint(version: OpenVersion) -> None:
    batch = batch_of([(header("hamburg", "nachrichten"), b"<not xml")])
    errors: Any = BatchMatcher(version, chooser=chooser()).match(batch).errors
    (fault,) = errors.to_pylist()
    assert fault["message"] == "the schema `nachrichten` of `hamburg` is not registered"
    assert "penstock mapping register" in fault["hint"]
    assert fault["line"] is None


def test_without_mapping_headers_nothing_is_chosen() -> None:
    batch = batch_of([(header(day="monday"), ITEM), (header("berlin"), MELDUNG)])
    assert choose_mappings(batch, chooser()) is NO_MAPPINGS
    assert choose_mappings(batch.slice(0, 0), chooser()) is NO_MAPPINGS


def test_fragments_of_mapped_documents_are_original_bytes(version: OpenVersion) -> None:
    batch = batch_of([(header("berlin", "nachrichten"), MELDUNG), (header(), ITEM)])
    matcher = BatchMatcher(version, chooser=chooser())
    outcomes = matcher.match(batch)
    (part,) = matcher.with_fragments(batch.column("content"), outcomes, "all")
    (names,) = matcher.subscription_columns(outcomes, ["subscription"])
    found = {
        (int(row), name): [part["xml"] for part in parts or ()]
        for row, name, parts in zip(
            outcomes.document_rows, names.to_pylist(), part.fragments.to_pylist(), strict=True
        )
    }
    assert found == {
        (0, "anna.price"): ["<meldung preis='7'/>"],
        (0, "anna.word"): ["<meldung preis='7'/>"],
        (1, "anna.price"): ["<price>7</price>"],
    }


def test_a_failure_while_choosing_a_mapping_refuses_the_documents_with_that_header(
    version: OpenVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = MappingChooser.choose

    def failing(self: MappingChooser, given: Header) -> Mapping | None:
        if given.publisher == "hamburg":
            raise RecursionError("too deep")
        return choose(self, given)

    monkeypatch.setattr(MappingChooser, "choose", failing)
    batch = batch_of(
        [(header("hamburg", "nachrichten"), ITEM), (header("berlin", "nachrichten"), MELDUNG)]
    )
    assert matched(version, batch, chooser()) == ["internal.error", {"anna.price", "anna.word"}]
    errors: Any = BatchMatcher(version, chooser=chooser()).match(batch).errors
    assert json.loads(errors[0].as_py()["report"])["document"]["bytes"] == len(ITEM)
