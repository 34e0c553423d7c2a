"""The preset workloads have their documented properties."""

from __future__ import annotations

from random import Random

import pytest
from lxml import etree

from penstock.errors import WorkloadError
from penstock.lab.workload import WORKLOADS, workload


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_is_reproducible_by_seed(name: str) -> None:
    preset = workload(name)
    assert preset.queries(50, seed=4) == preset.queries(50, seed=4)
    assert len(set(preset.queries(50))) == 50
    documents = list(preset.documents(3))
    assert documents == list(preset.documents(3))


def test_an_unknown_workload_is_refused_with_a_list_of_names() -> None:
    with pytest.raises(WorkloadError, match="paths-sparse") as caught:
        workload("opera")
    assert caught.value.code == "lab.workload"


def test_the_dense_workload_has_thousands_of_matches_per_document() -> None:
    dense = workload("paths-dense")
    queries = dense.queries()
    assert len(set(queries)) == dense.subscriptions == 150_000
    trees = [etree.fromstring(document).getroottree() for document in dense.documents(10)]
    sample = [etree.XPath(query) for query in Random(1).sample(queries, 2000)]
    matches = sum(bool(query(tree)) for query in sample for tree in trees)
    assert 3_500 < matches / len(trees) * len(queries) / len(sample) < 7_500


def test_the_sparse_workload_is_selective_with_a_predicate_on_half() -> None:
    sparse = workload("paths-sparse")
    queries = sparse.queries(10_000)
    trees = [etree.fromstring(document).getroottree() for document in sparse.documents(5)]
    matches = sum(bool(query(tree)) for query in map(etree.XPath, queries) for tree in trees)
    assert matches / len(trees) / len(queries) < 0.005
    assert sum("[" in query for query in queries) / len(queries) == pytest.approx(0.5, abs=0.02)


def test_the_treebank_is_deep() -> None:
    roots = [etree.fromstring(document) for document in workload("treebank").documents(20)]
    depths = [
        max(1 + sum(1 for _ in element.iterancestors()) for element in root.iter())
        for root in roots
    ]
    assert max(depths) == 36
