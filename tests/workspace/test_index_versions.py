"""Index versions: immutable files named by digest, opened in place or through the file cache."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs

from penstock.documents import Limits
from penstock.errors import IndexFileError, QueryError
from penstock.workspace import file_store, index_version_files, index_versions
from penstock.workspace.index_versions import (
    change_version,
    files_of,
    open_version,
    write_shards,
    write_version,
)
from penstock.workspace.subscriber_buckets import bucket_of
from support.fixtures.subscription_tables import subscription, table_of

NEWS = b"<news><item lang='en'><title>x</title></item></news>"

THREE = [
    subscription("anna-en", "/news/item[@lang='en']", returns="fragments"),
    subscription("ben-de", "/news/item[@lang='de']"),
    subscription("cleo-p", "/p:news", namespaces={"p": "urn:news"}),
]


BOTH_KINDS = [
    *THREE,
    subscription("dora-words", "title X", returns="fragments"),
    subscription("emil-any", "de OR fr"),
]


@pytest.fixture(autouse=True)
def own_file_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each test has its own cache of remote files."""
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))


@pytest.fixture(params=["local", "remote"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A local folder and a remote one."""
    if request.param == "local":
        return str(tmp_path / "indexes")
    remote = fs.SubTreeFileSystem(str(tmp_path / "remote"), fs.LocalFileSystem())
    monkeypatch.setattr(file_store, "resolve_uri", lambda uri: (remote, uri.partition("://")[2]))
    return "store://indexes"


def matched_names(uri: str, document: bytes = NEWS) -> list[str]:
    """The names of a version's subscriptions that a document matches."""
    version = open_version(uri)
    numbers = pa.array([int(id_) for id_ in version.matcher.match(document)], pa.int64())
    return sorted(str(name) for name in version.rows(numbers).column("subscription").to_pylist())


def test_a_match_leads_to_its_subscriber_by_row_number(folder: str) -> None:
    uri = write_version(folder, table_of(THREE))
    version = open_version(uri)
    assert uri == f"{folder}/{version.digest}"
    (number,) = version.matcher.match(NEWS).ids
    (row,) = version.rows(pa.array([int(number)])).to_pylist()
    assert (row["subscriber"], row["returns"]) == ("anna", "fragments")
    assert matched_names(uri, b"<news xmlns='urn:news'/>") == ["cleo-p"]


def test_a_version_without_subscriptions_matches_nothing(folder: str) -> None:
    uri = write_version(folder, table_of([]))
    assert matched_names(uri) == []
    assert matched_names(change_version(uri, removed=[], added=table_of(THREE))) == ["anna-en"]


def test_the_same_subscriptions_are_the_same_version_and_not_written_twice(tmp_path: Path) -> None:
    first = write_version(str(tmp_path), table_of(THREE))
    before = {path.name: path.stat().st_ino for path in tmp_path.iterdir()}
    halves = pa.concat_tables([table_of(THREE[:1]), table_of(THREE[1:])])
    assert write_version(str(tmp_path), halves) == first
    assert {path.name: path.stat().st_ino for path in tmp_path.iterdir()} == before
    assert set(before) == set(files_of(first))


def test_limits_of_documents_apply(folder: str) -> None:
    uri = write_version(folder, table_of(THREE))
    strict = open_version(uri, limits=Limits(depth=2)).matcher
    assert strict.match(NEWS).errors[0].code == "limit.depth"
    assert not open_version(uri).matcher.match(NEWS).errors


def test_a_refused_query_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(QueryError):
        write_version(str(tmp_path), table_of([*THREE, subscription("bad", "/a[")]))
    assert list(tmp_path.iterdir()) == []


def test_shards_together_hold_every_subscription_once(folder: str) -> None:
    rows = [subscription(f"s{number}", "/news") for number in range(50)]
    uris = write_shards(folder, table_of(rows), 3)
    shares = [matched_names(uri) for uri in uris]
    assert sorted(name for share in shares for name in share) == sorted(
        row["subscription"] for row in rows
    )
    assert all(shares)
    again = write_shards(folder, table_of([*rows, subscription("new", "/news")]), 3)
    changed = [number for number in range(3) if again[number] != uris[number]]
    assert changed == [bucket_of("new", 3)]


def write_table_file(folder: Path, table: pa.Table, metadata: dict[bytes, bytes]) -> str:
    """Writes a table under its digest, as someone would who can write to the folder."""
    folder.mkdir(exist_ok=True)
    path = folder / "table"
    schema = table.schema.with_metadata({b"penstock.format": b"2", **metadata})
    with pa.ipc.new_file(str(path), schema) as writer:
        writer.write_table(table.replace_schema_metadata(schema.metadata))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    path.rename(folder / f"{digest}.arrow")
    return f"{folder}/{digest}"


@pytest.mark.parametrize(
    "metadata",
    [
        {b"penstock.format": b"two"},
        {b"penstock.base": b"../../elsewhere"},
        {b"penstock.base": b"\xff"},
        {b"penstock.removed": b"1,x"},
        {b"penstock.removed": b"-1"},
    ],
)
def test_a_table_with_invalid_metadata_is_refused(
    tmp_path: Path, metadata: dict[bytes, bytes]
) -> None:
    uri = write_table_file(tmp_path, table_of(THREE), metadata)
    with pytest.raises(IndexFileError):
        open_version(uri)


def test_a_table_with_missing_values_is_refused(tmp_path: Path) -> None:
    table = table_of(THREE)
    queries = pa.array(["/a", None, "/b"], pa.string())
    at = table.schema.get_field_index("query")
    uri = write_table_file(tmp_path, table.set_column(at, table.schema.field(at), queries), {})
    with pytest.raises(IndexFileError) as caught:
        open_version(uri)
    assert caught.value.code in {"index.damaged", "index.not-an-index"}


def test_the_cache_evicts_only_its_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = fs.SubTreeFileSystem(str(tmp_path / "remote"), fs.LocalFileSystem())
    monkeypatch.setattr(file_store, "resolve_uri", lambda uri: (remote, uri.partition("://")[2]))
    monkeypatch.setattr(file_store, "CACHED_FILES_MAX", 2)
    cache, outside = tmp_path / "cache", tmp_path / "outside"
    cache.mkdir()
    outside.write_bytes(b"not Penstock's")
    foreign = ["thesis.odt", "notes.index", f"{'0' * 64}.txt", f"{'0' * 64}.index.part"]
    for name in foreign:
        (cache / name).write_bytes(b"not Penstock's")
    (cache / f"{'1' * 64}.index").symlink_to(outside)
    (cache / "folder").mkdir()
    for path in [*cache.iterdir(), outside]:
        os.utime(path, (0, 0), follow_symlinks=False)
    for name in ("a", "b", "c"):
        matched_names(write_version("store://indexes", table_of([subscription(name, "/news")])))
    left = {path.name for path in cache.iterdir()}
    assert left >= {*foreign, "folder", f"{'1' * 64}.index"}
    assert len(left) == len(foreign) + 2 + 2
    assert outside.stat().st_mtime == 0


def test_a_link_in_the_cache_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = fs.SubTreeFileSystem(str(tmp_path / "remote"), fs.LocalFileSystem())
    monkeypatch.setattr(file_store, "resolve_uri", lambda uri: (remote, uri.partition("://")[2]))
    uri = write_version("store://indexes", table_of(THREE))
    outside = tmp_path / "outside"
    outside.write_bytes(b"not Penstock's")
    name = f"{uri.rpartition('/')[2]}.index"
    (tmp_path / "cache" / name).unlink(missing_ok=True)
    (tmp_path / "cache" / name).symlink_to(outside)
    assert matched_names(uri) == ["anna-en"]
    assert outside.read_bytes() == b"not Penstock's"
    assert not (tmp_path / "cache" / name).is_symlink()


def test_a_cache_in_the_temporary_directory_is_no_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PENSTOCK_CACHE")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "home").mkdir()
    (tmp_path / f"penstock-{os.getuid()}").symlink_to(tmp_path / "home")
    with pytest.raises(PermissionError):
        file_store.cache_directory()


# Both query kinds.


def test_a_version_has_one_index_for_each_query_kind(tmp_path: Path) -> None:
    folder = str(tmp_path)
    for rows, suffixes in (
        ([], {".arrow"}),
        (THREE, {".arrow", ".index"}),
        (BOTH_KINDS[3:], {".arrow", ".keywords"}),
        (BOTH_KINDS, {".arrow", ".index", ".keywords"}),
    ):
        uri = write_version(folder, table_of(rows))
        assert {Path(name).suffix for name in files_of(uri)} == suffixes
        assert {path.suffix for path in tmp_path.glob(f"{Path(uri).name}*")} == suffixes


def test_queries_of_both_kinds_are_matched_together(folder: str) -> None:
    uri = write_version(folder, table_of(BOTH_KINDS))
    assert matched_names(uri) == ["anna-en", "dora-words"]
    assert matched_names(uri, b"<news><item lang='de'/></news>") == ["ben-de", "emil-any"]
    shards = write_shards(folder, table_of(BOTH_KINDS), 3)
    assert sorted(name for shard in shards for name in matched_names(shard)) == matched_names(uri)


def test_a_refused_document_matches_no_query_of_either_kind(folder: str) -> None:
    matcher = open_version(write_version(folder, table_of(BOTH_KINDS))).matcher
    broken = matcher.match(NEWS[:-3])
    assert (broken.ids, broken.errors[0].code) == ((), "xml.unclosed")


def test_a_change_may_bring_the_first_query_of_a_kind(folder: str) -> None:
    words, paths = table_of(BOTH_KINDS[3:]), table_of(THREE)
    for base, added, of_base in ((paths, words, "anna-en"), (words, paths, "dora-words")):
        first = write_version(folder, base)
        changed = change_version(first, removed=[], added=added)
        assert matched_names(changed) == ["anna-en", "dora-words"]
        without = change_version(changed, removed=["anna-en", "dora-words"], added=table_of([]))
        assert matched_names(without) == []
        assert matched_names(first) == [of_base]


def written_in_format_1(folder: Path, rows: list[dict[str, object]]) -> str:
    """A version as format 1 stored it, without query kinds."""
    now = table_of(rows)
    older = now.drop_columns(["kind", "where", "fragments_max"])
    before = older.replace_schema_metadata({"penstock.format": "1"})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, before.schema) as writer:
        writer.write_table(before)
    folder.mkdir(exist_ok=True)
    uri = stored_as_version(folder, sink.getvalue().to_pybytes())
    written = Path(write_version(str(folder / "now"), now) + ".index")
    written.rename(uri + ".index")
    return uri


def test_a_version_of_format_1_is_read_and_changed(tmp_path: Path) -> None:
    older = written_in_format_1(tmp_path / "indexes", THREE)
    assert matched_names(older) == ["anna-en"]
    assert open_version(older).subscriptions.column("kind").to_pylist() == ["xpath"] * 3
    changed = change_version(older, removed=["anna-en"], added=table_of(BOTH_KINDS[3:]))
    assert matched_names(changed) == ["dora-words"]
    assert set(files_of(older)) < set(files_of(changed))


@pytest.mark.parametrize(
    ("format_", "missing"), [("2", ["where", "fragments_max"]), ("3", ["fragments_max"])]
)
def test_later_columns_of_an_older_version_are_null(
    tmp_path: Path, format_: str, missing: list[str]
) -> None:
    now = table_of(THREE)
    before = now.drop_columns(missing).replace_schema_metadata({"penstock.format": format_})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, before.schema) as writer:
        writer.write_table(before)
    (tmp_path / "indexes").mkdir()
    uri = stored_as_version(tmp_path / "indexes", sink.getvalue().to_pybytes())
    Path(write_version(str(tmp_path / "now"), now) + ".index").rename(uri + ".index")
    assert matched_names(uri) == ["anna-en"]
    assert [open_version(uri).subscriptions.column(name).null_count for name in missing] == [
        3 for _ in missing
    ]
    changed = change_version(uri, removed=["anna-en"], added=table_of(BOTH_KINDS[3:]))
    assert matched_names(changed) == ["dora-words"]


def test_header_tests_are_part_of_a_version(folder: str) -> None:
    rows = [
        subscription("anna-path", "//item", where={"lang": "en"}),
        subscription("anna-words", "storm OR gale", where={"lang": "en", "publisher": "x"}),
        subscription("anna-all", "//item"),
    ]
    first = write_version(folder, table_of(rows))
    added = table_of([subscription("ben-late", "/news", where={"lang": "fr"})])
    uri = change_version(first, removed=["anna-all"], added=added)
    header = {"lang": "en", "publisher": "x"}
    for version, expected in (
        (first, ["anna-all", "anna-path", "anna-words"]),
        (uri, ["anna-path", "anna-words"]),
    ):
        opened = open_version(version)
        found = opened.matcher.match(b"<news><item>gale</item></news>", header=header)
        names: list[Any] = opened.subscriptions.column("subscription").to_pylist()
        assert sorted(names[int(row)] for row in found) == expected
    french = open_version(uri).matcher.match(b"<news/>", header={"lang": "fr"})
    assert len(french) == 1


# Incremental versions.


def test_a_change_adds_and_removes_without_a_new_index(folder: str) -> None:
    base = write_version(folder, table_of(THREE))
    more = table_of([subscription("dora-any", "//item"), subscription("anna-en", "/news[item]")])
    changed = change_version(base, removed=["anna-en", "unknown"], added=more)
    again = change_version(changed, removed=["dora-any"], added=table_of([]))
    assert matched_names(base) == ["anna-en"]
    assert matched_names(changed) == ["anna-en", "dora-any"]
    assert matched_names(again) == ["anna-en"]
    assert matched_names(again, b"<news><item/></news>") == ["anna-en"], "with its new query"
    bases = {name for uri in (base, changed, again) for name in files_of(uri) if "index" in name}
    assert bases == {index_version_files.index_name(base.rpartition("/")[2], "xpath")}


def test_versions_with_a_common_base_have_their_own_matches(folder: str) -> None:
    base = write_version(folder, table_of(THREE))
    one = change_version(base, removed=[], added=table_of([subscription("one", "//title")]))
    two = change_version(one, removed=["one"], added=table_of([subscription("two", "//title")]))
    other = change_version(base, removed=[], added=table_of([subscription("other", "//title")]))
    expected = {
        base: ["anna-en"],
        one: ["anna-en", "one"],
        two: ["anna-en", "two"],
        other: ["anna-en", "other"],
    }
    for uri, names in expected.items():
        assert matched_names(uri) == names


def test_rows_keep_the_order_of_their_numbers(folder: str) -> None:
    base = write_version(folder, table_of(THREE))
    added = [subscription(f"more-{number}", "/x") for number in range(3)]
    version = open_version(change_version(base, removed=[], added=table_of(added)))
    numbers = pa.array([5, 0, 3, 2, 5, 1], pa.int64())
    assert version.rows(numbers) == version.subscriptions.take(numbers)
    assert version.subscriptions.column("subscription").num_chunks == 2


def test_many_changes_make_a_base_version_of_the_remaining_rows(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_versions, "CHANGED_ROWS_MIN", 2)
    base = write_version(folder, table_of(THREE))
    one = change_version(base, removed=["ben-de"], added=table_of([subscription("x", "/news")]))
    two = change_version(one, removed=["anna-en"], added=table_of([]))
    assert files_of(one)[-1] != files_of(two)[-1]
    assert two == write_version(folder, table_of([THREE[2], subscription("x", "/news")]))
    assert matched_names(two) == ["x"]


# Errors.


def test_a_missing_version_is_reported(folder: str) -> None:
    with pytest.raises(IndexFileError) as caught:
        open_version(f"{folder}/{'0' * 64}")
    assert caught.value.code == "index.missing"


def test_a_uri_that_names_no_version_is_refused(folder: str) -> None:
    for name in ("", "latest", "0" * 63):
        with pytest.raises(IndexFileError) as caught:
            open_version(f"{folder}/{name}")
        assert caught.value.code == "index.not-an-index"


@pytest.mark.parametrize("which", [".arrow", ".index", ".keywords"])
def test_a_damaged_file_is_not_opened(tmp_path: Path, which: str) -> None:
    path = Path(write_version(str(tmp_path), table_of(BOTH_KINDS)) + which)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(IndexFileError) as caught:
        open_version(str(path).removesuffix(which))
    assert caught.value.code == "index.damaged"


@pytest.mark.parametrize("which", [".index", ".keywords"])
def test_an_index_of_other_rows_counts_as_damaged(tmp_path: Path, which: str) -> None:
    one = Path(write_version(str(tmp_path), table_of(BOTH_KINDS)) + which)
    other = Path(write_version(str(tmp_path), table_of(BOTH_KINDS[2:4])) + which)
    one.write_bytes(other.read_bytes())
    with pytest.raises(IndexFileError) as caught:
        open_version(str(one).removesuffix(which))
    assert caught.value.code == "index.damaged"


def stored_as_version(folder: Path, content: bytes) -> str:
    """The URI of bytes that are stored under the name of a version."""
    path = folder / "temporary"
    path.write_bytes(content)
    digest = index_version_files._digest(path)
    path.rename(folder / f"{digest}.arrow")
    return f"{folder}/{digest}"


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        (None, "index.not-an-index"),
        (pa.schema([("a", pa.int64())]), "index.not-an-index"),
        (pa.schema([("a", pa.int64())], metadata={"penstock.format": "99"}), "index.too-new"),
    ],
)
def test_other_tables_are_refused(tmp_path: Path, schema: pa.Schema | None, code: str) -> None:
    sink = pa.BufferOutputStream()
    if schema is None:
        sink.write(b"not an Arrow file")
    else:
        pa.ipc.new_file(sink, schema).close()
    with pytest.raises(IndexFileError) as caught:
        open_version(stored_as_version(tmp_path, sink.getvalue().to_pybytes()))
    assert caught.value.code == code


def test_an_incremental_version_without_a_base_counts_as_damaged(tmp_path: Path) -> None:
    base = write_version(str(tmp_path), table_of(THREE))
    change = change_version(base, removed=["ben-de"], added=table_of([]))
    not_a_base = index_version_files.StoredVersion.read(change)
    wrong = index_version_files.write_incremental(not_a_base, table_of([]), [0])
    with pytest.raises(IndexFileError) as caught:
        open_version(f"{tmp_path}/{wrong}")
    assert caught.value.code == "index.damaged"


# The cache of remote files.


def open_in_a_process(remote: str, uri: str) -> tuple[int, int]:
    """Open a version in another process."""
    system = fs.SubTreeFileSystem(remote, fs.LocalFileSystem())
    file_store.resolve_uri = lambda uri: (system, uri.partition("://")[2])
    return os.getpid(), len(open_version(uri).matcher.match(NEWS))


def test_processes_share_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = fs.SubTreeFileSystem(str(tmp_path / "remote"), fs.LocalFileSystem())
    monkeypatch.setattr(file_store, "resolve_uri", lambda uri: (remote, uri.partition("://")[2]))
    uri = write_version("store://indexes", table_of(THREE))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(4, mp_context=context) as pool:
        done = list(pool.map(open_in_a_process, [str(tmp_path / "remote")] * 8, [uri] * 8))
    assert {matches for _, matches in done} == {1}
    assert sorted(path.name for path in file_store.cache_directory().iterdir()) == files_of(uri)


def test_a_copy_damaged_in_transit_is_not_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = fs.SubTreeFileSystem(str(tmp_path / "remote"), fs.LocalFileSystem())
    monkeypatch.setattr(file_store, "resolve_uri", lambda uri: (remote, uri.partition("://")[2]))
    uri = write_version("store://indexes", table_of(THREE))
    (table,) = (tmp_path / "remote").glob("indexes/*.arrow")
    content = table.read_bytes()
    table.write_bytes(content[:-1])
    with pytest.raises(IndexFileError) as caught:
        open_version(uri)
    assert caught.value.code == "index.damaged"
    assert list(file_store.cache_directory().iterdir()) == []
    table.write_bytes(content)
    assert matched_names(uri) == ["anna-en"]


def test_the_cache_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = fs.SubTreeFileSystem(str(tmp_path / "remote"), fs.LocalFileSystem())
    monkeypatch.setattr(file_store, "resolve_uri", lambda uri: (remote, uri.partition("://")[2]))
    monkeypatch.setattr(file_store, "CACHED_FILES_MAX", 4)
    for number in range(3):
        uri = write_version("store://x", table_of([subscription("a", f"/a{number}")]))
        open_version(uri)
        # File times may be coarser than the test is fast.
        for path in file_store.cache_directory().iterdir():
            os.utime(path, (number, number))
    assert len(list(file_store.cache_directory().iterdir())) == 4
    assert set(files_of(uri)) <= {path.name for path in file_store.cache_directory().iterdir()}


def test_a_file_uri_is_a_local_folder(tmp_path: Path) -> None:
    uri = write_version(f"file://{tmp_path}/with%20space", table_of(THREE))
    assert matched_names(uri) == ["anna-en"]
    assert (tmp_path / "with space").is_dir()
    assert list(file_store.cache_directory().iterdir()) == []


def test_a_cached_copy_that_cannot_be_read_is_copied_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = fs.SubTreeFileSystem(str(tmp_path / "remote"), fs.LocalFileSystem())
    monkeypatch.setattr(file_store, "resolve_uri", lambda uri: (remote, uri.partition("://")[2]))
    uri = write_version("store://indexes", table_of(THREE))
    open_version(uri)
    (copy,) = file_store.cache_directory().glob("*.index")
    copy.write_bytes(b"an index of another format")
    assert matched_names(uri) == ["anna-en"]
