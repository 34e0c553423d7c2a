"""Archives by their members, without Spark; and through it once."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.pipeline.archive_members import ArchiveLimits, Member, members_of
from penstock.pipeline.readers import read_archives
from support.spark.drained_stream import drained

FILES = {"a.xml": b"<a/>", "deep/b.xml": b"<b>\xe9", "read.me": b"text"}


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        archive.mkdir("deep")
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        folder = tarfile.TarInfo("deep")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def members(
    content: bytes, path: str, pattern: str = "*", limits: ArchiveLimits | None = None
) -> list[Member]:
    found = members_of(io.BytesIO(content), path, len(content), pattern, limits or ArchiveLimits())
    return list(found)


def faults(found: list[Member]) -> list[str | None]:
    return [None if member.fault is None else member.fault.code for member in found]


@pytest.mark.parametrize(
    ("whole", "path"), [(zipped(FILES), "f/x.zip"), (tarred(FILES), "f/x.tar.gz")]
)
def test_members_come_in_order_and_folders_are_none(whole: bytes, path: str) -> None:
    found = members(whole, path)
    assert {member.name: member.content for member in found} == FILES
    assert [member.place for member in found] == [0, 1, 2]
    assert faults(found) == [None] * 3
    assert [member.name for member in members(whole, path, "*.xml")] == [
        "a.xml",
        "deep/b.xml",
    ]


def test_a_compressed_file_is_its_only_member() -> None:
    parts = gzip.compress(b"<a>") + gzip.compress(b"</a>")
    assert members(parts, "f/one.xml.gz") == [Member("one.xml", 0, b"<a></a>")]


@pytest.mark.parametrize("path", ["x.zip", "x.tar.gz", "x.xml.gz", "x.tar", "x.rar"])
def test_what_is_no_archive_is_one_fault(path: str) -> None:
    assert faults(members(b"<a/>" * 200, path)) == ["archive.damaged"]


@pytest.mark.parametrize(
    ("whole", "path"),
    [(tarred(FILES), "x.tgz"), (gzip.compress(b"<a/>" * 9), "x.gz"), (zipped(FILES), "x.zip")],
    # Not by their bytes, which tell the time: every process has to collect the same tests.
    ids=["tgz", "gz", "zip"],
)
def test_damage_anywhere_is_told_and_nothing_is_made_up(whole: bytes, path: str) -> None:
    sound = members(whole, path)
    for at in range(4, len(whole), 7):
        for damaged in (whole[:at], whole[:at] + b"\x55\xaa" + whole[at + 2 :]):
            found = members(damaged, path)
            assert all(member.fault is None or member.content == b"" for member in found)
            # Some bytes, such as those of times, say nothing of the members.
            is_told = any(member.fault is not None for member in found)
            assert is_told or found == sound


def test_a_tar_header_that_is_none_is_damage_and_not_the_end() -> None:
    whole = bytearray(gzip.decompress(tarred(FILES)))
    header = whole.index(b"deep/b.xml")
    whole[header] ^= 1
    found = members(bytes(whole), "x.tar")
    assert [member.name for member in found] == ["a.xml", ""]
    assert faults(found) == [None, "archive.damaged"]
    # Nor does it end by itself: there is a mark.
    assert faults(members(bytes(whole[:1536]), "x.tar")) == [None, "archive.damaged"]


def test_a_zip_with_fewer_members_than_it_says_is_damaged() -> None:
    whole = bytearray(zipped(FILES))
    entry = whole.index(b"PK\x01\x02", whole.index(b"PK\x01\x02") + 1)
    whole[entry + 32] = 0xFF  # the length of its comment, which takes in the others
    found = members(bytes(whole), "x.zip")
    assert [member.name for member in found] == ["a.xml", ""]
    assert faults(found) == [None, "archive.damaged"]


def test_an_archive_that_is_cut_off_says_so() -> None:
    for whole, path in (
        (tarred({"a.xml": bytes(range(256)) * 99}), "x.tgz"),
        (zipped(FILES), "x.zip"),
    ):
        assert faults(members(whole[:-30], path))[-1] == "archive.damaged"


def test_limits_hold_in_archives_of_every_kind() -> None:
    big = {"a.xml": b" " * (3 << 20), "b.xml": b"<b/>"}
    for whole, path in (
        (zipped(big), "x.zip"),
        (tarred(big), "x.tgz"),
        (gzip.compress(big["a.xml"]), "x.gz"),
    ):
        assert faults(members(whole, path, limits=ArchiveLimits(ratio=10)))[-1] == "archive.ratio"
        assert faults(members(whole, path, limits=ArchiveLimits(bytes=100)))[-1] == "archive.bytes"
    small = ArchiveLimits(member_bytes=100)
    assert faults(members(zipped(big), "x.zip", limits=small)) == ["archive.bytes", None]
    assert faults(members(tarred(big), "x.tgz", limits=small)) == ["archive.bytes", None]
    one = ArchiveLimits(members=1)
    assert faults(members(zipped(FILES), "x.zip", limits=one)) == [None, "archive.members"]


def test_an_encrypted_member_is_a_fault_and_the_others_are_read() -> None:
    whole = bytearray(zipped(FILES, zipfile.ZIP_STORED))
    entry = whole.index(b"PK\x01\x02", whole.index(b"PK\x01\x02") + 1)
    whole[entry + 8] |= 1
    assert faults(members(bytes(whole), "x.zip")) == ["archive.encrypted", None, None]


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
        rows = drained(archives, tmp_path)
        return sorted((r.fields["member"], bytes(r.content), "fault" in r.fields) for r in rows)

    first = read()
    assert ("a.xml", b"<a/>", False) in first
    # What is cut off is told once, as a row without content.
    assert [content for _, content, is_fault in first if is_fault] == [b""]
    assert len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))) == 2
    (folder / "three.xml.gz").write_bytes(gzip.compress(b"<d/>"))
    assert read() == sorted([*first, ("three.xml", b"<d/>", False)])
