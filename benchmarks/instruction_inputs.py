"""Generates the documents and queries whose processing ``count_instructions.py`` counts.

Run as ``python instruction_inputs.py FOLDER``. A file that exists is left alone, so that two
versions of Penstock are counted on the same inputs even when the generators differ.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeAlias

from penstock.lab.bench.bench_workload import SEED
from penstock.lab.built_in_schemas import built_in_schema
from penstock.lab.catalogues import CATALOGUES, CatalogueDocuments
from penstock.lab.catalogues.subscriptions import subscriptions
from penstock.lab.workload import KEYWORD_WORKLOADS, huge_document, workload

PATH_QUERIES: Final = 50_000
KEYWORD_QUERIES: Final = 50_000
MEDIATED_QUERIES: Final = 4_000

CATALOGUE_BYTES: Final = 10_000
"""Size of each catalogue's document."""

RECORDS_BYTES: Final = 1_000_000
"""Size of each of the two documents that are cut into records."""

Content: TypeAlias = dict[str, list[str]]
"""Queries, documents and mappings of one input file."""


def main() -> None:
    """Write the input files that the folder lacks."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, generate in GENERATORS.items():
        path = folder / f"{name}.json"
        if path.exists():
            continue
        print(f"generating {path.name}", flush=True)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(generate()), encoding="utf-8")
        partial.rename(path)


def _paths(name: str, documents: int) -> Content:
    chosen = workload(name)
    return {
        "queries": chosen.queries(PATH_QUERIES, seed=SEED),
        "documents": _texts(chosen.documents(documents, seed=SEED)),
    }


def _keywords(name: str, documents: int) -> Content:
    chosen = KEYWORD_WORKLOADS[name]
    return {
        "queries": chosen.queries(KEYWORD_QUERIES, seed=SEED),
        "documents": _texts(chosen.documents(documents, seed=SEED)),
    }


def _mediation() -> Content:
    """One document of each catalogue, with its mapping to the global schema."""
    return {
        "queries": subscriptions(MEDIATED_QUERIES, SEED),
        "documents": _texts(
            CatalogueDocuments(each).document(CATALOGUE_BYTES, SEED) for each in CATALOGUES
        ),
        "mappings": [each.mapping.to_text() for each in CATALOGUES],
    }


def _records() -> Content:
    """Two documents: records copied verbatim, and records that inherit a namespace."""
    schema = built_in_schema("bibliography")
    verbatim = b"".join(huge_document(schema, RECORDS_BYTES, seed=SEED))
    declared = verbatim.replace(b"<bibliography", b'<bibliography xmlns="urn:bibliography"', 1)
    assert declared != verbatim, "the root element has another name"
    return {"documents": _texts([verbatim, declared])}


def _texts(documents: Iterable[bytes]) -> list[str]:
    return [document.decode() for document in documents]


GENERATORS: Final[dict[str, Callable[[], Content]]] = {
    "paths-sparse": lambda: _paths("paths-sparse", 100),
    "paths-dense": lambda: _paths("paths-dense", 50),
    "paths-hard": lambda: _paths("paths-hard", 20),
    "paths-deep": lambda: _paths("treebank", 20),
    "keywords-words": lambda: _keywords("keywords-words", 100),
    "keywords-paths": lambda: _keywords("keywords-paths", 100),
    "mediation": _mediation,
    "records": _records,
}
"""Input files by name, without the suffix. The keyword engine reorganizes an index after 64
documents, so the keyword inputs have more than that."""


if __name__ == "__main__":
    main()
