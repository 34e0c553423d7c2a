"""Accounts of a server and their tokens. Only digests of tokens are stored.

A token is the name of an account, a dot and 256 random bits, so a fast digest is enough: it cannot
be guessed. A line of the file has the name, the digest and, if the account is limited to documents,
their names. The file is read again when it has changed, so that a token can be created or revoked
while the server runs.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.errors import error
from penstock.service.sync.limits import SYNC_ACCOUNTS_MAX
from penstock.service.sync.server_url import DOCUMENT_NAME
from penstock.workspace.atomic_files import sync_directory, temporary_path
from penstock.workspace.file_locks import file_lock
from penstock.workspace.private_files import open_private

TOKENS: Final = "tokens"
"""Name of the file in the folder of a server."""

_ACCOUNT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_LINE: Final = re.compile(rf"({_ACCOUNT.pattern}) ([0-9a-f]{{64}})((?: {DOCUMENT_NAME.pattern})*)")
_BEARER: Final = "bearer "


@dataclass(frozen=True, slots=True)
class Account:
    """What is stored of an account."""

    digest: bytes
    """Of its token."""
    documents: frozenset[str] = frozenset()
    """The documents that it may read and change; all if there are none."""

    def may_use(self, document: str) -> bool:
        """Whether it may read and change a document."""
        return not self.documents or document in self.documents


def read_accounts(folder: Path) -> Mapping[str, Account]:
    """Accounts by name.

    Raises
    ------
    SyncError
        ``sync.token-file``: a line is malformed; the message does not quote it.
    """
    path = folder / TOKENS
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise error("sync.token-file", f"{path} is not a token file") from None
    found: dict[str, Account] = {}
    for number, line in enumerate(lines, 1):
        parts = _LINE.fullmatch(line)
        if parts is None or parts[1] in found:
            raise error("sync.token-file", f"{path}, line {number}: expected a name and a digest")
        found[parts[1]] = Account(bytes.fromhex(parts[2]), frozenset(parts[3].split()))
    return found


def create_token(folder: Path, account: str, *, documents: Iterable[str] = ()) -> str:
    """Creates an account; returns its token, which is not stored.

    Parameters
    ----------
    folder
        The folder of the server.
    account
        The name of the account.
    documents
        The documents that it may read and change, served already or not; all by default.

    Raises
    ------
    SyncError
        ``sync.account``: the name is not allowed, or has a token already; ``sync.document``: the
        name of a document is not allowed.
    """
    allowed = frozenset(documents)
    for name in allowed:
        if DOCUMENT_NAME.fullmatch(name) is None:
            raise error("sync.document", f"`{name}` is no name of a document")
    if _ACCOUNT.fullmatch(account) is None:
        raise error("sync.account", f"`{account}` is not a name of letters, digits, `-` and `_`")
    token = f"{account}.{secrets.token_urlsafe(32)}"
    with file_lock(folder / f"{TOKENS}.lock", wait=True):
        accounts = dict(read_accounts(folder))
        if account in accounts:
            raise error("sync.account", f"`{account}` has a token already")
        if len(accounts) >= SYNC_ACCOUNTS_MAX:
            raise error("sync.account", f"there are {SYNC_ACCOUNTS_MAX:,} accounts")
        accounts[account] = Account(_digest(token), allowed)
        _write(folder, accounts)
    return token


def revoke_token(folder: Path, account: str) -> None:
    """Removes an account.

    Raises
    ------
    SyncError
        ``sync.account``: there is none of this name.
    """
    if not folder.is_dir():
        raise error("sync.account", f"{folder} has no accounts")
    with file_lock(folder / f"{TOKENS}.lock", wait=True):
        accounts = dict(read_accounts(folder))
        if accounts.pop(account, None) is None:
            raise error("sync.account", f"there is no account `{account}`")
        _write(folder, accounts)


def _write(folder: Path, accounts: Mapping[str, Account]) -> None:
    path = folder / TOKENS
    temporary = temporary_path(path)
    lines = "".join(
        " ".join((name, account.digest.hex(), *sorted(account.documents))) + "\n"
        for name, account in sorted(accounts.items())
    )
    try:
        with open(temporary, "x", encoding="utf-8", opener=open_private) as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(folder)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


class TokenVerifier:
    """Verifies the tokens of requests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read_at: tuple[int, int, int] | None = None
        self._accounts: Mapping[str, Account] = {}

    def account_of(self, authorization: str | None) -> str | None:
        """The account of an ``Authorization`` header; ``None`` if the token is wrong."""
        self._refresh()
        if authorization is None or authorization[: len(_BEARER)].lower() != _BEARER:
            return None
        token = authorization[len(_BEARER) :].strip()
        account = token.partition(".")[0]
        # The name of an account is no secret; an unknown one takes as long as a wrong token.
        expected = self._accounts.get(account, Account(bytes(32)))
        is_right = hmac.compare_digest(_digest(token), expected.digest)
        return account if is_right and account in self._accounts else None

    def may_use(self, account: str, document: str) -> bool:
        """Whether an account, of which a token was verified, may read and change a document."""
        known = self._accounts.get(account)
        return known is not None and known.may_use(document)

    def _refresh(self) -> None:
        try:
            found = os.stat(self._folder / TOKENS)
        except FileNotFoundError:
            self._read_at, self._accounts = None, {}
            return
        state = found.st_mtime_ns, found.st_ino, found.st_size
        if state != self._read_at:
            self._accounts = read_accounts(self._folder)
            self._read_at = state
