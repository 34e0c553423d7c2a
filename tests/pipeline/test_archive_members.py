"""Members of archives, read directly and through Spark."""

from __future__ import annotations

import gzip
import io
import struct
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


def member_data(archive: bytes, header: int) -> int:
    """The offset of the data of the member of a zip file with this header."""
    name, extra = struct.unpack_from("<HH", archive, header + 26)
    return header + 30 + int(name) + int(extra)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED])
def test_a_damaged_member_is_a_fault_but_the_others_are_read(method: int) -> None:
    intact = zipped({"a.xml": b"<a/>" * 999, "b.xml": b"<b/>"}, method)
    data = member_data(intact, intact.index(b"PK\x03\x04", 4))
    for at in range(data, data + 20):
        archive = bytearray(intact)
        archive[at] ^= 0xFF
        first, second = members(bytes(archive), "x.zip")
        assert first.fault is None or first.fault.code == "archive.damaged"
        assert first.fault is not None or first.content == b"<a/>" * 999
        assert second == Member("b.xml", 1, b"<b/>")


def test_a_member_without_a_name_is_a_fault_but_the_others_are_read() -> None:
    archive = bytearray(zipped({"a": b"<a/>", "b.xml": b"<b/>"}))
    for signature, lengths in ((b"PK\x03\x04", 26), (b"PK\x01\x02", 28)):
        # The name of the second entry, after the folder, becomes an extra field.
        entry = archive.index(signature, archive.index(signature) + 1)
        archive[entry + lengths : entry + lengths + 4] = struct.pack("<HH", 0, 1)
    found = members(bytes(archive), "x.zip")
    assert faults(found) == ["archive.damaged", None]
    assert found[1] == Member("b.xml", 1, b"<b/>")


def sparse_tar(size: int, data: bytes) -> bytes:
    """A tar file whose member ``s.xml`` has ``data`` and then a hole, with GNU's headers."""
    header = bytearray(tarfile.TarInfo("s.xml").tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[124:136] = b"%011o\0" % len(data)
    header[386:410] = b"%011o\0%011o\0" % (0, len(data))
    header[483:495] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    padded = data + b"\0" * (-len(data) % 512)
    return bytes(header) + padded


def tar_end(*parts: bytes) -> bytes:
    return b"".join(parts) + b"\0" * 1024


def plain_member(name: str, content: bytes, **fields: object) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info.tobuf(tarfile.GNU_FORMAT) + content + b"\0" * (-len(content) % 512)


def test_a_sparse_member_is_not_expanded() -> None:
    archive = tar_end(
        sparse_tar(256 << 20, b""), sparse_tar(5, b"<s/>"), plain_member("a", b"<a/>")
    )
    for content, path in ((archive, "x.tar"), (gzip.compress(archive), "x.tgz")):
        found = members(content, path)
        assert faults(found) == ["archive.sparse", "archive.sparse", None]
        assert found[2].content == b"<a/>"
    # A sparse member without holes is like any other.
    assert members(tar_end(sparse_tar(4, b"<s/>")), "x.tar") == [Member("s.xml", 0, b"<s/>")]


@pytest.mark.parametrize(
    "kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK]
)
def test_an_extended_tar_header_is_limited(kind: bytes) -> None:
    header = bytearray(plain_member("x", b"", type=kind))
    header[124:136] = b"%011o\0" % (4 << 30)  # its declared size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    archive = tar_end(plain_member("a.xml", b"<a/>"), bytes(header))
    found = members(archive, "x.tar")
    assert found[0] == Member("a.xml", 0, b"<a/>")
    assert found[1].fault is not None
    assert "a header is longer than" in found[1].fault.message


def test_global_tar_headers_are_limited() -> None:
    def pax(number: int) -> bytes:
        record = f"k{number}=v\n"
        return f"{len(record) + 2} {record}".encode()

    header = plain_member("x", b"".join(pax(n) for n in range(10, 99)), type=tarfile.XGLTYPE)
    few = tar_end(header, plain_member("a.xml", b"<a/>"))
    assert faults(members(few, "x.tar")) == [None]
    second = plain_member("x", b"".join(pax(n) for n in range(100, 199)), type=tarfile.XGLTYPE)
    many = tar_end(header, plain_member("a.xml", b"<a/>"), second, plain_member("b.xml", b"<b/>"))
    assert faults(members(many, "x.tar")) == [None, "archive.damaged"]


def test_a_negative_size_in_a_tar_header_is_damage() -> None:
    header = bytearray(plain_member("b.xml", b""))
    header[124:136] = b"\xff" * 11 + b"\0"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    archive = tar_end(plain_member("a.xml", b"<a/>"), bytes(header))
    assert faults(members(archive, "x.tar")) == [None, "archive.damaged"]


def test_folders_and_unselected_members_count_against_the_limit() -> None:
    folders = [plain_member(f"d{n}/", b"", type=tarfile.DIRTYPE) for n in range(3)]
    archive = tar_end(*folders, plain_member("a.xml", b"<a/>"))
    assert faults(members(archive, "x.tar", limits=ArchiveLimits(members=4))) == [None]
    limited = members(archive, "x.tar", limits=ArchiveLimits(members=3))
    assert faults(limited) == ["archive.members"]


def test_a_long_zip_directory_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    archive = zipped({f"{n}.xml": b"" for n in range(200)})
    assert len(members(archive, "x.zip", limits=ArchiveLimits(members=201))) == 200
    monkeypatch.setattr("penstock.pipeline.archive_members.ENTRIES_LOADED_MIN", 1)
    monkeypatch.setattr(zipfile, "ZipFile", None)  # must not be called
    few = ArchiveLimits(members=100)
    assert faults(members(archive, "x.zip", limits=few)) == ["archive.members"]


def test_names_that_cannot_be_decoded_are_kept_as_text() -> None:
    archive = tar_end(plain_member("a\udcff.xml", b"<a/>"))
    (member,) = members(archive, "x.tar")
    assert (member.name, member.content) == ("a?.xml", b"<a/>")


def test_names_never_become_paths() -> None:
    names = ["/etc/a.xml", "../../b.xml"]
    found = members(zipped(dict.fromkeys(names, b"<a/>")), "x.zip")
    assert [member.name for member in found] == names
    archive = tar_end(*(plain_member(name, b"<a/>") for name in names))
    assert [member.name for member in members(archive, "x.tar")] == names


@pytest.mark.parametrize("path", ["x.zip", "x.tgz", "x.gz"])
def test_a_failure_of_the_storage_is_raised(path: str) -> None:
    content = {"x.zip": zipped(FILES), "x.tgz": tarred(FILES), "x.gz": gzip.compress(b"<a/>")}[path]

    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 0:
                raise ConnectionResetError("the storage is gone")
            return super().read(min(size or 0, 4))

    with pytest.raises(ConnectionResetError):
        list(read_members(Failing(content), path, len(content), "*", ArchiveLimits()))


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
