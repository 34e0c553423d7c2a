"""Where a server keeps its documents: in SQLite files, or in a BaseX server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from penstock.workspace.basex_session import BasexServer
from penstock.workspace.basex_sync_store import BasexSyncStore, stored_documents
from penstock.workspace.sync_store import SqliteSyncStore, SyncStore

SUFFIX: Final = ".sync"
"""Of the files of documents in the folder of a server."""


class DocumentStores(Protocol):
    """The stores of a server's documents."""

    def names(self) -> set[str]:
        """The documents that are stored."""

    def place_of(self, name: str) -> str:
        """Where a document is, for messages."""

    def open(self, name: str) -> SyncStore:
        """The store of a document, which need not be there yet."""


@dataclass(frozen=True, slots=True)
class SqliteStores:
    """A file for each document."""

    folder: Path

    def names(self) -> set[str]:
        """The documents that are stored."""
        return {each.name.removesuffix(SUFFIX) for each in self.folder.glob(f"*{SUFFIX}")}

    def place_of(self, name: str) -> str:
        """The file of a document."""
        return str(self._file(name))

    def open(self, name: str) -> SyncStore:
        """The store of a document."""
        return SqliteSyncStore(self._file(name))

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}{SUFFIX}"


@dataclass(frozen=True, slots=True)
class BasexStores:
    """Databases of a BaseX server."""

    server: BasexServer

    def names(self) -> set[str]:
        """The documents that are stored."""
        return stored_documents(self.server)

    def place_of(self, name: str) -> str:
        """The document and its server."""
        return f"`{name}` in {self.server}"

    def open(self, name: str) -> SyncStore:
        """The store of a document."""
        return BasexSyncStore(self.server, name)
