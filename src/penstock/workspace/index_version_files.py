"""The files of an index version: a table of subscriptions, and one index for each query kind in it.

A *base* version is ``DIGEST.arrow``, a table of
:data:`~penstock.workspace.table_schemas.SUBSCRIPTIONS` in the Arrow file format, plus
``DIGEST.index`` if it has XPath queries and ``DIGEST.keywords`` if it has keyword queries. The
indexes identify each row by its decimal row number. DIGEST is the SHA-256 of the table file.

Writing the indexes of a million subscriptions takes seconds, so a version may also be
*incremental*: a single ``DIGEST.arrow`` holding the rows appended to those of a base version, with
metadata that names the base and the removed rows. An incremental version always refers to a base
version, never to another incremental one.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import IndexFileError, error
from penstock.language.keywords.tokenizer_options import (
    TOKENIZER_BEFORE_OPTIONS,
    TokenizerOptions,
)
from penstock.matching import KeywordIndex, query_indexes
from penstock.matching.query_indexes import (
    QUERY_KINDS,
    AnyIndex,
    NumberedQuery,
    QueryIndexes,
    QueryKind,
)
from penstock.workspace.atomic_files import atomic_write
from penstock.workspace.file_store import FileStore
from penstock.workspace.table_schemas import SUBSCRIPTIONS

FORMAT = 5
"""Format of the table file; index files have their own. In format 1, without the column ``kind``,
every query was XPath; before format 3, without the column ``where``, none tested header fields;
before format 4, without the column ``fragments_max``, all had the same limit; before format 5,
without tokenizer options in the metadata, all had the same ones."""

BUILD_PREFIX = "making-"
"""Prefix of the directories in which versions are built; one that stays was left by a kill."""

_FORMAT_KEY = b"penstock.format"
_BASE_KEY = b"penstock.base"
_REMOVED_KEY = b"penstock.removed"
_TOKENIZER_KEY = b"penstock.tokenizer"

_DIGEST = re.compile("[0-9a-f]{64}")
_NUMBER = re.compile(rb"[0-9]{1,18}")

_SUFFIXES: Final[Mapping[QueryKind, str]] = {"xpath": ".index", "keywords": ".keywords"}

_KIND_COLUMN: Final = SUBSCRIPTIONS.get_field_index("kind")
_WHERE_COLUMN: Final = SUBSCRIPTIONS.get_field_index("where")
_FORMAT_3_SCHEMA: Final = SUBSCRIPTIONS.remove(SUBSCRIPTIONS.get_field_index("fragments_max"))
_FORMAT_2_SCHEMA: Final = _FORMAT_3_SCHEMA.remove(_WHERE_COLUMN)
_FORMAT_1_SCHEMA: Final = _FORMAT_2_SCHEMA.remove(_KIND_COLUMN)


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A version's table file, memory-mapped."""

    store: FileStore
    digest: str
    table: pa.Table
    """All rows of a base version; the appended rows of an incremental one."""
    base: str
    """The digest of the base version; its own if it is one."""
    removed: frozenset[int]
    """Numbers of removed rows, counted over the base's rows followed by the appended ones."""
    tokenizer: TokenizerOptions
    """How keyword queries and documents are tokenized."""

    @classmethod
    def read(cls, uri: str) -> StoredVersion:
        """Read the table file of the version at a URI, and verify its checksum.

        Raises
        ------
        IndexFileError
            ``index.missing``, ``index.damaged``, ``index.not-an-index`` or ``index.too-new``.
        """
        folder, digest = parse_uri(uri)
        return _read(FileStore.at(folder), digest)

    @property
    def is_base(self) -> bool:
        """Whether the version has its own indexes."""
        return self.base == self.digest

    @property
    def appended(self) -> pa.Table:
        """The rows that follow those of the base version."""
        return SUBSCRIPTIONS.empty_table() if self.is_base else self.table

    def read_base(self) -> StoredVersion:
        """The base version; itself if it is one.

        Raises
        ------
        IndexFileError
            ``index.missing``, ``index.damaged``, ``index.not-an-index`` or ``index.too-new``.
        """
        if self.is_base:
            return self
        base = _read(self.store, self.base)
        if not base.is_base:
            raise error("index.damaged", f"{self.store.uri}/{self.digest} has no base version")
        return base

    def load_indexes(self) -> QueryIndexes:
        """The indexes of this version, which must be a base version, memory-mapped.

        Raises
        ------
        IndexFileError
            ``index.missing``, ``index.damaged``, ``index.not-an-index``, ``index.too-new`` or
            ``index.too-old``.
        """
        assert self.is_base, "an incremental version has no indexes"
        return _load_indexes(self.store, self.digest, self.table, self.tokenizer)

    def file_names(self) -> list[str]:
        """The names of all files that the version needs."""
        base = self.read_base()
        return sorted(
            {
                table_name(self.digest),
                table_name(base.digest),
                *(index_name(base.digest, kind) for kind in count_kinds(base.table)),
            }
        )


def parse_uri(uri: str) -> tuple[str, str]:
    """The folder and the digest of a version's URI.

    Raises
    ------
    IndexFileError
        ``index.not-an-index``
    """
    folder, _, digest = uri.rpartition("/")
    if not folder or not _DIGEST.fullmatch(digest):
        raise error("index.not-an-index", f"{uri} is not the URI of an index version")
    return folder, digest


def table_name(digest: str) -> str:
    """The name of a version's table file."""
    return f"{digest}.arrow"


def index_name(digest: str, kind: QueryKind) -> str:
    """The name of a base version's index file for one query kind."""
    return f"{digest}{_SUFFIXES[kind]}"


def count_kinds(table: pa.Table) -> dict[QueryKind, int]:
    """The number of rows of each query kind that a table has."""
    compute: Any = pc
    counts = {
        row["values"]: row["counts"]
        for row in compute.value_counts(table.column("kind")).to_pylist()
    }
    return {kind: counts[kind] for kind in QUERY_KINDS if kind in counts}


def write_base(store: FileStore, subscriptions: pa.Table, tokenizer: TokenizerOptions) -> str:
    """Write a base version unless it exists; returns its digest."""
    with _build_directory(store) as directory:
        path = Path(directory) / "table"
        table = _canonical(subscriptions)
        digest = _write_table(path, table, tokenizer, {})
        if _is_readable(store, digest, table, tokenizer):
            store.touch(table_name(digest))
            for kind in count_kinds(table):
                store.touch(index_name(digest, kind))
            return digest
        indexes = QueryIndexes(tokenizer)
        add_rows(indexes, table, range(table.num_rows), first=0)
        for kind in count_kinds(table):
            indexes.save(kind, Path(directory) / kind)
            store.put(index_name(digest, kind), Path(directory) / kind)
        # The table goes last: if it exists, the version is complete.
        store.put(table_name(digest), path)
    return digest


def write_incremental(base: StoredVersion, appended: pa.Table, removed: Collection[int]) -> str:
    """Write an incremental version of a base version; returns its digest."""
    numbers = ",".join(str(row) for row in sorted(removed))
    metadata = {_BASE_KEY: base.digest.encode(), _REMOVED_KEY: numbers.encode()}
    with _build_directory(base.store) as directory:
        path = Path(directory) / "table"
        digest = _write_table(path, _canonical(appended), base.tokenizer, metadata)
        base.store.put(table_name(digest), path)
    return digest


def add_rows(indexes: QueryIndexes, table: pa.Table, rows: Collection[int], first: int) -> None:
    """Add rows of a table to indexes, row ``n`` under the number ``first + n``.

    Raises
    ------
    QueryError
        A query is refused.
    """
    for reason in indexes.add(_numbered_queries(table, rows, first)).values():
        raise reason


def _read(store: FileStore, digest: str) -> StoredVersion:
    def verify(copy: Path) -> None:
        if _digest(copy) != digest:
            raise error(
                "index.damaged", f"{store.uri}/{table_name(digest)} does not match its digest"
            )

    path = store.local_path(table_name(digest), verify)
    verify(path)
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        # The file's name is its digest, but whoever wrote the file may have chosen both.
        table.validate(full=True)
    except (pa.ArrowException, OSError) as fault:
        raise error("index.not-an-index", f"{path} is not an Arrow file") from fault
    metadata = table.schema.metadata or {}
    stored_format = _number(metadata.get(_FORMAT_KEY, b"0"))
    if stored_format is None:
        raise error("index.not-an-index", f"{path} is not a table of subscriptions")
    if stored_format > FORMAT:
        raise error("index.too-new", f"{path} has format {stored_format}, newer than {FORMAT}")
    table = table.replace_schema_metadata(None)
    if stored_format == 1 and table.schema.equals(_FORMAT_1_SCHEMA):
        kind = pa.repeat(pa.scalar("xpath"), table.num_rows)
        table = table.add_column(_KIND_COLUMN, SUBSCRIPTIONS.field(_KIND_COLUMN), kind)
    if stored_format in (1, 2) and table.schema.equals(_FORMAT_2_SCHEMA):
        table = _with_later_columns(table)
    if stored_format == 3 and table.schema.equals(_FORMAT_3_SCHEMA):
        table = _with_later_columns(table)
    if not table.schema.equals(SUBSCRIPTIONS):
        raise error("index.not-an-index", f"{path} is not a table of subscriptions")
    base = metadata.get(_BASE_KEY, digest.encode()).decode(errors="replace")
    removed = [_number(part) for part in metadata.get(_REMOVED_KEY, b"").split(b",") if part]
    has_nulls = any(
        table.column(column.name).null_count for column in SUBSCRIPTIONS if not column.nullable
    )
    tokenizer = _tokenizer(metadata.get(_TOKENIZER_KEY), stored_format)
    if has_nulls or None in removed or tokenizer is None or not _DIGEST.fullmatch(base):
        raise error("index.damaged", f"the content of {path} is invalid")
    numbers = frozenset(number for number in removed if number is not None)
    return StoredVersion(store, digest, table, base, numbers, tokenizer)


def _number(text: bytes) -> int | None:
    """A number of the metadata; ``None`` if it is none."""
    return int(text) if _NUMBER.fullmatch(text) else None


def _tokenizer(text: bytes | None, stored_format: int) -> TokenizerOptions | None:
    """The tokenizer options of the metadata; ``None`` if they are invalid."""
    if stored_format < 5:
        return TOKENIZER_BEFORE_OPTIONS
    try:
        return TokenizerOptions.of_names(json.loads(text or b""))
    except (ValueError, RecursionError):
        return None


def _load_indexes(
    store: FileStore, digest: str, table: pa.Table, tokenizer: TokenizerOptions
) -> QueryIndexes:
    loaded = {
        kind: _load_index(store, digest, kind, rows) for kind, rows in count_kinds(table).items()
    }
    keywords = loaded.get("keywords")
    if isinstance(keywords, KeywordIndex) and keywords.tokenizer != tokenizer:
        name = index_name(digest, "keywords")
        raise error("index.damaged", f"{store.uri}/{name} has other options than its table")
    return QueryIndexes(tokenizer, loaded)


def _load_index(store: FileStore, digest: str, kind: QueryKind, rows: int) -> AnyIndex:
    def verify(copy: Path) -> None:
        query_indexes.load_index(kind, copy)

    name = index_name(digest, kind)
    path = store.local_path(name, verify)
    try:
        index = query_indexes.load_index(kind, path)
    except IndexFileError:
        # The cached copy may predate a replacement of the file.
        store.evict(name)
        path = store.local_path(name, verify)
        index = query_indexes.load_index(kind, path)
    if len(index) != rows:
        raise error(
            "index.damaged", f"{path} has {len(index)} subscriptions, but its table has {rows}"
        )
    return index


def _numbered_queries(
    table: pa.Table, rows: Collection[int], first: int
) -> Iterator[NumberedQuery]:
    kinds, queries, namespaces, defaults, where = (
        cast("list[Any]", table.column(name).to_pylist())
        for name in ("kind", "query", "namespaces", "default_namespace", "where")
    )
    for row in rows:
        bindings, tests = tuple(namespaces[row]), tuple(where[row] or ())
        yield first + row, kinds[row], queries[row], bindings, defaults[row], tests


def _with_later_columns(table: pa.Table) -> pa.Table:
    """The table with the nullable columns that tables of earlier formats do not have."""
    for name in ("where", "fragments_max"):
        if name not in table.column_names:
            column = SUBSCRIPTIONS.field(name)
            table = table.append_column(column, pa.nulls(table.num_rows, column.type))
    return table


def _is_readable(
    store: FileStore, digest: str, table: pa.Table, tokenizer: TokenizerOptions
) -> bool:
    """Whether a base version exists and can be opened."""
    try:
        _read(store, digest)
        _load_indexes(store, digest, table, tokenizer)
    except IndexFileError:
        return False
    return True


def _build_directory(store: FileStore) -> tempfile.TemporaryDirectory[str]:
    """A temporary directory, in the store's file system if it is local."""
    if store.local is not None:
        store.local.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=BUILD_PREFIX, dir=store.local)


def _canonical(subscriptions: pa.Table) -> pa.Table:
    """The rows in one chunk and exactly the schema, so that equal rows give equal bytes."""
    complete = _with_later_columns(subscriptions)
    return complete.select(SUBSCRIPTIONS.names).cast(SUBSCRIPTIONS).combine_chunks()


def _write_table(
    path: Path, table: pa.Table, tokenizer: TokenizerOptions, metadata: Mapping[bytes, bytes]
) -> str:
    common = {
        _FORMAT_KEY: str(FORMAT).encode(),
        _TOKENIZER_KEY: json.dumps(tokenizer.by_name()).encode(),
    }
    schema = SUBSCRIPTIONS.with_metadata({**common, **metadata})
    with atomic_write(path) as file, pa.ipc.new_file(file, schema) as writer:
        writer.write_table(table.cast(schema))
    return _digest(path)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
