"""The files of an index version: a table of subscriptions, and the index of its rows.

A *whole* version is ``DIGEST.arrow``, a table of :data:`~penstock.workspace.schemas.SUBSCRIPTIONS`
in Arrow's file format, and ``DIGEST.index``, which knows each row by its decimal number. DIGEST is
the SHA-256 of the table's file.

Writing an index of a million subscriptions takes seconds. So a version may also be a *change* of a
whole one: a single ``DIGEST.arrow`` with the rows that follow the whole one's, whose metadata
name the whole version and the rows that have been removed. Changes do not build on changes.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.errors import IndexFileError, error
from penstock.matching import SubscriptionIndex
from penstock.workspace.durable import writing
from penstock.workspace.schemas import SUBSCRIPTIONS
from penstock.workspace.storage import Folder

FORMAT = 1
"""Of the table's file; the index has a version of its own."""

WORKSHOP = "making-"
"""How the names of folders begin in which versions are made; one that stays was left by a kill."""

_FORMAT_KEY = b"penstock.format"
_BASE_KEY = b"penstock.base"
_REMOVED_KEY = b"penstock.removed"


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


def index_name(digest: str) -> str:
    """The name of a whole version's index."""
    return f"{digest}.index"


def write_whole(folder: Folder, subscriptions: pa.Table) -> str:
    """Write a whole version, and give its digest; one that is there already is left alone."""
    with _workshop(folder) as temporary:
        path = Path(temporary) / "table"
        table = _as_stored(subscriptions)
        digest = _write_table(path, table, {})
        if _is_sound(folder, digest, table.num_rows):
            folder.touch(table_name(digest))
            folder.touch(index_name(digest))
            return digest
        index = SubscriptionIndex()
        add_rows(index, table, range(table.num_rows), first=0)
        index.save(Path(temporary) / "index")
        # The table last: where it is, all of the version is.
        folder.put(index_name(digest), Path(temporary) / "index")
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
    if int(metadata.get(_FORMAT_KEY, b"0")) > FORMAT:
        raise error("index.too-new", f"{path} has another format than this Penstock reads")
    table = table.replace_schema_metadata(None)
    if not table.schema.equals(SUBSCRIPTIONS):
        raise error("index.not-an-index", f"{path} is no table of subscriptions")
    base = metadata.get(_BASE_KEY)
    removed = metadata.get(_REMOVED_KEY, b"").decode()
    return Rows(
        table,
        None if base is None else base.decode(),
        frozenset(int(number) for number in removed.split(",") if number),
    )


def load_index(folder: Folder, digest: str, rows: int) -> SubscriptionIndex:
    """The index of a whole version, memory-mapped.

    Raises
    ------
    IndexFileError
        ``index.missing``, ``index.damaged``, ``index.not-an-index``, ``index.too-new`` or
        ``index.too-old``.
    """

    def verify(copy: Path) -> None:
        SubscriptionIndex.load(copy)

    path = folder.path_of(index_name(digest), verify)
    try:
        index = SubscriptionIndex.load(path)
    except IndexFileError:
        # A copy may be of a file that has been replaced since.
        folder.forget(index_name(digest))
        path = folder.path_of(index_name(digest), verify)
        index = SubscriptionIndex.load(path)
    if len(index) != rows:
        raise error("index.damaged", f"{path} has {len(index)} subscriptions, its table {rows}")
    return index


def add_rows(index: SubscriptionIndex, table: pa.Table, rows: Collection[int], first: int) -> None:
    """Add rows of a table to an index, row ``n`` under the id ``first + n``.

    Raises
    ------
    QueryError
        A query is refused: whoever let it into the table did not look at it.
    """
    queries: list[Any] = table.column("query").to_pylist()
    defaults: list[Any] = table.column("default_namespace").to_pylist()
    namespaces: list[Any] = table.column("namespaces").to_pylist()
    groups: dict[object, list[int]] = {}
    for row in rows:
        # What shares its namespaces is added at once.
        groups.setdefault((tuple(namespaces[row]), defaults[row]), []).append(row)
    for group in groups.values():
        refused = index.add_many(
            [str(first + row) for row in group],
            [queries[row] for row in group],
            namespaces=dict(namespaces[group[0]]),
            default_namespace=defaults[group[0]],
        )
        for reason in refused.values():
            raise reason


def _is_sound(folder: Folder, digest: str, rows: int) -> bool:
    """Whether a whole version is there already, and can be opened."""
    try:
        read_rows(folder, digest)
        load_index(folder, digest, rows)
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
