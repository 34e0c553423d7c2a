"""DTDs and samples of some hundred kilobytes are read in linear time and memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.documents import read_events
from penstock.errors import SchemaError
from penstock.schema import SampleSummary
from penstock.schema.schema_files import read_schema_file
from support.fixtures.bounded_process import run_bounded

PROGRAM = """
from penstock.schema import SchemaGraph

graph = SchemaGraph.from_dtd(given["dtd"], roots=["e0"])
tree = graph.tree()
report([len(graph.elements), graph.heights["e0"], len(tree.nodes())])
"""

COUNT = 20_000


@pytest.mark.parametrize(
    ("dtd", "expected"),
    [
        (
            "".join(f"<!ELEMENT e{n} ANY>" for n in range(COUNT)),
            [COUNT, 1, 100_000],
        ),
        (
            "".join(f"<!ELEMENT e{n} (e{n + 1})>" for n in range(COUNT))
            + f"<!ELEMENT e{COUNT} EMPTY>",
            [COUNT + 1, COUNT + 1, 32],
        ),
        (
            f"<!ELEMENT e0 ({'|'.join(f'e{n}' for n in range(1, COUNT))})>"
            + "".join(f"<!ELEMENT e{n} EMPTY>" for n in range(1, COUNT)),
            [COUNT, 2, COUNT],
        ),
        (
            f"<!ELEMENT e0 (#PCDATA|{'|'.join(f'e{n}' for n in range(COUNT))})*>"
            + "".join(f"<!ELEMENT e{n} EMPTY>" for n in range(1, COUNT)),
            [COUNT, 1, 3 * (COUNT - 1) + 3],
        ),
    ],
    ids=["any", "chain", "choice", "mixed"],
)
def test_a_dtd_costs_linear_time(dtd: str, expected: list[int]) -> None:
    assert run_bounded(PROGRAM, dtd=dtd) == expected


def test_files_that_are_too_long_are_not_read(tmp_path: Path) -> None:
    for name, code in (("a.dtd", "schema.limit"), ("a.schema", "schema.file")):
        with (tmp_path / name).open("wb") as file:
            file.truncate(1 << 40)
        with pytest.raises(SchemaError) as caught:
            read_schema_file(tmp_path / name)
        assert caught.value.code == code


def test_a_sample_with_many_attributes_costs_linear_time() -> None:
    program = """
from penstock.documents import read_events
from penstock.schema import SampleSummary

document = "<r>" + "".join(f"<e a{n}=''/>" for n in range(40_000)) + "</r>"
(_, counts), *_ = sorted(SampleSummary.of(read_events(document.encode())).paths.items())[1:]
report([counts.elements, len(counts.attributes)])
"""
    assert run_bounded(program) == [40_000, 40_000]


def test_a_deep_sample_is_refused() -> None:
    def read(levels: int) -> SampleSummary:
        return SampleSummary.of(read_events(b"<a>" * levels + b"</a>" * levels))

    assert len(read(200).paths) == 200
    with pytest.raises(SchemaError) as caught:
        read(201)
    assert caught.value.code == "schema.samples"
