"""The files of an index version: a table of subscriptions, and one index for each query kind in it.

A *base* version is ``DIGEST.arrow``, a table of
:data:`~penstock.workspace.table_schemas.SUBSCRIPTIONS` in the Arrow file format, plus
``DIGEST.index`` if it has XPath queries and ``DIGEST.keywords`` if it has keyword queries. The
indexes identify each row by its decimal row number. DIGEST is the SHA-256 of the table file.

Writing the indexes of a million subscriptions takes seconds, so a version may also be a *delta* of
a base version: a single ``DIGEST.arrow`` holding the rows appended to the base's rows, with
metadata that names the base and the removed rows. A delta always refers to a base version, never
to another delta.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import IndexFileError, error
from penstock.workspace import query_indexes
from penstock.workspace.atomic_files import writing
from penstock.workspace.file_store import Folder
from penstock.workspace.query_indexes import KINDS, AnyIndex, Indexes, Kind, Wanted
from penstock.workspace.table_schemas import SUBSCRIPTIONS

FORMAT = 2
"""Of the table's file; an index has a version of its own. Format 1 did not tell kinds: there was
XPath alone."""

WORKSHOP = "making-"
"""How the names of folders begin in which versions are made; one that stays was left by a kill."""

_FORMAT_KEY = b"penstock.format"
_BASE_KEY = b"penstock.base"
_REMOVED_KEY = b"penstock.removed"

_SUFFIXES: Final[Mapping[Kind, str]] = {"xpath": ".index", "keywords": ".keywords"}

_KIND_PLACE: Final = SUBSCRIPTIONS.get_field_index("kind")
_OF_FORMAT_1: Final = SUBSCRIPTIONS.remove(_KIND_PLACE)


@dataclass(frozen=True, slots=True)
class Rows:
    """What stands in the table's file of a version."""

    table: pa.Table
    base: str | None
    """The digest of the whole version that this one changes; ``None`` if it is whole itself."""
    removed: frozenset[int]
    """The numbers of the rows, of both together, that are no subscription any more."""


def table_name(digest: str) -> str:
    """The name of a version's table."""
    return f"{digest}.arrow"


def index_name(digest: str, kind: Kind) -> str:
    """The name of a whole version's index of a kind."""
    return f"{digest}{_SUFFIXES[kind]}"


def kinds_of(table: pa.Table) -> dict[Kind, int]:
    """The kinds that a table has, with how many rows are of each."""
    compute: Any = pc
    counts = {
        row["values"]: row["counts"]
        for row in compute.value_counts(table.column("kind")).to_pylist()
    }
    return {kind: counts[kind] for kind in KINDS if kind in counts}


def write_whole(folder: Folder, subscriptions: pa.Table) -> str:
    """Write a whole version, and give its digest; one that is there already is left alone."""
    with _workshop(folder) as temporary:
        path = Path(temporary) / "table"
        table = _as_stored(subscriptions)
        digest = _write_table(path, table, {})
        if _is_sound(folder, digest, table):
            folder.touch(table_name(digest))
            for kind in kinds_of(table):
                folder.touch(index_name(digest, kind))
            return digest
        made = Indexes()
        add_rows(made, table, range(table.num_rows), first=0)
        for kind in kinds_of(table):
            made.save(kind, Path(temporary) / kind)
            folder.put(index_name(digest, kind), Path(temporary) / kind)
        # The table last: where it is, all of the version is.
        folder.put(table_name(digest), path)
    return digest


def write_change(folder: Folder, base: str, added: pa.Table, removed: Collection[int]) -> str:
    """Write a version that differs from a whole one by some rows, and give its digest."""
    numbers = ",".join(str(row) for row in sorted(removed))
    metadata = {_BASE_KEY: base.encode(), _REMOVED_KEY: numbers.encode()}
    with _workshop(folder) as temporary:
        path = Path(temporary) / "table"
        digest = _write_table(path, _as_stored(added), metadata)
        folder.put(table_name(digest), path)
    return digest


def read_rows(folder: Folder, digest: str) -> Rows:
    """The table of a version, memory-mapped, after a look at its checksum.

    Raises
    ------
    IndexFileError
        ``index.missing``, ``index.damaged``, ``index.not-an-index`` or ``index.too-new``.
    """

    def verify(copy: Path) -> None:
        if _digest_of(copy) != digest:
            raise error("index.damaged", f"{folder.uri}/{table_name(digest)} is not what it was")

    path = folder.path_of(table_name(digest), verify)
    verify(path)
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except pa.ArrowInvalid as fault:
        raise error("index.not-an-index", f"{path} is no table of Arrow's") from fault
    metadata = table.schema.metadata or {}
    written_as = int(metadata.get(_FORMAT_KEY, b"0"))
    if written_as > FORMAT:
        raise error("index.too-new", f"{path} has another format than this Penstock reads")
    table = table.replace_schema_metadata(None)
    if written_as == 1 and table.schema.equals(_OF_FORMAT_1):
        kind = pa.repeat(pa.scalar("xpath"), table.num_rows)
        table = table.add_column(_KIND_PLACE, SUBSCRIPTIONS.field(_KIND_PLACE), kind)
    if not table.schema.equals(SUBSCRIPTIONS):
        raise error("index.not-an-index", f"{path} is no table of subscriptions")
    base = metadata.get(_BASE_KEY)
    removed = metadata.get(_REMOVED_KEY, b"").decode()
    return Rows(
        table,
        None if base is None else base.decode(),
        frozenset(int(number) for number in removed.split(",") if number),
    )


def load_indexes(folder: Folder, digest: str, table: pa.Table) -> Indexes:
    """The indexes of a whole version, memory-mapped; ``table`` is the version's.

    Raises
    ------
    IndexFileError
        ``index.missing``, ``index.damaged``, ``index.not-an-index``, ``index.too-new`` or
        ``index.too-old``.
    """
    return Indexes(
        {kind: _load_index(folder, digest, kind, rows) for kind, rows in kinds_of(table).items()}
    )


def _load_index(folder: Folder, digest: str, kind: Kind, rows: int) -> AnyIndex:
    def verify(copy: Path) -> None:
        query_indexes.load_index(kind, copy)

    name = index_name(digest, kind)
    path = folder.path_of(name, verify)
    try:
        index = query_indexes.load_index(kind, path)
    except IndexFileError:
        # A copy may be of a file that has been replaced since.
        folder.forget(name)
        path = folder.path_of(name, verify)
        index = query_indexes.load_index(kind, path)
    if len(index) != rows:
        raise error("index.damaged", f"{path} has {len(index)} subscriptions, its table {rows}")
    return index


def add_rows(to: Indexes, table: pa.Table, rows: Collection[int], first: int) -> None:
    """Add rows of a table to indexes, row ``n`` under the number ``first + n``.

    Raises
    ------
    QueryError
        A query is refused: whoever let it into the table did not look at it.
    """
    for reason in to.add(_wanted(table, rows, first)).values():
        raise reason


def _wanted(table: pa.Table, rows: Collection[int], first: int) -> Iterator[Wanted]:
    kinds, queries, namespaces, defaults = (
        cast("list[Any]", table.column(name).to_pylist())
        for name in ("kind", "query", "namespaces", "default_namespace")
    )
    for row in rows:
        yield first + row, kinds[row], queries[row], tuple(namespaces[row]), defaults[row]


def _is_sound(folder: Folder, digest: str, table: pa.Table) -> bool:
    """Whether a whole version is there already, and can be opened."""
    try:
        read_rows(folder, digest)
        load_indexes(folder, digest, table)
    except IndexFileError:
        return False
    return True


def _workshop(folder: Folder) -> tempfile.TemporaryDirectory[str]:
    """Where to make files that go there: on the same disk, if that is ours."""
    if folder.local is not None:
        folder.local.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=WORKSHOP, dir=folder.local)


def _as_stored(subscriptions: pa.Table) -> pa.Table:
    """The rows in one piece and exactly of the schema, so that the same rows are the same bytes."""
    return subscriptions.select(SUBSCRIPTIONS.names).cast(SUBSCRIPTIONS).combine_chunks()


def _write_table(path: Path, table: pa.Table, metadata: Mapping[bytes, bytes]) -> str:
    schema = SUBSCRIPTIONS.with_metadata({_FORMAT_KEY: str(FORMAT).encode(), **metadata})
    with writing(path) as file, pa.ipc.new_file(file, schema) as writer:
        writer.write_table(table.cast(schema))
    return _digest_of(path)


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
