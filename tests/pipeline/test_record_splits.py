"""Splits of files and offsets of record streams, without Spark."""

from __future__ import annotations

import gzip
import pickle
import re
from pathlib import Path

import pytest

from penstock.documents import CutPoint, cut_records
from penstock.errors import RecordsError
from penstock.pipeline import record_offsets
from penstock.pipeline.filesystem import FileInfo, list_files
from penstock.pipeline.record_offsets import RecordOffset, next_offset
from penstock.pipeline.record_splits import RecordOptions, read_split, split_file

OPTIONS = RecordOptions(steps=((None, "a"), (None, None), (None, "r")))


def document(count: int, tail: str = "</b></a>") -> bytes:
    """Records in several parents, from which they inherit namespaces."""
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
    return [record.content for record in cut_records(content, OPTIONS.steps)]


@pytest.mark.parametrize("tail", ["</b></a>", "<r><x></r></b></a>", "<r/></b></a> x", ""])
@pytest.mark.parametrize("split_bytes", [1, 100, 1000, 1 << 20])
def test_the_splits_of_a_file_have_each_record_once(
    tmp_path: Path, split_bytes: int, tail: str
) -> None:
    content = document(6, tail)
    (file,) = files_of(tmp_path, a=content)
    splits = split_file(file, CutPoint(), None, OPTIONS, split_bytes)
    rows = [
        row for split in splits for batch in read_split(split, OPTIONS) for row in batch.to_pylist()
    ]
    assert [row["content"] for row in rows] == expected(content)
    assert [row["place"] for row in rows] == list(range(len(rows)))
    if split_bytes == 100:
        assert len(splits) > 5


@pytest.mark.parametrize(("bytes_max", "rows_max"), [(1, None), (200, None), (10_000, 3), (150, 2)])
def test_micro_batches_respect_the_limits_and_cover_everything(
    tmp_path: Path, bytes_max: int, rows_max: int | None
) -> None:
    contents = {"a": document(3), "b": document(1, "<r>"), "c": b"<a/>", "d": document(2)}
    files = files_of(tmp_path, **contents)
    (tmp_path / "e.xml.gz").write_bytes(gzip.compress(document(2)))
    files = list_files(str(tmp_path))
    by_digest = {file.digest: file for file in files}
    offset, rows, batches = RecordOffset(), [], 0
    while after := next_offset(offset, files, OPTIONS, bytes_max=bytes_max, rows_max=rows_max):
        assert RecordOffset.from_dict(after.to_dict()) == after
        starts = {p.digest: p.point for p in (offset.partial,) if p}
        ends: dict[str, CutPoint | None] = dict.fromkeys(after.done - offset.done)
        if after.partial:
            ends[after.partial.digest] = after.partial.point
        batch = [
            row
            for digest, end in ends.items()
            for split in split_file(
                by_digest[digest], starts.get(digest, CutPoint()), end, OPTIONS, 100
            )
            for part in read_split(split, OPTIONS)
            for row in part.to_pylist()
        ]
        assert rows_max is None or len(batch) <= rows_max
        sizes = [len(row["content"]) for row in batch if row["fault"] is None]
        # Contents grow by inherited namespaces.
        assert len(sizes) <= 1 or sum(sizes) <= 3 * bytes_max
        rows += batch
        offset, batches = after, batches + 1
    wanted = [*contents.values(), document(2)]
    assert sorted(row["content"] for row in rows) == sorted(
        content for file in wanted for content in expected(file)
    )
    assert batches > 2


def test_a_stream_without_limits_takes_everything_in_one_batch(tmp_path: Path) -> None:
    files = files_of(tmp_path, a=document(3), b=document(1))
    offset = next_offset(RecordOffset(), files, OPTIONS, bytes_max=None, rows_max=None)
    assert offset == RecordOffset(frozenset(file.digest for file in files))
    assert next_offset(offset, files, OPTIONS, bytes_max=None, rows_max=None) is None


def test_removed_files_are_dropped_from_the_offset_and_changed_ones_are_new(tmp_path: Path) -> None:
    files = files_of(tmp_path, a=document(1), b=document(1))
    done = RecordOffset(frozenset(file.digest for file in files))
    (tmp_path / "a.xml").unlink()
    changed = files_of(tmp_path, b=document(2))
    after = next_offset(done, changed, OPTIONS, bytes_max=None, rows_max=None)
    assert after == RecordOffset(frozenset(file.digest for file in changed))
    assert not after.done & done.done


def test_a_file_that_changes_while_being_read_is_an_error(tmp_path: Path) -> None:
    files = files_of(tmp_path, a=document(3))
    partly = next_offset(RecordOffset(), files, OPTIONS, bytes_max=100, rows_max=None)
    assert partly is not None
    assert partly.partial is not None
    with pytest.raises(RecordsError, match=re.escape("records.changed")) as raised:
        next_offset(
            partly, files_of(tmp_path, a=document(2)), OPTIONS, bytes_max=100, rows_max=None
        )
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    splits = split_file(files[0], CutPoint(), partly.partial.point, OPTIONS, 1 << 20)
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    with pytest.raises(RecordsError, match=re.escape("records.changed")):
        list(read_split(splits[0], OPTIONS))


def test_the_number_of_files_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_offsets, "STREAM_FILES_MAX", 1)
    files = files_of(tmp_path, a=document(1), b=document(1))
    with pytest.raises(RecordsError, match=re.escape("records.too-many-files")):
        next_offset(RecordOffset(), files, OPTIONS, bytes_max=None, rows_max=None)


def test_record_options_survive_serialisation() -> None:
    options = RecordOptions(steps=((None, "a"), ("urn:b", None)), entities={"ouml": "ö"})
    assert RecordOptions.from_json(options.to_json()) == options
