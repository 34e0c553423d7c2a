"""A document of any size is matched in little memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from memory import measures_memory, told_by

from penstock.lab.shipped import shipped_schema
from penstock.lab.workload import huge_document

pytestmark = measures_memory

DOCUMENT_BYTES = 500_000_000
MEMORY_BYTES_MAX = 200_000_000

MATCH_AND_MEASURE = """
import penstock
index = penstock.SubscriptionIndex(engine="shared")
index.add_many(
    ["root", "last", "late", "nowhere", "value", "count"],
    ["/*", "/*/*[last()]", "//*[not(*)][last()]", "//nowhere", "//*[. = 'x']", "/*/*[2]"],
)
matches = index.matcher().match_file(given["path"])
matches.raise_for_errors()
tell(peak=memory_peak(), ids=list(matches))
"""


@pytest.fixture(scope="module")
def huge_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("huge") / "document.xml"
    with open(path, "wb") as file:
        file.writelines(huge_document(shipped_schema("news"), DOCUMENT_BYTES))
    yield path
    path.unlink()


def test_half_a_gigabyte_takes_less_than_200_megabytes(huge_file: Path) -> None:
    assert huge_file.stat().st_size >= DOCUMENT_BYTES
    found = told_by(MATCH_AND_MEASURE, path=str(huge_file))
    assert {"root", "last", "late", "count"} <= set(found["ids"])
    assert "nowhere" not in found["ids"]
    assert found["peak"] < MEMORY_BYTES_MAX
