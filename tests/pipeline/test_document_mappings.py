"""Documents of several schemas in one batch, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.documents import Header
from penstock.mediation import MappingChooser, carrying
from penstock.pipeline.batch_matcher import Matching
from penstock.pipeline.document_mappings import AS_THEY_ARE, choose
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
    """The subscriptions that each document meets, or why it was refused."""
    matching = Matching(version, chooser=chooser)
    outcomes = matching.match(batch)
    assert len(outcomes.faults) == batch.num_rows
    (names,) = matching.subscriptions(outcomes, ["subscription"])
    faults: Any = outcomes.faults
    found: list[Any] = [fault and fault["code"] for fault in faults.to_pylist()]
    for row, name in zip(outcomes.documents, names.to_pylist(), strict=True):
        assert not isinstance(found[row], str), "what is refused matches nothing"
        found[row] = {*(found[row] or ()), name}
    return [set() if each is None else each for each in found]


def test_each_document_is_matched_as_its_header_asks_for(version: OpenVersion) -> None:
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
        {"anna.price", "anna.word"},  # keywords hear what was sent
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
    # Without anyone to ask, a header's words change nothing.
    sent = {"ben.sent", "anna.word"}
    assert matched(version, batch, None) == [
        *(sent, sent, {"anna.price"}, *[sent] * 4, {"anna.price"}, sent, "xml.unclosed")
    ]
    # A part of a batch is what it was in the whole.
    assert matched(version, batch.slice(4, 2), chooser()) == [
        {"anna.price", "anna.word"},
        "mediation.carried",
    ]


def test_a_refusal_says_what_to_do(version: OpenVersion) -> None:
    batch = batch_of([(header("hamburg", "nachrichten"), b"<not xml")])
    faults: Any = Matching(version, chooser=chooser()).match(batch).faults
    (fault,) = faults.to_pylist()
    assert fault["message"] == "nobody registered the schema `nachrichten` of `hamburg`"
    assert "penstock mapping register" in fault["hint"]
    assert fault["line"] is None


def test_where_no_header_asks_nothing_is_chosen() -> None:
    batch = batch_of([(header(day="monday"), ITEM), (header("berlin"), MELDUNG)])
    assert choose(batch, chooser()) is AS_THEY_ARE
    assert choose(batch.slice(0, 0), chooser()) is AS_THEY_ARE


def test_fragments_are_of_the_original_bytes(version: OpenVersion) -> None:
    batch = batch_of([(header("berlin", "nachrichten"), MELDUNG), (header(), ITEM)])
    matching = Matching(version, chooser=chooser())
    outcomes = matching.match(batch)
    wanted = np.full(len(outcomes.documents), True)
    given = matching.fragments(batch.column("content"), outcomes, wanted=wanted).to_pylist()
    (names,) = matching.subscriptions(outcomes, ["subscription"])
    found = {
        (int(row), name): [part["xml"] for part in parts or ()]
        for row, name, parts in zip(outcomes.documents, names.to_pylist(), given, strict=True)
    }
    assert found == {
        (0, "anna.price"): ["<meldung preis='7'/>"],
        (0, "anna.word"): ["<meldung preis='7'/>"],
        (1, "anna.price"): ["<price>7</price>"],
    }
