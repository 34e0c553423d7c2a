"""Upgrades an inbox of Parquet files, as earlier versions wrote it, to a journal."""

from __future__ import annotations

import logging
import os
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.workspace.atomic_files import atomic_write, sync_directory
from penstock.workspace.journal import (
    encode_entry,
    file_name,
    journal_files,
    new_file_header,
    salt_of,
)
from penstock.workspace.journal_scanner import Missing
from penstock.workspace.private_files import make_private_folder
from penstock.workspace.published_identities import FILE, create_index
from penstock.workspace.table_schemas import DOCUMENTS

logger = logging.getLogger(__name__)

_SUFFIX = ".parquet"


def move_identities(connection: sqlite3.Connection) -> None:
    """Move the tables of published documents to their own SQLite file, and finish staged files.

    Runs within the transaction that migrates the workspace's database: if it is interrupted, it is
    repeated, and nobody has used the new file. If there is a journal, the file is in use, and the
    database was restored from an old backup: its numbers have been given since.
    """
    (root,) = (
        Path(path).parent
        for _, name, path in connection.execute("PRAGMA database_list")
        if name == "main"
    )
    staging = root / "staging"
    if staging.is_dir():
        staged = connection.execute("SELECT name FROM staged ORDER BY first_sequence").fetchall()
        for (name,) in staged:
            if (staging / name).exists():
                os.rename(staging / name, root / "inbox" / name)
        for path in staging.iterdir():
            path.unlink()
        staging.rmdir()
    if not ((root / FILE).exists() and journal_files(root / "inbox")):
        (following,) = connection.execute("SELECT next FROM sequences").fetchone()
        create_index(
            root / FILE,
            next_sequence=following,
            published=connection.execute("SELECT identity, sequence FROM published"),
            replays=connection.execute(
                "SELECT sequence, replay_of, identity, fixed, replayed_at FROM replays"
            ),
        )
    for table in ("published", "sequences", "staged", "replays"):
        connection.execute(f"DROP TABLE {table}")


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files of an inbox, in publishing order."""
    return [folder / name for name in sorted(os.listdir(folder)) if name.endswith(_SUFFIX)]


def convert(path: Path, last: int, damaged_folder: Path) -> Missing | None:
    """Convert a Parquet file to a journal file, and remove it.

    Parameters
    ----------
    path
        The file, named by its first sequence number.
    last
        Its last sequence number, which follows from the next file.
    damaged_folder
        The folder that it is moved to if it is damaged.

    Returns
    -------
    The documents that are missing, because the file is damaged.
    """
    first = int(path.stem)
    header = new_file_header()
    try:
        with atomic_write(path.with_name(file_name(first))) as file:
            file.write(header)
            for rows in pq.ParquetFile(path).iter_batches():
                cast = pa.table(rows).cast(DOCUMENTS).to_batches()
                file.writelines(encode_entry(batch, salt_of(header)) for batch in cast)
    except (pa.ArrowException, OSError) as failure:
        if not _is_damage(failure):
            raise
        logger.warning("%s is damaged: %s", path, failure)
        make_private_folder(damaged_folder)
        os.replace(path, damaged_folder / path.name)
        sync_directory(damaged_folder)
        return Missing(first, last, damaged_folder / path.name, "not a readable Parquet file")
    path.unlink()
    return None


def read_parquet(path: Path) -> list[pa.RecordBatch]:
    """The documents of a Parquet file; none if it is damaged."""
    try:
        return [
            batch
            for rows in pq.ParquetFile(path).iter_batches()
            for batch in pa.table(rows).cast(DOCUMENTS).to_batches()
        ]
    except (pa.ArrowException, OSError) as failure:
        if not _is_damage(failure):
            raise
        return []


def _is_damage(failure: BaseException) -> bool:
    """Whether a file cannot be decoded, although it was read."""
    if isinstance(failure, MemoryError):
        return False
    return not isinstance(failure, OSError) or failure.errno is None
