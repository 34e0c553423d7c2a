"""DTDs of some hundred kilobytes are read in linear time and memory."""

from __future__ import annotations

import pytest

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
