"""Members of archives, read directly and through Spark."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.pipeline.archive_members import ArchiveLimits, Member, read_members
from penstock.pipeline.readers import read_archives
from support.spark.drain_stream import drain_stream

FILES = {"a.xml": b"<a/>", "deep/b.xml": b"<b>\xe9", "read.me": b"text"}


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.mkdir("deep")
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        folder = tarfile.TarInfo("deep")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def members(
    content: bytes, path: str, pattern: str = "*", limits: ArchiveLimits | None = None
) -> list[Member]:
    limits = limits or ArchiveLimits()
    return list(read_members(io.BytesIO(content), path, len(content), pattern, limits))


def faults(found: list[Member]) -> list[str | None]:
    return [None if member.fault is None else member.fault.code for member in found]


@pytest.mark.parametrize(
    ("content", "path"), [(zipped(FILES), "f/x.zip"), (tarred(FILES), "f/x.tar.gz")]
)
def test_members_keep_their_order_and_folders_are_skipped(content: bytes, path: str) -> None:
    found = members(content, path)
    assert {member.name: member.content for member in found} == FILES
    assert [member.position for member in found] == [0, 1, 2]
    assert faults(found) == [None] * 3
    assert [member.name for member in members(content, path, "*.xml")] == [
        "a.xml",
        "deep/b.xml",
    ]


def test_a_compressed_file_is_its_only_member() -> None:
    parts = gzip.compress(b"<a>") + gzip.compress(b"</a>")
    assert members(parts, "f/one.xml.gz") == [Member("one.xml", 0, b"<a></a>")]


@pytest.mark.parametrize("path", ["x.zip", "x.tar.gz", "x.xml.gz", "x.tar", "x.rar"])
def test_a_file_that_is_no_archive_gives_one_fault(path: str) -> None:
    assert faults(members(b"<a/>" * 200, path)) == ["archive.damaged"]


@pytest.mark.parametrize(
    ("content", "path"),
    [(tarred(FILES), "x.tgz"), (gzip.compress(b"<a/>" * 9), "x.gz"), (zipped(FILES), "x.zip")],
    # The bytes contain the current time, and every process must collect the same test ids.
    ids=["tgz", "gz", "zip"],
)
def test_damage_anywhere_is_reported_and_never_yields_content(content: bytes, path: str) -> None:
    intact = members(content, path)
    for at in range(4, len(content), 7):
        for damaged in (content[:at], content[:at] + b"\x55\xaa" + content[at + 2 :]):
            found = members(damaged, path)
            assert all(member.fault is None or member.content == b"" for member in found)
            # Some bytes, such as timestamps, do not affect the members.
            is_reported = any(member.fault is not None for member in found)
            assert is_reported or found == intact


def test_an_invalid_tar_header_is_damage_and_not_the_end() -> None:
    archive = bytearray(gzip.decompress(tarred(FILES)))
    header = archive.index(b"deep/b.xml")
    archive[header] ^= 1
    found = members(bytes(archive), "x.tar")
    assert [member.name for member in found] == ["a.xml", ""]
    assert faults(found) == [None, "archive.damaged"]
    # An archive without the end-of-archive marker is damaged too.
    assert faults(members(bytes(archive[:1536]), "x.tar")) == [None, "archive.damaged"]


def test_a_zip_with_fewer_members_than_declared_is_damaged() -> None:
    archive = bytearray(zipped(FILES))
    entry = archive.index(b"PK\x01\x02", archive.index(b"PK\x01\x02") + 1)
    archive[entry + 32] = 0xFF  # the length of its comment, which now spans the other entries
    found = members(bytes(archive), "x.zip")
    assert [member.name for member in found] == ["a.xml", ""]
    assert faults(found) == [None, "archive.damaged"]


def test_a_truncated_archive_is_damaged() -> None:
    for archive, path in (
        (tarred({"a.xml": bytes(range(256)) * 99}), "x.tgz"),
        (zipped(FILES), "x.zip"),
    ):
        assert faults(members(archive[:-30], path))[-1] == "archive.damaged"


def test_limits_apply_to_all_archive_formats() -> None:
    big = {"a.xml": b" " * (3 << 20), "b.xml": b"<b/>"}
    for archive, path in (
        (zipped(big), "x.zip"),
        (tarred(big), "x.tgz"),
        (gzip.compress(big["a.xml"]), "x.gz"),
    ):
        assert faults(members(archive, path, limits=ArchiveLimits(ratio=10)))[-1] == "archive.ratio"
        assert (
            faults(members(archive, path, limits=ArchiveLimits(bytes=100)))[-1] == "archive.bytes"
        )
    small = ArchiveLimits(member_bytes=100)
    assert faults(members(zipped(big), "x.zip", limits=small)) == ["archive.bytes", None]
    assert faults(members(tarred(big), "x.tgz", limits=small)) == ["archive.bytes", None]
    single = ArchiveLimits(members=1)
    assert faults(members(zipped(FILES), "x.zip", limits=single)) == [None, "archive.members"]


def test_an_encrypted_member_is_a_fault_but_the_others_are_read() -> None:
    archive = bytearray(zipped(FILES, zipfile.ZIP_STORED))
    entry = archive.index(b"PK\x01\x02", archive.index(b"PK\x01\x02") + 1)
    archive[entry + 8] |= 1
    assert faults(members(bytes(archive), "x.zip")) == ["archive.encrypted", None, None]


def test_archives_become_documents(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "one.zip").write_bytes(zipped(FILES))
    (tmp_path / "two %20.xml.gz").write_bytes(gzip.compress(b"<c/>"))
    rows = read_archives(
        spark, str(tmp_path), publisher="me", members="*.xml", pattern="*[zp]"
    ).collect()
    found = {row.fields["member"]: row for row in rows}
    assert {name: bytes(row.content) for name, row in found.items()} == {
        "a.xml": b"<a/>",
        "deep/b.xml": b"<b>\xe9",
        "two %20.xml": b"<c/>",
    }
    assert found["deep/b.xml"].sequence == found["a.xml"].sequence + 1


def test_a_stream_of_archives_reads_new_ones_once(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "one.zip").write_bytes(zipped({"a.xml": b"<a/>"}))
    (folder / "two.tgz").write_bytes(tarred({"b.xml": b"<b/>", "c.xml": b"<c/>"})[:-30])
    archives = read_archives(
        spark, str(folder), publisher="me", stream=True, max_files_per_trigger=1
    )

    def read() -> list[tuple[str, bytes, bool]]:
        rows = drain_stream(archives, tmp_path)
        return sorted((r.fields["member"], bytes(r.content), "fault" in r.fields) for r in rows)

    first = read()
    assert ("a.xml", b"<a/>", False) in first
    # The truncation is reported once, as a row without content.
    assert [content for _, content, is_fault in first if is_fault] == [b""]
    assert len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))) == 2
    (folder / "three.xml.gz").write_bytes(gzip.compress(b"<d/>"))
    assert read() == sorted([*first, ("three.xml", b"<d/>", False)])
