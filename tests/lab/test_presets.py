"""The named workloads give what their names promise."""

from __future__ import annotations

import pytest

from penstock.errors import WorkloadError
from penstock.lab.workload import WORKLOADS, workload


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_gives_queries_and_documents_by_seed(name: str) -> None:
    preset = workload(name)
    assert preset.queries(50, seed=4) == preset.queries(50, seed=4)
    assert len(set(preset.queries(50))) == 50
    documents = list(preset.documents(3))
    assert documents == list(preset.documents(3))


def test_an_unknown_workload_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(WorkloadError, match="paths-sparse") as caught:
        workload("opera")
    assert caught.value.code == "lab.workload"
