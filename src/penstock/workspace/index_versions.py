"""Index versions: snapshots of the subscriptions, as immutable files named by their digest.

A version is identified by its URI without a suffix, ``FOLDER/DIGEST``; the folder is a path or any
URI that Arrow understands. :mod:`penstock.workspace.index_version_files` defines the files.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.documents import Limits
from penstock.errors import IndexFileError
from penstock.language.keywords.tokenizer_options import DEFAULT_TOKENIZER, TokenizerOptions
from penstock.matching import Matcher
from penstock.matching.query_indexes import QueryIndexes
from penstock.mediation import MediatedMatcher
from penstock.workspace.file_store import FileStore
from penstock.workspace.index_version_files import (
    StoredVersion,
    add_rows,
    parse_uri,
    write_base,
    write_incremental,
)
from penstock.workspace.limits import CHANGED_PERCENT_MAX, CHANGED_ROWS_MIN
from penstock.workspace.subscriber_buckets import buckets_of
from penstock.workspace.table_schemas import SUBSCRIPTIONS


@dataclass(frozen=True, slots=True)
class OpenVersion:
    """A version that is ready for matching. Its files are memory-mapped, not read."""

    digest: str
    matcher: Matcher
    """Identifies each subscription by its decimal row number."""
    subscriptions: pa.Table
    """The rows, in at most two chunks. Includes removed rows, which no match refers to."""
    mediated: MediatedMatcher
    """The same matcher, for documents that have a mapping."""

    @staticmethod
    def numbers_of(ids: pa.Array[Any]) -> npt.NDArray[np.int64]:
        """The row numbers of the matcher's ids."""
        numbers: npt.NDArray[np.int64] = pc.cast(ids, pa.int64()).to_numpy(zero_copy_only=False)
        return numbers

    @staticmethod
    def ids_of(numbers: npt.NDArray[np.int64]) -> list[str]:
        """The matcher's ids of row numbers."""
        return [str(number) for number in numbers]

    def rows(
        self, numbers: pa.Array[pa.Int64Scalar], columns: Sequence[str] = SUBSCRIPTIONS.names
    ) -> pa.Table:
        """The subscriptions with these row numbers, in this order.

        Equivalent to ``subscriptions.take(numbers)``, which would first concatenate the strings of
        all rows if there are two chunks.
        """
        table = self.subscriptions.select(columns)
        chunks = table.to_batches()
        if len(chunks) != 2:
            return table.take(numbers)
        base, appended = chunks
        is_in_base = pc.less(numbers, pa.scalar(base.num_rows, pa.int64()))
        from_base = base.take(numbers.filter(is_in_base))
        appended_numbers = pc.subtract(numbers.filter(pc.invert(is_in_base)), base.num_rows)
        from_appended = appended.take(appended_numbers)
        taken = pa.Table.from_batches([from_base, from_appended])
        order = pc.sort_indices(pc.invert(is_in_base))  # stable: the order of `taken`
        return taken.take(pc.sort_indices(order))


@dataclass(slots=True)
class IndexLineage:
    """The indexes of a base version, advanced in memory through its incremental versions.

    Matchers are snapshots of the indexes, so a lineage can advance while older versions are in use.
    A cache keeps lineages longer than open versions: the automaton states that matching has built
    are then available to the next version.
    """

    base: str
    table: pa.Table
    indexes: QueryIndexes
    appended: pa.Table = field(default_factory=SUBSCRIPTIONS.empty_table)
    removed: frozenset[int] = frozenset()

    @classmethod
    def load(cls, version: StoredVersion) -> IndexLineage:
        """The lineage of a version, at its base.

        Raises
        ------
        IndexFileError
            ``index.missing``, ``index.damaged``, ``index.not-an-index``, ``index.too-new`` or
            ``index.too-old``.
        """
        base = version.read_base()
        return cls(base.digest, base.table, base.load_indexes())

    def can_reach(self, version: StoredVersion) -> bool:
        """Whether the version follows from the current state by appending and removing rows."""
        known = self.appended.num_rows
        return (
            version.base == self.base
            and self.removed <= version.removed
            and known <= version.appended.num_rows
            and (known == 0 or bool(version.appended.slice(0, known).equals(self.appended)))
        )

    def open(self, version: StoredVersion, limits: Limits) -> OpenVersion:
        """Advance to a version that :meth:`can_reach`, and take a snapshot of it."""
        self._advance(version)
        parts = [self.table] + ([version.appended] if version.appended.num_rows else [])
        matcher = self.indexes.matcher(limits)
        return OpenVersion(
            version.digest, matcher, pa.concat_tables(parts), MediatedMatcher(matcher)
        )

    def _advance(self, version: StoredVersion) -> None:
        for row in version.removed - self.removed:
            self.indexes.discard(row)
        first, known = self.table.num_rows, self.appended.num_rows
        fresh = [
            row
            for row in range(known, version.appended.num_rows)
            if first + row not in version.removed
        ]
        add_rows(self.indexes, version.appended, fresh, first)
        if not version.is_base:
            self.appended = version.appended
        self.removed = version.removed


def write_version(
    folder: str, subscriptions: pa.Table, *, tokenizer: TokenizerOptions = DEFAULT_TOKENIZER
) -> str:
    """Write subscriptions as a base version; an existing version is left alone.

    Parameters
    ----------
    folder
        A path, or a URI that Arrow understands.
    subscriptions
        A table of :data:`~penstock.workspace.table_schemas.SUBSCRIPTIONS`.
    tokenizer
        How keyword queries and documents are tokenized.

    Returns
    -------
    The version's URI, without a suffix.

    Raises
    ------
    QueryError
        A query is refused; nothing is written.
    """
    return _uri(folder, write_base(FileStore.at(folder), subscriptions, tokenizer))


def write_shards(
    folder: str,
    subscriptions: pa.Table,
    shards: int,
    *,
    tokenizer: TokenizerOptions = DEFAULT_TOKENIZER,
) -> list[str]:
    """Write subscriptions as several versions, each with a share of them.

    The shard of a subscription depends only on its name. Adding one therefore changes one shard;
    the others keep their versions and are not written again.
    """
    shard = buckets_of(subscriptions.column("subscription"), shards)
    own = [
        subscriptions.filter(pc.equal(shard, pa.scalar(number, pa.int32())))
        for number in range(shards)
    ]
    return [write_version(folder, rows, tokenizer=tokenizer) for rows in own]


def split_version(uri: str, shards: int) -> list[str]:
    """Write the subscriptions of a version as several versions: see :func:`write_shards`."""
    folder, _ = parse_uri(uri)
    version = StoredVersion.read(uri)
    rows = pa.concat_tables([version.read_base().table, version.appended])
    kept = np.setdiff1d(np.arange(rows.num_rows), list(version.removed))
    return write_shards(folder, rows.take(kept), shards, tokenizer=version.tokenizer)


def change_version(uri: str, *, removed: Collection[str], added: pa.Table) -> str:
    """Write the successor of a version, in time proportional to the change.

    Parameters
    ----------
    uri
        The previous version.
    removed
        Names of subscriptions to remove; unknown names are ignored.
    added
        Subscriptions to add. The names of changed ones are also in ``removed``.

    Returns
    -------
    The new version's URI. It is a base version once many rows have changed since the last one.
    """
    folder, _ = parse_uri(uri)
    before = StoredVersion.read(uri)
    base = before.read_base()
    appended = [before.appended] if before.appended.num_rows else []
    rows = pa.concat_tables([base.table, *appended])
    is_removed = pc.is_in(rows.column("subscription"), pa.array(removed, pa.string()))
    numbers: list[Any] = pc.indices_nonzero(is_removed).to_pylist()
    gone = before.removed.union(numbers)
    changed = before.appended.num_rows + added.num_rows + len(gone)
    if changed > max(CHANGED_ROWS_MIN, base.table.num_rows * CHANGED_PERCENT_MAX // 100):
        kept = [row for row in range(rows.num_rows) if row not in gone]
        complete = pa.concat_tables([rows.take(kept), added])
        return write_version(folder, complete, tokenizer=base.tokenizer)
    rows_after_base = pa.concat_tables([*appended, added])
    return _uri(folder, write_incremental(base, rows_after_base, gone))


def open_version(uri: str, *, limits: Limits | None = None) -> OpenVersion:
    """Open a version for matching.

    Opening maps the files and adds the rows of an incremental version to its base's index. Workers
    of the pipeline keep open versions in :mod:`penstock.pipeline.worker_cache`.

    Parameters
    ----------
    uri
        The URI that :func:`write_version` or :func:`change_version` returned.
    limits
        The limits of documents.

    Raises
    ------
    IndexFileError
        ``index.missing``, ``index.damaged``, ``index.not-an-index`` or ``index.too-new``.
    """
    version = StoredVersion.read(uri)
    return IndexLineage.load(version).open(version, Limits() if limits is None else limits)


def files_of(uri: str) -> list[str]:
    """The names of the files that a version needs, in its folder."""
    return StoredVersion.read(uri).file_names()


def readable_tokenizer(uri: str) -> TokenizerOptions | None:
    """How the documents of a version are tokenized.

    ``None`` if it cannot be opened: a file is missing, damaged or of an unknown format.
    """
    try:
        base = StoredVersion.read(uri).read_base()
        base.load_indexes()
    except IndexFileError:
        return None
    return base.tokenizer


def _uri(folder: str, digest: str) -> str:
    return f"{FileStore.at(folder).uri.rstrip('/')}/{digest}"
