"""Stores a workspace's mediator in SQLite, and its mappings as files for the pipeline."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator

from penstock.mediation import GlobalSchema, LocalSchema, Mediator, UnknownSchema
from penstock.workspace.database import Database
from penstock.workspace.mapping_versions import write_mappings


class MediationStore:
    """The stored :class:`~penstock.mediation.Mediator` of a workspace.

    Examples
    --------
    >>> import tempfile
    >>> from penstock.schema import read_tree
    >>> from penstock.workspace import Workspace
    >>> tree = read_tree("penstock schema 1\\ncatalogue\\n")
    >>> with tempfile.TemporaryDirectory() as folder, Workspace.create(folder) as workspace:
    ...     with workspace.mediation.changing() as mediator:
    ...         mediator.add(mediator.next_version("courses", tree))
    ...     workspace.mediation.read().domains
    True
    ['courses']
    """

    def __init__(self, database: Database, folder: str) -> None:
        self._database = database
        self._folder = folder

    def read(self) -> Mediator:
        """The current mediator; changes to it are not stored."""
        with self._database.read_transaction() as connection:
            return _load(connection)

    @contextlib.contextmanager
    def changing(self) -> Iterator[Mediator]:
        """The mediator, for changes that are stored when the block ends without an exception.

        Holds the write lock. Changes take effect with the next batch.
        """
        with self._database.write_transaction() as connection:
            mediator = _load(connection)
            yield mediator
            _save(connection, mediator)

    def current(self, *, unknown_schema: UnknownSchema = "refuse") -> str:
        """The URI of the current mapping version, which is written first if mappings changed."""
        return write_mappings(self._folder, self.read().table(unknown_schema=unknown_schema))


def _load(connection: sqlite3.Connection) -> Mediator:
    schemas = connection.execute("SELECT schema FROM global_schemas").fetchall()
    registered = connection.execute(
        "SELECT publisher, name, domain, version, digest, earlier FROM local_schemas"
    ).fetchall()
    return Mediator(
        [GlobalSchema.from_text(text) for (text,) in schemas],
        [
            LocalSchema(
                publisher=publisher,
                name=name,
                domain=domain,
                version=version,
                digest=digest,
                earlier=tuple(json.loads(earlier)),
            )
            for publisher, name, domain, version, digest, earlier in registered
        ],
        dict(connection.execute("SELECT digest, text FROM mappings").fetchall()),
    )


def _save(connection: sqlite3.Connection, mediator: Mediator) -> None:
    for table in ("global_schemas", "local_schemas", "mappings"):
        connection.execute(f"DELETE FROM {table}")
    connection.executemany(
        "INSERT INTO global_schemas (domain, version, schema) VALUES (?, ?, ?)",
        [(each.domain, each.version, each.to_text()) for each in mediator.global_schemas],
    )
    connection.executemany(
        "INSERT INTO local_schemas (publisher, name, domain, version, digest, earlier)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                each.publisher,
                each.name,
                each.domain,
                each.version,
                each.digest,
                json.dumps(each.earlier),
            )
            for each in mediator.local_schemas
        ],
    )
    connection.executemany(
        "INSERT INTO mappings (digest, text) VALUES (?, ?)", list(mediator.texts.items())
    )
