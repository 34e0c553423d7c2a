"""Index versions: the subscriptions of one moment, as immutable files named by their digest.

A version is known by its URI without a suffix, ``FOLDER/DIGEST``; the folder is a path or any URI
that Arrow understands. :mod:`penstock.workspace.index_version_files` says what stands in the files.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.documents import Limits
from penstock.errors import IndexFileError, error
from penstock.matching import Matcher
from penstock.mediation import MediatedMatcher
from penstock.workspace import index_version_files
from penstock.workspace.file_store import Folder
from penstock.workspace.index_version_files import Rows
from penstock.workspace.limits import (
    CHANGED_PERCENT_MAX,
    CHANGED_ROWS_MIN,
    OPEN_VERSIONS_MAX,
)
from penstock.workspace.query_indexes import Indexes
from penstock.workspace.subscriber_buckets import buckets_of
from penstock.workspace.table_schemas import SUBSCRIPTIONS

_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class OpenVersion:
    """A version that can be matched against. Its files are mapped, not read."""

    digest: str
    matcher: Matcher
    """Knows each subscription by its decimal row number."""
    subscriptions: pa.Table
    """The rows, in two chunks at most. Rows that no match names may be of removed subscriptions."""
    mediated: MediatedMatcher
    """The same matcher, for documents that have a mapping."""

    def rows(
        self, numbers: pa.Array[pa.Int64Scalar], columns: Sequence[str] = SUBSCRIPTIONS.names
    ) -> pa.Table:
        """The subscriptions of these row numbers, in their order.

        The same as ``subscriptions.take(numbers)``, which would copy all strings of a million
        rows together first where there are two chunks.
        """
        table = self.subscriptions.select(columns)
        parts = table.to_batches()
        if len(parts) != 2:
            return table.take(numbers)
        whole, added = parts
        of_whole = pc.less(numbers, pa.scalar(whole.num_rows, pa.int64()))
        from_whole = whole.take(numbers.filter(of_whole))
        beyond = pc.subtract(numbers.filter(pc.invert(of_whole)), whole.num_rows)
        from_added = added.take(beyond)
        taken = pa.Table.from_batches([from_whole, from_added])
        places = pc.sort_indices(pc.invert(of_whole))  # stable: the order in which they were taken
        return taken.take(pc.sort_indices(places))


def write_version(folder: str, subscriptions: pa.Table) -> str:
    """Write the subscriptions as a whole version; one that is there already is left alone.

    Parameters
    ----------
    folder
        A path, or a URI that Arrow understands.
    subscriptions
        A table of :data:`~penstock.workspace.table_schemas.SUBSCRIPTIONS`.

    Returns
    -------
    The version's URI without a suffix.

    Raises
    ------
    QueryError
        A query is refused; nothing is written.
    """
    return _uri(folder, index_version_files.write_whole(Folder.at(folder), subscriptions))


def write_shards(folder: str, subscriptions: pa.Table, shards: int) -> list[str]:
    """Write the subscriptions as so many versions, each with its share of them.

    Which shard a subscription is in depends on its name alone: where one is added, the other
    shards are the same versions as before, and are not written again.
    """
    shard = buckets_of(subscriptions.column("subscription"), shards)
    return [
        write_version(folder, subscriptions.filter(pc.equal(shard, pa.scalar(number, pa.int32()))))
        for number in range(shards)
    ]


def change_version(uri: str, *, removed: Collection[str], added: pa.Table) -> str:
    """Write the version that follows another one, in a time that depends on what changed.

    Parameters
    ----------
    uri
        The version before.
    removed
        Names of subscriptions that it has and the next one has not; unknown ones do not matter.
    added
        Subscriptions that it has not, or that are in ``removed`` because they changed.

    Returns
    -------
    The next version's URI. Once much has changed since the last whole version, it is a whole one.
    """
    location, digest = _parts(uri)
    folder = Folder.at(location)
    before = index_version_files.read_rows(folder, digest)
    whole = _whole_of(folder, digest, before)
    base = digest if before.base is None else before.base
    rows = pa.concat_tables([whole, *_added(before)])
    known = pc.is_in(rows.column("subscription"), pa.array(removed, pa.string()))
    numbers: list[Any] = pc.indices_nonzero(known).to_pylist()
    gone = before.removed.union(numbers)
    changed = rows.num_rows - whole.num_rows + added.num_rows + len(gone)
    if changed > max(CHANGED_ROWS_MIN, whole.num_rows * CHANGED_PERCENT_MAX // 100):
        kept = [row for row in range(rows.num_rows) if row not in gone]
        return write_version(location, pa.concat_tables([rows.take(kept), added]))
    follows = pa.concat_tables([*_added(before), added])
    return _uri(location, index_version_files.write_change(folder, base, follows, gone))


def files_of(uri: str) -> list[str]:
    """The names of the files that a version needs, in its folder."""
    location, digest = _parts(uri)
    folder = Folder.at(location)
    rows = index_version_files.read_rows(folder, digest)
    base = rows.base or digest
    kinds = index_version_files.kinds_of(_whole_of(folder, digest, rows))
    return sorted(
        {
            index_version_files.table_name(digest),
            index_version_files.table_name(base),
            *(index_version_files.index_name(base, kind) for kind in kinds),
        }
    )


def is_sound(uri: str) -> bool:
    """Whether a version can be opened: its files are there, whole, and of a format that is read."""
    location, digest = _parts(uri)
    folder = Folder.at(location)
    try:
        rows = index_version_files.read_rows(folder, digest)
        whole = _whole_of(folder, digest, rows)
        index_version_files.load_indexes(folder, rows.base or digest, whole)
    except IndexFileError:
        return False
    return True


def open_version(uri: str, *, limits: Limits | None = None) -> OpenVersion:
    """Open a version for matching; a process opens each but once, and keeps a few open.

    Parameters
    ----------
    uri
        What :func:`write_version` gave.
    limits
        How large a document may be, in every respect.

    Raises
    ------
    IndexFileError
        ``index.missing``, ``index.damaged``, ``index.not-an-index`` or ``index.too-new``.
    """
    return _OPEN.get(uri, Limits() if limits is None else limits)


@dataclass(slots=True)
class _Lineage:
    """The indexes that follow a whole version through its changes.

    Matchers are snapshots of them. They outlive those, so that the next version finds what the
    matching of the last one has learnt.
    """

    base: str
    table: pa.Table
    indexes: Indexes
    added: pa.Table = field(default_factory=SUBSCRIPTIONS.empty_table)
    removed: frozenset[int] = frozenset()

    def leads_to(self, rows: Rows, base: str) -> bool:
        """Whether the version can be reached by adding and removing more."""
        known = self.added.num_rows
        return (
            base == self.base
            and self.removed <= rows.removed
            and known <= (rows.table.num_rows if rows.base else 0)
            and (known == 0 or bool(rows.table.slice(0, known).equals(self.added)))
        )

    def follow(self, rows: Rows) -> None:
        """Add and remove what the version has more."""
        for row in rows.removed - self.removed:
            self.indexes.discard(row)
        first = self.table.num_rows
        if rows.base is not None:
            known = self.added.num_rows
            fresh = [
                row for row in range(known, rows.table.num_rows) if first + row not in rows.removed
            ]
            index_version_files.add_rows(self.indexes, rows.table, fresh, first)
            self.added = rows.table
        self.removed = rows.removed


class _OpenVersions:
    """The versions that this process has open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[str, Limits], OpenVersion] = OrderedDict()
        self._lineages: OrderedDict[str, _Lineage] = OrderedDict()

    def get(self, uri: str, limits: Limits) -> OpenVersion:
        with self._lock:
            found = self._open.get((uri, limits))
            if found is None:
                found = self._opened(uri, limits)
                self._open[uri, limits] = found
            self._open.move_to_end((uri, limits))
            _shorten(self._open)
            return found

    def _opened(self, uri: str, limits: Limits) -> OpenVersion:
        location, digest = _parts(uri)
        folder = Folder.at(location)
        rows = index_version_files.read_rows(folder, digest)
        base = rows.base or digest
        lineage = self._lineages.pop(base, None)
        if lineage is None or not lineage.leads_to(rows, base):
            whole = _whole_of(folder, digest, rows)
            indexes = index_version_files.load_indexes(folder, base, whole)
            lineage = _Lineage(base, whole, indexes)
        lineage.follow(rows)
        self._lineages[base] = lineage
        _shorten(self._lineages)
        subscriptions = pa.concat_tables([lineage.table, *_added(rows)])
        matcher = lineage.indexes.matcher(limits)
        return OpenVersion(digest, matcher, subscriptions, MediatedMatcher(matcher))


_OPEN = _OpenVersions()


def _shorten(cache: OrderedDict[Any, Any]) -> None:
    while len(cache) > OPEN_VERSIONS_MAX:
        cache.popitem(last=False)


def _whole_of(folder: Folder, digest: str, rows: Rows) -> pa.Table:
    """The table of the whole version that a version is or changes."""
    if rows.base is None:
        return rows.table
    whole = index_version_files.read_rows(folder, rows.base)
    if whole.base is not None:
        raise error("index.damaged", f"{folder.uri}/{digest} changes a version that is not whole")
    return whole.table


def _added(rows: Rows) -> list[pa.Table]:
    """The rows that follow those of the whole version, if there are any."""
    return [rows.table] if rows.base is not None and rows.table.num_rows else []


def _parts(uri: str) -> tuple[str, str]:
    folder, _, digest = uri.rpartition("/")
    if not folder or not _DIGEST.fullmatch(digest):
        raise error("index.not-an-index", f"{uri} does not name an index version")
    return folder, digest


def _uri(folder: str, digest: str) -> str:
    return f"{Folder.at(folder).uri.rstrip('/')}/{digest}"
