"""Index versions: immutable files, found by digest, opened here or through the cache."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs

from penstock.documents import Limits
from penstock.errors import IndexFileError, QueryError
from penstock.workspace import file_store, index_version_files, index_versions, limits
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
def nothing_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each test opens anew, and caches in a folder of its own."""
    monkeypatch.setattr(index_versions, "_OPEN", index_versions._OpenVersions())
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))


@pytest.fixture(params=["local", "remote"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder of this machine, and one behind a file system that is not."""
    if request.param == "local":
        return str(tmp_path / "indexes")
    away = fs.SubTreeFileSystem(str(tmp_path / "away"), fs.LocalFileSystem())
    monkeypatch.setattr(file_store, "locate", lambda uri: (away, uri.partition("://")[2]))
    return "store://indexes"


def matching(uri: str, document: bytes = NEWS) -> list[str]:
    """The names of the subscriptions of a version that a document meets."""
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
    assert matching(uri, b"<news xmlns='urn:news'/>") == ["cleo-p"]


def test_a_version_without_subscriptions_matches_nothing(folder: str) -> None:
    uri = write_version(folder, table_of([]))
    assert matching(uri) == []
    assert matching(change_version(uri, removed=[], added=table_of(THREE))) == ["anna-en"]


def test_the_same_subscriptions_are_the_same_version_and_not_written_twice(tmp_path: Path) -> None:
    first = write_version(str(tmp_path), table_of(THREE))
    before = {path.name: path.stat().st_ino for path in tmp_path.iterdir()}
    halves = pa.concat_tables([table_of(THREE[:1]), table_of(THREE[1:])])
    assert write_version(str(tmp_path), halves) == first
    assert {path.name: path.stat().st_ino for path in tmp_path.iterdir()} == before
    assert set(before) == set(files_of(first))


def test_a_process_opens_a_version_once_and_keeps_a_few(folder: str) -> None:
    uris = [
        write_version(folder, table_of([subscription("a", f"/a{number}")]))
        for number in range(limits.OPEN_VERSIONS_MAX + 1)
    ]
    first = open_version(uris[0])
    assert open_version(uris[0]) is first
    assert open_version(uris[0], limits=Limits(depth=3)) is not first
    for uri in uris[1:]:
        open_version(uri)
    assert open_version(uris[0]) is not first


def test_limits_are_those_asked_for(folder: str) -> None:
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
    shares = [matching(uri) for uri in uris]
    assert sorted(name for share in shares for name in share) == sorted(
        row["subscription"] for row in rows
    )
    assert all(shares)
    again = write_shards(folder, table_of([*rows, subscription("new", "/news")]), 3)
    changed = [number for number in range(3) if again[number] != uris[number]]
    assert changed == [bucket_of("new", 3)]


# Both kinds.


def test_a_version_has_an_index_of_each_kind_that_it_has(tmp_path: Path) -> None:
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
    assert matching(uri) == ["anna-en", "dora-words"]
    assert matching(uri, b"<news><item lang='de'/></news>") == ["ben-de", "emil-any"]
    shards = write_shards(folder, table_of(BOTH_KINDS), 3)
    assert sorted(name for shard in shards for name in matching(shard)) == matching(uri)


def test_a_document_that_is_refused_meets_no_query_of_either_kind(folder: str) -> None:
    matcher = open_version(write_version(folder, table_of(BOTH_KINDS))).matcher
    broken = matcher.match(NEWS[:-3])
    assert (broken.ids, broken.errors[0].code) == ((), "xml.unclosed")


def test_a_change_may_bring_the_first_query_of_a_kind(folder: str) -> None:
    words, paths = table_of(BOTH_KINDS[3:]), table_of(THREE)
    for base, added, of_base in ((paths, words, "anna-en"), (words, paths, "dora-words")):
        first = write_version(folder, base)
        changed = change_version(first, removed=[], added=added)
        assert matching(changed) == ["anna-en", "dora-words"]
        without = change_version(changed, removed=["anna-en", "dora-words"], added=table_of([]))
        assert matching(without) == []
        assert matching(first) == [of_base]


def written_in_format_1(folder: Path, rows: list[dict[str, object]]) -> str:
    """A version as it was written when there was XPath alone."""
    now = table_of(rows)
    kind = now.schema.get_field_index("kind")
    before = now.remove_column(kind).replace_schema_metadata({"penstock.format": "1"})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, before.schema) as writer:
        writer.write_table(before)
    folder.mkdir(exist_ok=True)
    uri = stored_as_version(folder, sink.getvalue().to_pybytes())
    written = Path(write_version(str(folder / "now"), now) + ".index")
    written.rename(uri + ".index")
    return uri


def test_a_version_that_knew_xpath_alone_is_read_and_changed(tmp_path: Path) -> None:
    older = written_in_format_1(tmp_path / "indexes", THREE)
    assert matching(older) == ["anna-en"]
    assert open_version(older).subscriptions.column("kind").to_pylist() == ["xpath"] * 3
    changed = change_version(older, removed=["anna-en"], added=table_of(BOTH_KINDS[3:]))
    assert matching(changed) == ["dora-words"]
    assert set(files_of(older)) < set(files_of(changed))


# Changes.


def test_a_change_adds_and_removes_without_a_new_index(folder: str) -> None:
    base = write_version(folder, table_of(THREE))
    more = table_of([subscription("dora-any", "//item"), subscription("anna-en", "/news[item]")])
    changed = change_version(base, removed=["anna-en", "unknown"], added=more)
    again = change_version(changed, removed=["dora-any"], added=table_of([]))
    assert matching(base) == ["anna-en"]
    assert matching(changed) == ["anna-en", "dora-any"]
    assert matching(again) == ["anna-en"]
    assert matching(again, b"<news><item/></news>") == ["anna-en"], "with its new query"
    bases = {name for uri in (base, changed, again) for name in files_of(uri) if "index" in name}
    assert bases == {index_version_files.index_name(base.rpartition("/")[2], "xpath")}


def test_opening_in_any_order_gives_the_same_matches(folder: str) -> None:
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
    for uri in (base, one, two, other, one, base, two):
        index_versions._OPEN._open.clear()  # the index that follows changes stays
        assert matching(uri) == expected[uri]


def test_rows_come_in_the_order_asked_for(folder: str) -> None:
    base = write_version(folder, table_of(THREE))
    added = [subscription(f"more-{number}", "/x") for number in range(3)]
    version = open_version(change_version(base, removed=[], added=table_of(added)))
    numbers = pa.array([5, 0, 3, 2, 5, 1], pa.int64())
    assert version.rows(numbers) == version.subscriptions.take(numbers)
    assert version.subscriptions.column("subscription").num_chunks == 2


def test_much_change_makes_a_whole_version_of_what_is_left(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_versions, "CHANGED_ROWS_MIN", 2)
    base = write_version(folder, table_of(THREE))
    one = change_version(base, removed=["ben-de"], added=table_of([subscription("x", "/news")]))
    two = change_version(one, removed=["anna-en"], added=table_of([]))
    assert files_of(one)[-1] != files_of(two)[-1]
    assert two == write_version(folder, table_of([THREE[2], subscription("x", "/news")]))
    assert matching(two) == ["x"]


# What goes wrong.


def test_a_missing_version_says_so(folder: str) -> None:
    with pytest.raises(IndexFileError) as told:
        open_version(f"{folder}/{'0' * 64}")
    assert told.value.code == "index.missing"


def test_what_is_no_version_says_so(folder: str) -> None:
    for name in ("", "latest", "0" * 63):
        with pytest.raises(IndexFileError) as told:
            open_version(f"{folder}/{name}")
        assert told.value.code == "index.not-an-index"


@pytest.mark.parametrize("which", [".arrow", ".index", ".keywords"])
def test_a_damaged_file_is_not_served(tmp_path: Path, which: str) -> None:
    path = Path(write_version(str(tmp_path), table_of(BOTH_KINDS)) + which)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(IndexFileError) as told:
        open_version(str(path).removesuffix(which))
    assert told.value.code == "index.damaged"


@pytest.mark.parametrize("which", [".index", ".keywords"])
def test_an_index_of_other_rows_is_damage(tmp_path: Path, which: str) -> None:
    one = Path(write_version(str(tmp_path), table_of(BOTH_KINDS)) + which)
    other = Path(write_version(str(tmp_path), table_of(BOTH_KINDS[2:4])) + which)
    one.write_bytes(other.read_bytes())
    with pytest.raises(IndexFileError) as told:
        open_version(str(one).removesuffix(which))
    assert told.value.code == "index.damaged"


def stored_as_version(folder: Path, content: bytes) -> str:
    """The URI of bytes that someone named like a version."""
    path = folder / "made"
    path.write_bytes(content)
    digest = index_version_files._digest_of(path)
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
def test_tables_of_another_kind_are_refused(
    tmp_path: Path, schema: pa.Schema | None, code: str
) -> None:
    sink = pa.BufferOutputStream()
    if schema is None:
        sink.write(b"nothing of Arrow's")
    else:
        pa.ipc.new_file(sink, schema).close()
    with pytest.raises(IndexFileError) as told:
        open_version(stored_as_version(tmp_path, sink.getvalue().to_pybytes()))
    assert told.value.code == code


def test_a_change_of_a_change_is_damage(tmp_path: Path) -> None:
    base = write_version(str(tmp_path), table_of(THREE))
    change = change_version(base, removed=["ben-de"], added=table_of([]))
    place = file_store.Folder.at(str(tmp_path))
    wrong = index_version_files.write_change(place, change.rpartition("/")[2], table_of([]), [0])
    with pytest.raises(IndexFileError) as told:
        open_version(f"{tmp_path}/{wrong}")
    assert told.value.code == "index.damaged"


# The cache of what is far away.


def opened_in_a_process(away: str, uri: str) -> tuple[int, int]:
    """Opens a version in a process that has nothing open."""
    system = fs.SubTreeFileSystem(away, fs.LocalFileSystem())
    file_store.locate = lambda uri: (system, uri.partition("://")[2])
    return os.getpid(), len(open_version(uri).matcher.match(NEWS))


def test_processes_share_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    away = fs.SubTreeFileSystem(str(tmp_path / "away"), fs.LocalFileSystem())
    monkeypatch.setattr(file_store, "locate", lambda uri: (away, uri.partition("://")[2]))
    uri = write_version("store://indexes", table_of(THREE))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(4, mp_context=context) as pool:
        done = list(pool.map(opened_in_a_process, [str(tmp_path / "away")] * 8, [uri] * 8))
    assert {matches for _, matches in done} == {1}
    assert sorted(path.name for path in file_store.cache_folder().iterdir()) == files_of(uri)


def test_a_copy_damaged_on_its_way_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = fs.SubTreeFileSystem(str(tmp_path / "away"), fs.LocalFileSystem())
    monkeypatch.setattr(file_store, "locate", lambda uri: (away, uri.partition("://")[2]))
    uri = write_version("store://indexes", table_of(THREE))
    (table,) = (tmp_path / "away").glob("indexes/*.arrow")
    whole = table.read_bytes()
    table.write_bytes(whole[:-1])
    with pytest.raises(IndexFileError) as told:
        open_version(uri)
    assert told.value.code == "index.damaged"
    assert list(file_store.cache_folder().iterdir()) == []
    table.write_bytes(whole)
    assert matching(uri) == ["anna-en"]


def test_the_cache_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    away = fs.SubTreeFileSystem(str(tmp_path / "away"), fs.LocalFileSystem())
    monkeypatch.setattr(file_store, "locate", lambda uri: (away, uri.partition("://")[2]))
    monkeypatch.setattr(file_store, "CACHED_FILES_MAX", 4)
    for number in range(3):
        uri = write_version("store://x", table_of([subscription("a", f"/a{number}")]))
        open_version(uri)
        for path in file_store.cache_folder().iterdir():  # the clock may be coarser than the test
            os.utime(path, (number, number))
    assert len(list(file_store.cache_folder().iterdir())) == 4
    assert set(files_of(uri)) <= {path.name for path in file_store.cache_folder().iterdir()}


def test_a_file_uri_is_a_folder_of_this_machine(tmp_path: Path) -> None:
    uri = write_version(f"file://{tmp_path}/with%20space", table_of(THREE))
    assert matching(uri) == ["anna-en"]
    assert (tmp_path / "with space").is_dir()
    assert list(file_store.cache_folder().iterdir()) == []


def test_a_copy_of_a_file_that_was_replaced_is_copied_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = fs.SubTreeFileSystem(str(tmp_path / "away"), fs.LocalFileSystem())
    monkeypatch.setattr(file_store, "locate", lambda uri: (away, uri.partition("://")[2]))
    uri = write_version("store://indexes", table_of(THREE))
    open_version(uri)
    (copy,) = file_store.cache_folder().glob("*.index")
    copy.write_bytes(b"an index of another format")
    monkeypatch.setattr(index_versions, "_OPEN", index_versions._OpenVersions())
    assert matching(uri) == ["anna-en"]
