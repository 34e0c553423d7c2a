"""Files divided into parts, and what a stream of them takes at a time, without Spark."""

from __future__ import annotations

import gzip
import pickle
import re
from pathlib import Path

import pytest

from penstock.documents import CutPoint, cut_records
from penstock.errors import RecordsError
from penstock.pipeline import record_offsets as records_progress
from penstock.pipeline.filesystem import FileInfo, list_files
from penstock.pipeline.record_offsets import Progress, taken
from penstock.pipeline.record_splits import Cutting, divided, rows_of

CUTTING = Cutting(steps=((None, "a"), (None, None), (None, "r")))


def document(count: int, tail: str = "</b></a>") -> bytes:
    """Records in several parents, which lend them namespaces."""
    groups = "".join(
        f"<b xmlns:p{g}='urn:{g}'>" + "".join(f"<r n='{g}.{n}'>é</r> " for n in range(7)) + "</b>"
        for g in range(count)
    )
    return f"<?xml version='1.0'?><!DOCTYPE a><a>{groups}<b>{tail}".encode()


def files_of(folder: Path, **contents: bytes) -> list[FileInfo]:
    for name, content in contents.items():
        (folder / f"{name}.xml").write_bytes(content)
    return list_files(str(folder))


def expected(content: bytes) -> list[bytes]:
    return [record.content for record in cut_records(content, CUTTING.steps)]


@pytest.mark.parametrize("tail", ["</b></a>", "<r><x></r></b></a>", "<r/></b></a> x", ""])
@pytest.mark.parametrize("piece_bytes", [1, 100, 1000, 1 << 20])
def test_the_parts_of_a_file_have_its_records_each_once(
    tmp_path: Path, piece_bytes: int, tail: str
) -> None:
    content = document(6, tail)
    (file,) = files_of(tmp_path, a=content)
    pieces = divided(file, CutPoint(), None, CUTTING, piece_bytes)
    rows = [
        row for piece in pieces for batch in rows_of(piece, CUTTING) for row in batch.to_pylist()
    ]
    assert [row["content"] for row in rows] == expected(content)
    assert [row["place"] for row in rows] == list(range(len(rows)))
    if piece_bytes == 100:
        assert len(pieces) > 5


@pytest.mark.parametrize(("bytes_max", "rows_max"), [(1, None), (200, None), (10_000, 3), (150, 2)])
def test_a_stream_takes_at_most_so_much_and_all_in_the_end(
    tmp_path: Path, bytes_max: int, rows_max: int | None
) -> None:
    contents = {"a": document(3), "b": document(1, "<r>"), "c": b"<a/>", "d": document(2)}
    files = files_of(tmp_path, **contents)
    (tmp_path / "e.xml.gz").write_bytes(gzip.compress(document(2)))
    files = list_files(str(tmp_path))
    by_digest = {file.digest: file for file in files}
    progress, rows, turns = Progress(), [], 0
    while after := taken(progress, files, CUTTING, bytes_max=bytes_max, rows_max=rows_max):
        assert Progress.of_offset(after.to_offset()) == after
        starts = {p.digest: p.point for p in (progress.partial,) if p}
        ends: dict[str, CutPoint | None] = dict.fromkeys(after.done - progress.done)
        if after.partial:
            ends[after.partial.digest] = after.partial.point
        batch = [
            row
            for digest, end in ends.items()
            for piece in divided(
                by_digest[digest], starts.get(digest, CutPoint()), end, CUTTING, 100
            )
            for part in rows_of(piece, CUTTING)
            for row in part.to_pylist()
        ]
        assert rows_max is None or len(batch) <= rows_max
        sizes = [len(row["content"]) for row in batch if row["fault"] is None]
        # They grow by the namespaces that they inherit.
        assert len(sizes) <= 1 or sum(sizes) <= 3 * bytes_max
        rows += batch
        progress, turns = after, turns + 1
    wanted = [*contents.values(), document(2)]
    assert sorted(row["content"] for row in rows) == sorted(
        content for whole in wanted for content in expected(whole)
    )
    assert turns > 2


def test_a_stream_without_limits_takes_everything_at_once(tmp_path: Path) -> None:
    files = files_of(tmp_path, a=document(3), b=document(1))
    progress = taken(Progress(), files, CUTTING, bytes_max=None, rows_max=None)
    assert progress == Progress(frozenset(file.digest for file in files))
    assert taken(progress, files, CUTTING, bytes_max=None, rows_max=None) is None


def test_files_that_are_gone_are_forgotten_and_changed_ones_are_new(tmp_path: Path) -> None:
    files = files_of(tmp_path, a=document(1), b=document(1))
    done = Progress(frozenset(file.digest for file in files))
    (tmp_path / "a.xml").unlink()
    changed = files_of(tmp_path, b=document(2))
    after = taken(done, changed, CUTTING, bytes_max=None, rows_max=None)
    assert after == Progress(frozenset(file.digest for file in changed))
    assert not after.done & done.done


def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    files = files_of(tmp_path, a=document(3))
    partly = taken(Progress(), files, CUTTING, bytes_max=100, rows_max=None)
    assert partly is not None
    assert partly.partial is not None
    with pytest.raises(RecordsError, match=re.escape("records.changed")) as raised:
        taken(partly, files_of(tmp_path, a=document(2)), CUTTING, bytes_max=100, rows_max=None)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    whole = divided(files[0], CutPoint(), partly.partial.point, CUTTING, 1 << 20)
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    with pytest.raises(RecordsError, match=re.escape("records.changed")):
        list(rows_of(whole[0], CUTTING))


def test_a_stream_remembers_so_many_files_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records_progress, "STREAM_FILES_MAX", 1)
    files = files_of(tmp_path, a=document(1), b=document(1))
    with pytest.raises(RecordsError, match=re.escape("records.too-many-files")):
        taken(Progress(), files, CUTTING, bytes_max=None, rows_max=None)


def test_how_to_cut_travels_as_text() -> None:
    cutting = Cutting(steps=((None, "a"), ("urn:b", None)), entities={"ouml": "ö"})
    assert Cutting.of_json(cutting.to_json()) == cutting
