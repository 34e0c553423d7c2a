"""``benchmarks/count_instructions.py``, but for Callgrind itself, which not every machine has."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import count_instructions
import instruction_workloads
import pytest
from count_instructions import Count

COUNTERS = """\
version: 1
events: Ir

ob=/usr/lib/libc.so.6
fl=malloc.c
fn=malloc
12 100
+3 20

ob=/checkout/src/penstock/_native.abi3.so
fl=tokenizer.rs
fn=push
0 7
cob=/usr/lib/libc.so.6
cfn=malloc
calls=2 0
* 120
-1 5

totals: 132
"""

READ = Count(instructions=1000, units=10, result=3)


def compared(folder: Path, before: dict[str, Count], after: dict[str, Count]) -> int:
    paths = []
    for name, counts in (("before", before), ("after", after)):
        paths.append(folder / f"{name}.json")
        content = {name: vars(each) for name, each in counts.items()}
        paths[-1].write_text(json.dumps(content), encoding="utf-8")
    return count_instructions.compare(*map(count_instructions.loaded, paths))


def test_descriptions_and_workloads_have_the_same_names_in_the_same_order() -> None:
    assert list(count_instructions.WORKLOADS) == list(instruction_workloads.WORKLOADS)


def test_the_cost_of_a_call_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "counters.1.2"
    path.write_text(COUNTERS, encoding="utf-8")
    assert count_instructions.by_object(path) == (132, 12)


@pytest.mark.parametrize(("instructions", "code"), [(900, 0), (1030, 0), (1031, 1)])
def test_three_percent_more_is_accepted(tmp_path: Path, instructions: int, code: int) -> None:
    after = replace(READ, instructions=instructions)
    assert compared(tmp_path, {"read": READ}, {"read": after}) == code


def test_different_results_cannot_be_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compared(tmp_path, {"read": READ}, {"read": replace(READ, result=2)}) == 1
    assert "read: not the same work" in capsys.readouterr().err


def test_a_workload_missing_from_one_file_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compared(tmp_path, {"read": READ, "records": READ}, {"read": READ}) == 1
    assert "records: not in both files" in capsys.readouterr().err
