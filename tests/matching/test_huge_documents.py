"""A document of any size is matched in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.lab.built_in_schemas import built_in_schema
from penstock.lab.workload import huge_document
from support.fixtures.memory import measures_memory, run_and_measure

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
report(peak=memory_peak(), ids=list(matches))
"""

MATCH_KEYWORDS = """
import penstock
index = penstock.KeywordIndex(engine="postings")
index.add_many(
    ["many", "root", "any", "nowhere", "half"],
    ["question speaker", "news slug", "speaker OR nowhere", "nowhere", "nowhere speaker"],
)
matches = index.matcher().match_file(given["path"])
matches.raise_for_errors()
report(peak=memory_peak(), ids=list(matches))
"""

# The mapped file does not count, only other memory.
ANSWER_KEYWORDS = """
import mmap, threading
import penstock

def held() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (anonymous,) = [line.split()[1] for line in lines if line.startswith("RssAnon:")]
    return int(anonymous) * 1024

def answer() -> None:
    with open(given["path"], "rb") as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            with memoryview(content) as document:
                answers.update(index.matcher().answers(document, limit=2))

index = penstock.KeywordIndex(engine="postings")
index.add_many(["many", "root", "half"], ["question speaker", "news slug", "nowhere speaker"])
answers, seen = {}, [0]
answering = threading.Thread(target=answer)
answering.start()
while answering.is_alive():
    seen.append(held())
    answering.join(0.02)
report(
    peak=max(seen),
    paths={name: [each.path for each in found] for name, found in answers.items()},
)
"""


@pytest.fixture(scope="module")
def huge_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("huge") / "document.xml"
    with open(path, "wb") as file:
        file.writelines(huge_document(built_in_schema("news"), DOCUMENT_BYTES))
    yield path
    path.unlink()


def test_half_a_gigabyte_needs_less_than_200_megabytes(huge_file: Path) -> None:
    assert huge_file.stat().st_size >= DOCUMENT_BYTES
    found = run_and_measure(MATCH_AND_MEASURE, path=str(huge_file))
    assert {"root", "last", "late", "count"} <= set(found["ids"])
    assert "nowhere" not in found["ids"]
    assert found["peak"] < MEMORY_BYTES_MAX


def test_keyword_matching_needs_no_more_memory(huge_file: Path) -> None:
    found = run_and_measure(MATCH_KEYWORDS, path=str(huge_file))
    assert set(found["ids"]) == {"many", "root", "any"}
    assert found["peak"] < MEMORY_BYTES_MAX


def test_keyword_answers_need_no_more_memory(huge_file: Path) -> None:
    found = run_and_measure(ANSWER_KEYWORDS, path=str(huge_file))
    assert found["paths"].keys() == {"many", "root"}
    assert len(found["paths"]["many"]) == 2
    assert found["paths"]["root"] == ["/news[1]"]
    assert found["peak"] < MEMORY_BYTES_MAX
