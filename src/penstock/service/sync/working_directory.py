"""A clone in a folder: an XML file that a person edits, and the client's state beside it.

The stored state and the file change together, although no transaction spans both:

1. The new content is written to a file beside the database.
2. The new state is stored, together with the state before and the digest of the new content.
3. The new content is renamed to the file.
4. The state before is dropped.

Whoever opens the folder after an interruption knows by the existence of the new content whether the
third step was taken. If it was, the fourth follows. If not, and the person has not changed the file
meanwhile, both follow; otherwise the state before is restored, of which the file is an edit.
Nothing is requested from the server between the second and the fourth step, so the server still has
what the client goes back to.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, Self

from penstock.errors import PenstockError, error
from penstock.service.sync.clone_store import CloneRow, CloneStore, Event
from penstock.service.sync.file_format import (
    decode_paths,
    encode_paths,
    indented_paths,
    read_document,
    write_document,
)
from penstock.service.sync.operation_text import OperationText, describe
from penstock.service.sync.server_url import DocumentUrl, parse_url
from penstock.sync import Client, DocumentTree, SyncSubscription
from penstock.sync.difference import submit_edited_tree
from penstock.sync.message_codec import decode_state, encode_state

STATE_FOLDER: Final = ".penstock"
_DATABASE: Final = "clone.sqlite"
_LOCK: Final = "lock"
_TOKEN: Final = "token"
_PART: Final = "checkout.part"
_DISCARDED: Final = "discarded.xml"


class WorkingDirectory:
    """The folder of a clone, locked against other commands while it is open.

    :meth:`open` and :meth:`create` make one.
    """

    def __init__(self, folder: Path, store: CloneStore, row: CloneRow) -> None:
        self.folder = folder
        self._store = store
        self._row = row
        self.client = _restored(row.state)
        self.url: DocumentUrl = parse_url(row.url)
        self.file = folder / row.file
        self.authorities = None if row.authorities is None else Path(row.authorities)
        self.plaintext = bool(row.plaintext)

    # Opening

    @classmethod
    @contextmanager
    def open(cls, folder: Path) -> Iterator[Self]:
        """The clone of a folder or of one above it. An interrupted change of the file is completed.

        Raises
        ------
        SyncError
            ``sync.no-clone``: there is none. ``sync.clone-damaged``: it cannot be read.
        """
        root = find_clone(folder)
        with _locked(root):
            store = CloneStore(root / STATE_FOLDER / _DATABASE)
            try:
                row = store.load()
                if row is None:
                    raise error("sync.no-clone", f"{root} was not cloned")
                opened = cls(root, store, row)
                opened._recover()
                yield opened
            finally:
                store.close()

    @classmethod
    @contextmanager
    def create(
        cls,
        folder: Path,
        url: DocumentUrl,
        client: str,
        subscription: SyncSubscription,
        *,
        authorities: Path | None = None,
        plaintext: bool = False,
    ) -> Iterator[Self]:
        """A new clone in an empty folder, or one there that was interrupted.

        Raises
        ------
        SyncError
            ``sync.folder``: the folder has something else.
        """
        state_folder = folder / STATE_FOLDER
        is_interrupted = state_folder.is_dir()
        if not is_interrupted and folder.exists() and any(folder.iterdir()):
            raise error("sync.folder", f"{folder} is not empty")
        folder.mkdir(parents=True, exist_ok=True)
        state_folder.mkdir(mode=0o700, exist_ok=True)
        with _locked(folder):
            store = CloneStore(state_folder / _DATABASE)
            try:
                row = store.load()
                if row is None:
                    state = Client(client, subscription).state()
                    row = CloneRow(
                        url=str(url),
                        authorities=None if authorities is None else str(authorities.absolute()),
                        plaintext=plaintext,
                        inode=store.inode,
                        file=f"{url.document}.xml",
                        state=encode_state(state),
                        checked_out="",
                    )
                    store.write(row, ("clone", f"{url} {subscription.query}"))
                elif row.url != str(url) or row.checked_out:
                    raise error("sync.folder", f"{folder} is a clone already")
                made = cls(folder, store, row)
                made._recover()
                if not made.is_cloned and made._found() is not None:
                    raise error("sync.folder", f"{made.file} exists already")
                yield made
            finally:
                store.close()

    # The token

    @property
    def token(self) -> str | None:
        """The token that the clone was made with."""
        try:
            return (self.folder / STATE_FOLDER / _TOKEN).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None

    def keep_token(self, token: str) -> None:
        """Stores the token; only its owner can read it."""
        path = self.folder / STATE_FOLDER / _TOKEN
        part = path.with_suffix(".part")
        _write_part(part, f"{token}\n".encode(), mode=0o600)
        _rename_part(part, path)

    @property
    def _part(self) -> Path:
        return self.folder / STATE_FOLDER / _PART

    # The file

    def read_file(self) -> bytes:
        """The content of the file.

        Raises
        ------
        SyncError
            ``sync.file``: there is none, or it is something else.
        """
        found = self._found()
        if found is None:
            raise error("sync.file", f"{self.file} does not exist")
        return found

    def _found(self) -> bytes | None:
        """The content of the file, if there is one."""
        # A link would be replaced by a file, and what it points to would be edited in vain.
        if os.path.lexists(self.file) and not stat.S_ISREG(self.file.lstat().st_mode):
            raise error("sync.file", f"{self.file} is not an ordinary file")
        return self.file.read_bytes() if self.file.exists() else None

    @property
    def is_cloned(self) -> bool:
        """Whether the file was written once."""
        return bool(self._row.checked_out)

    def edits(self) -> list[OperationText]:
        """What the person has changed in the file; nothing is stored.

        Raises
        ------
        PenstockError
            The file is not well-formed, or has changes that are not allowed.
        """
        content = self.read_file()
        if _digest(content) == self._row.checked_out:
            return []
        scratch = Client.restore(self.client.state())
        if self._submit(scratch, content) is None:
            return []
        return list(describe(scratch.pending[-1].operations, self.client.tree))

    def take_edits(self) -> int | None:
        """Makes a pending statement of what the person has changed in the file; returns its number.

        Raises
        ------
        PenstockError
            The file is not well-formed, or has changes that are not allowed.
        """
        if not self.is_cloned:
            return None
        content = self.read_file()
        if _digest(content) == self._row.checked_out:
            return None
        before = Client.restore(self.client.state())
        number = self._submit(self.client, content)
        row = replace(self._row, state=self._encoded(), checked_out=_digest(content))
        if number is None:
            self._write(row)
        else:
            lines = describe(self.client.pending[-1].operations, before.tree)
            self._write(row, ("edited file", "\n".join(map(str, lines))))
        return number

    def _submit(self, client: Client, content: bytes) -> int | None:
        if client.tree.root is None and not content.strip():
            return None
        return submit_edited_tree(client, self._parsed(content))

    def _parsed(self, content: bytes) -> DocumentTree:
        return read_document(content, decode_paths(self._row.indented))

    def discard_edits(self) -> Path | None:
        """Gives up what the person has changed in the file; returns where it is kept."""
        if not self.is_cloned:
            return None
        kept, content = None, self._found()
        if content is not None and _digest(content) != self._row.checked_out:
            kept = self.folder / STATE_FOLDER / _DISCARDED
            part = kept.with_suffix(".part")
            _write_part(part, content)
            _rename_part(part, kept)
        content = write_document(self.client.tree, decode_paths(self._row.indented))
        _write_part(self._part, content, like=self.file)
        _rename_part(self._part, self.file)
        # If this is not reached, the file is found to be an edit without a difference.
        self._write(replace(self._row, checked_out=_digest(content)), ("discard", ""))
        return kept

    # The state

    def require_original(self) -> None:
        """Raises unless this is the folder that was cloned.

        Raises
        ------
        SyncError
            ``sync.stale``: it is a copy of that, which the server cannot distinguish from it.
        """
        if self._row.inode != self._store.inode:
            raise error("sync.stale", f"{self.folder} is a copy of a working directory")

    def save(self, *events: tuple[str, str]) -> None:
        """Stores the client's state, whose cache must be what the file contains."""
        self._write(replace(self._row, state=self._encoded()), *events)

    def check_out(self, *events: tuple[str, str]) -> bool:
        """Stores the client's state, and replaces the file by its cache.

        Returns
        -------
        Whether it was done. If the person changed the file since :meth:`take_edits`, the client is
        the one before, so that these edits can be taken.
        """
        row = replace(self._row, state=self._encoded())
        if self.is_cloned and self._is_same():
            self._write(row, *events)
            return True
        paths = indented_paths(self.client.tree)
        content = write_document(self.client.tree, paths)
        _write_part(self._part, content, like=self.file)
        row = replace(
            row,
            previous=self._row.state,
            target=_digest(content),
            target_indented=encode_paths(paths),
        )
        self._write(row, *events)
        return self._recover()

    def _recover(self) -> bool:
        """Completes or revokes a change of the file; whether it was not revoked."""
        target, previous = self._row.target, self._row.previous
        if target is None or previous is None:
            return True
        settled = replace(self._row, previous=None, target=None, target_indented=None)
        if self._part.exists():
            found = self._found()
            # A file that the person removed has no edits that could be lost.
            if found is not None and _digest(found) != self._row.checked_out:
                self._write(replace(settled, state=previous))
                self._part.unlink()
                self.client = _restored(previous)
                return False
            _rename_part(self._part, self.file)
        indented = self._row.target_indented or "[]"
        self._write(replace(settled, checked_out=target, indented=indented))
        return True

    def _is_same(self) -> bool:
        """Whether the checked-out file has the same content, however it is written."""
        try:
            found = self.read_file()
            if _digest(found) != self._row.checked_out:
                return False
            tree = self._parsed(found)
        except PenstockError:
            return False
        return tree.canonical_xml(exclusive=True) == self.client.canonical_xml(exclusive=True)

    def _encoded(self) -> bytes:
        return encode_state(self.client.state())

    def _write(self, row: CloneRow, *events: tuple[str, str]) -> None:
        self._store.write(row, *events)
        self._row = row

    def log(self) -> list[Event]:
        """What happened in the working directory, oldest first."""
        return self._store.events()


def find_clone(folder: Path) -> Path:
    """The folder of a clone: this one, or one above it.

    Raises
    ------
    SyncError
        ``sync.no-clone``
    """
    start = folder.absolute()
    for each in (start, *start.parents):
        if (each / STATE_FOLDER / _DATABASE).is_file():
            return each
    raise error("sync.no-clone", f"{folder} is not in a working directory")


def new_client_name(account: str, label: str) -> str:
    """A name that no other clone has, so that two clones are never taken for one."""
    return f"{account}/{label}-{secrets.token_hex(6)}"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Waits until no other command uses the folder."""
    with open(folder / STATE_FOLDER / _LOCK, "a", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _restored(state: bytes) -> Client:
    try:
        return Client.restore(decode_state(state))
    except PenstockError as problem:
        raise error("sync.clone-damaged", problem.message) from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write_part(part: Path, content: bytes, *, mode: int = 0o644, like: Path | None = None) -> None:
    """Writes a file that will be renamed, with the permissions of another if that exists."""
    part.unlink(missing_ok=True)
    with open(part, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if like is not None and like.exists():
        shutil.copymode(like, part)
    _sync_folder(part.parent)


def _rename_part(part: Path, path: Path) -> None:
    part.replace(path)
    _sync_folder(path.parent)
    _sync_folder(part.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
