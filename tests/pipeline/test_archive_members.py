"""Members of archives, read directly and through Spark."""

from __future__ import annotations

import gzip
import io
import random
import struct
import subprocess
import sys
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


BIG = 250 << 20
"""Bytes that a bomb of a few hundred bytes would expand to."""


def sparse_bomb() -> bytes:
    """A member whose map has one segment of ``BIG`` bytes behind its end, with GNU's header."""
    member = bytearray(sparse_tar(BIG, b""))
    member[386:410] = b"%011o\0%011o\0" % (BIG, BIG)
    member[148:156] = b" " * 8
    member[148:156] = b"%06o\0 " % sum(member[:512])
    return bytes(member)


def sparse_bomb_with_map_blocks() -> bytes:
    """The same with blocks of the map behind the header."""
    member = bytearray(sparse_bomb())
    member[482] = 1
    member[148:156] = b" " * 8
    member[148:156] = b"%06o\0 " % sum(member[:512])
    segments = b"%011o\0%011o\0" % (BIG, BIG) * 21
    return bytes(member) + segments + b"\1" + bytes(7) + segments + bytes(8)


def pax_sparse_bomb(content: bytes = b"", **properties: str) -> bytes:
    """A member that a pax header declares to be sparse."""
    info = tarfile.TarInfo("s.xml")
    info.size = len(content)
    names = {name: f"GNU.sparse.{name}" for name in properties}
    info.pax_headers = {names[name]: value for name, value in properties.items()}
    return info.tobuf(tarfile.PAX_FORMAT) + content + b"\0" * (-len(content) % 512)


SPARSE_BOMBS = {
    "gnu": sparse_bomb(),
    "gnu with map blocks": sparse_bomb_with_map_blocks(),
    "pax 0.0": pax_sparse_bomb(size=str(BIG), numblocks="1", offset=str(BIG), numbytes=str(BIG)),
    "pax 0.1": pax_sparse_bomb(size=str(BIG), realsize=str(BIG), map=f"{BIG},{BIG}"),
    "pax 1.0": pax_sparse_bomb(
        f"1\n{BIG}\n{BIG}\n".encode().ljust(512, b"\0"),
        major="1",
        minor="0",
        name="s.xml",
        realsize=str(BIG),
    ),
}


@pytest.mark.parametrize("kind", SPARSE_BOMBS)
def test_a_sparse_map_is_not_believed(kind: str) -> None:
    archive = tar_end(SPARSE_BOMBS[kind], plain_member("a.xml", b"<a/>"))
    for content, path in ((archive, "x.tar"), (gzip.compress(archive), "x.tgz")):
        found = members(content, path)
        assert faults(found) == ["archive.sparse", None]
        assert [member.name for member in found] == ["s.xml", "a.xml"]
        assert [member.content for member in found] == [b"", b"<a/>"]


def test_the_members_of_a_tar_file_count_against_the_limit_of_bytes() -> None:
    archive = tar_end(*(plain_member(f"{n}.xml", b"<a/>") for n in range(3)))
    assert faults(members(archive, "x.tar", limits=ArchiveLimits(bytes=12))) == [None] * 3
    limited = members(archive, "x.tar", limits=ArchiveLimits(bytes=11))
    assert faults(limited) == [None, None, "archive.bytes"]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tar_files_of_every_format_are_read_like_the_standard_library_does(form: int) -> None:
    long = "a" * 60 + "/" + "b" * 60 + "/\N{LATIN SMALL LETTER E WITH ACUTE}.xml"
    names = ["a.xml", "deep/b.xml", long]
    if form != tarfile.USTAR_FORMAT:
        names.append("c" * 300 + ".xml")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for number, name in enumerate(names):
            info = tarfile.TarInfo(name)
            info.size = 700 * number
            info.mtime = 1.5 if form == tarfile.PAX_FORMAT else 1
            archive.addfile(info, io.BytesIO(b"x" * info.size))
            link = tarfile.TarInfo("d" * 60)
            link.type, link.linkname = tarfile.SYMTYPE, "e" * (150 * number)
            if form != tarfile.USTAR_FORMAT:
                archive.addfile(link)
    buffer.seek(0)
    with tarfile.open(fileobj=buffer) as archive:
        files = [info for info in archive if info.isfile()]
        expected = [(info.name, archive.extractfile(info)) for info in files]
        contents = [(name, file.read()) for name, file in expected if file is not None]
    found = members(buffer.getvalue(), "x.tar")
    assert [(member.name, member.content) for member in found] == contents
    assert [name for name, _ in contents] == names


def test_the_name_and_size_of_a_tar_member_may_be_in_a_pax_header() -> None:
    records = b"30 comment=a=b\nc and the rest\n" + b"14 path=x.xml\n" + b"9 size=4\n"
    extended = plain_member("p", records, type=tarfile.XHDTYPE)
    member = bytearray(plain_member("cut", b"<a/>"))
    assert members(tar_end(extended, bytes(member)), "x.tar") == [Member("x.xml", 0, b"<a/>")]
    for damaged in (b"13 path=x.xml\n", b"99 path=x\n", b"x path=x\n", b"0 path=x\n", b"7 path\n"):
        extended = plain_member("p", damaged, type=tarfile.XHDTYPE)
        assert faults(members(tar_end(extended, bytes(member)), "x.tar")) == ["archive.damaged"]


def test_a_tar_member_may_have_its_size_in_base_256() -> None:
    header = bytearray(plain_member("a.xml", b"<a/>"))
    header[124:136] = b"\x80" + (4).to_bytes(11)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header[:512])
    assert members(tar_end(bytes(header)), "x.tar") == [Member("a.xml", 0, b"<a/>")]


def test_an_extended_tar_header_of_digits_is_parsed_in_linear_time() -> None:
    # The regular expressions of the standard library would take hours.
    header = plain_member("p", b"1" * (1 << 20), type=tarfile.XHDTYPE)
    archive = tar_end(header, plain_member("a.xml", b"<a/>"))
    assert faults(members(archive, "x.tar")) == ["archive.damaged"]


def bomb_in_zip(method: int) -> bytes:
    """A zip file of some kilobytes with a member of 120 MB."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive, archive.open("a.xml", "w") as member:
        for _ in range(120):
            member.write(bytes(1 << 20))
    return buffer.getvalue()


READ_WITHIN_100_MB = """
import io, resource, sys
from penstock.pipeline.archive_members import ArchiveLimits, read_members
content = sys.stdin.buffer.read()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20),) * 2)
limits = ArchiveLimits(member_bytes=10 << 20)
for member in read_members(io.BytesIO(content), "x.zip", len(content), "*", limits):
    print(len(member.content), member.fault and member.fault.code)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and limits the address space")
@pytest.mark.parametrize(
    ("method", "code"),
    [
        (zipfile.ZIP_DEFLATED, b"archive.bytes"),
        (zipfile.ZIP_BZIP2, b"archive.ratio"),
        (zipfile.ZIP_LZMA, b"archive.bytes"),
    ],
)
def test_a_compressed_zip_member_is_expanded_up_to_the_limit_only(method: int, code: bytes) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", READ_WITHIN_100_MB],
        input=bomb_in_zip(method),
        capture_output=True,
        check=False,
    )
    assert ran.stderr == b""
    assert ran.stdout.split() == [b"0", code]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_zip_members_of_every_method_are_read_in_full(method: int) -> None:
    large = random.Random(1).randbytes(500_000) * 3  # larger than one chunk, and than a block
    files = {"empty.xml": b"", "a.xml": b"<a/>", "large.xml": large}
    archive = zipped(files, method)
    assert {member.name: member.content for member in members(archive, "x.zip")} == files
    limits = ArchiveLimits(member_bytes=len(large))
    assert faults(members(archive, "x.zip", limits=limits)) == [None] * 3
    limits = ArchiveLimits(member_bytes=len(large) - 1)
    assert faults(members(archive, "x.zip", limits=limits)) == [None, None, "archive.bytes"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("declared", [3, 5])
def test_a_zip_member_of_another_size_than_declared_is_damaged(method: int, declared: int) -> None:
    archive = bytearray(zipped({"a.xml": b"<a/>"}, method))
    entry = archive.rindex(b"PK\x01\x02")
    archive[entry + 24 : entry + 28] = struct.pack("<I", declared)
    assert faults(members(bytes(archive), "x.zip")) == ["archive.damaged"]


def test_a_zip_member_of_an_unknown_method_is_a_fault() -> None:
    archive = bytearray(zipped({"a.xml": b"<a/>"}))
    archive[archive.rindex(b"PK\x01\x02") + 10] = 93  # Zstandard
    assert faults(members(bytes(archive), "x.zip")) == ["archive.damaged"]


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


def test_global_tar_headers_are_not_collected() -> None:
    def properties(first: int) -> bytes:
        return b"".join(b"12 k%d=abc\n" % number for number in range(first, first + 100))

    parts = []
    for number in range(9):
        content = properties(100 * (number + 1)) + b"14 path=y.xml\n"
        parts.append(plain_member("x", content, type=tarfile.XGLTYPE))
        parts.append(plain_member("a.xml", b"<a/>"))
    found = members(tar_end(*parts), "x.tar")
    assert found == [Member("y.xml", number, b"<a/>") for number in range(9)]


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
