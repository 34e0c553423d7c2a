"""The durable state of synchronisation servers, in a BaseX server.

BaseX executes an updating query as a whole, but when it is killed while it writes, it leaves a
database that is damaged, often without noticing it. So a document has two databases, which are
written one after the other, and each has a digest of its content: at any time at least one of them
is complete, and it has all that was acknowledged. When a store is opened and the two are not equal,
both are created again, with greater numbers.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeVar

from penstock.errors import error
from penstock.sync import StateChanges, StoredState
from penstock.sync.server_state import Checkpoint, ClientRecord
from penstock.sync.update_log import LogEntry
from penstock.workspace.basex_session import BasexQueryError, BasexServer, BasexSession
from penstock.workspace.sync_state_codec import decode_stored, encode_stored

_K = TypeVar("_K", int, str)

FORMAT: Final = 2
"""Version of the resources. In version 1, the state has no incarnations."""

PREFIX: Final = "penstock-"
"""Of the names of the databases; the name of the document and a number follow."""

_DATABASE: Final = re.compile(rf"{PREFIX}([A-Za-z0-9._-]+)-([1-9][0-9]*)")

_COPIES: Final = 2

_EMPTY: Final = -1
"""The round of a database to which nothing was written yet."""

_LIST: Final = "string-join(db:list(), '&#10;')"

# The name of the database is part of each query: for a name in a variable, and for db:path, BaseX
# would lock all databases, and wait for a damaged one that it never unlocks.

_CREATE: Final = """
declare variable $state as xs:string external;
if (db:exists('DATABASE')) then () else db:create('DATABASE', parse-xml($state), 'state.xml')
"""

_DROP: Final = "db:drop('DATABASE')"

_READ_STATE: Final = """
let $state := db:open('DATABASE', 'state.xml')/state
return string-join(
  ($state/@format, $state/@round, $state/@version, $state/@next-replica, $state/@digest), ' ')
"""

_READ_INCARNATIONS: Final = "string(db:open('DATABASE', 'state.xml')/state/@incarnations)"

_READ_CHECKPOINT: Final = "db:retrieve('DATABASE', 'checkpoint')"

_READ_ENTRIES: Final = """
string-join(
  for $entry in db:open('DATABASE', 'log')/entry
  order by xs:integer($entry/@version)
  return string($entry),
  '&#10;')
"""

_READ_CLIENTS: Final = "string-join(db:open('DATABASE', 'clients')/client, '&#10;')"

# parse-json makes doubles of numbers, so all numbers are strings.
_WRITE: Final = """
declare variable $expected as xs:string external;
declare variable $changes as xs:string external;
declare variable $snapshot as xs:base64Binary external;

let $changes := parse-json($changes)
let $state := db:open('DATABASE', 'state.xml')/state
return if ($state/@digest ne $expected)
  then error(xs:QName('other-state'), 'the state is one of round ' || $state/@round)
  else (
    replace value of node $state/@round with $changes?round,
    replace value of node $state/@next-replica with $changes?next_replica,
    replace value of node $state/@digest with $changes?digest,
    for $entry in $changes?entries?*
    return db:add(
      'DATABASE', <entry version="{$entry?version}">{$entry?entry}</entry>,
      'log/' || $entry?version || '.xml'),
    for $client in $changes?clients?*
    return db:replace(
      'DATABASE', 'clients/' || $client?key || '.xml', <client>{$client?record}</client>),
    for $key in $changes?removed?*
    return db:delete('DATABASE', 'clients/' || $key || '.xml'),
    if (empty($changes?checkpoint)) then () else (
      replace value of node $state/@version with $changes?checkpoint,
      replace value of node $state/@format with $changes?format,
      if ($state/@incarnations)
        then replace value of node $state/@incarnations with $changes?incarnations
        else insert node attribute incarnations { $changes?incarnations } into $state,
      for $entry in db:open('DATABASE', 'log')/entry
      where xs:integer($entry/@version) le xs:integer($changes?checkpoint)
      return db:delete('DATABASE', 'log/' || $entry/@version || '.xml'),
      db:store('DATABASE', 'checkpoint', $snapshot)
    )
  )
"""


class _UnreadableError(Exception):
    """A database is damaged."""


class _Content:
    """What a database has, as a digest of all that does not depend on the order of writing: the sum
    of the digests of its parts."""

    def __init__(self) -> None:
        self.round = _EMPTY
        self.version = 0
        """Of the checkpoint."""
        self.next_replica = 1
        self.incarnations = ""
        """Of the checkpoint: the first version of each run, and the incarnation."""
        self._checkpoint = 0
        self._entries: dict[int, int] = {}
        self._clients: dict[str, int] = {}
        self._sum = 0

    def apply(self, changes: StateChanges, becomes: int) -> _EncodedChanges:
        """The content after changes, which are encoded on the way."""
        encoded = _EncodedChanges()
        self.round = becomes
        self.next_replica = changes.next_replica or self.next_replica
        for entry in changes.entries:
            text = encode_stored(entry)
            encoded.entries[entry.version] = text
            self._put(self._entries, entry.version, text)
        for name, record in changes.clients.items():
            if record is None:
                encoded.removed.append(_key(name))
                self._sum -= self._clients.pop(_key(name), 0)
            else:
                text = encode_stored(record)
                encoded.clients[_key(name)] = text
                self._put(self._clients, _key(name), text)
        if changes.checkpoint is not None:
            self.version = encoded.checkpoint = changes.checkpoint.version
            encoded.snapshot = changes.checkpoint.snapshot
            self.incarnations = " ".join(
                str(number) for run in changes.checkpoint.incarnations for number in run
            )
            self._checkpoint = _number("checkpoint", encoded.snapshot)
            for version in [each for each in self._entries if each <= self.version]:
                self._sum -= self._entries.pop(version)
                encoded.entries.pop(version, None)
        return encoded

    def _put(self, parts: dict[_K, int], key: _K, text: str) -> None:
        self._sum -= parts.get(key, 0)
        parts[key] = number = _number(str(key), text.encode())
        self._sum += number

    @property
    def digest(self) -> str:
        """The digest, in hexadecimal."""
        head = f"{self.round} {self.version} {self.next_replica} {self.incarnations}".rstrip()
        state = _number("state", head.encode())
        return f"{(state + self._checkpoint + self._sum) % (1 << 256):064x}"


@dataclass(slots=True)
class _EncodedChanges:
    """Changes as they are stored."""

    entries: dict[int, str] = field(default_factory=dict)
    """By version."""
    clients: dict[str, str] = field(default_factory=dict)
    """By key."""
    removed: list[str] = field(default_factory=list)
    """Keys."""
    checkpoint: int | None = None
    snapshot: bytes = b""


class BasexSyncStore:
    """Keeps the state of a server in two databases of a BaseX server.

    What is written survives the end of both processes at any point. Unlike SQLite, BaseX does not
    wait for the disk: after a power failure the last rounds may be missing.

    Parameters
    ----------
    server
        The BaseX server; the user needs the permission ``create``.
    name
        Name of the document: letters, digits, dots, hyphens and underscores. One store at a time
        may be open for it.

    Raises
    ------
    SyncError
        ``sync.basex``: the server cannot be reached, or refuses the user. ``sync.basex-damaged``:
        no database of the document can be read.
    WorkspaceError
        ``workspace.too-new``: a later version of Penstock wrote the state.
    """

    def __init__(self, server: BasexServer, name: str) -> None:
        self._server = server
        self._name = name
        self._content = _Content()
        self._session = BasexSession(server)
        try:
            self._loaded = self._recover()
        except BaseException:
            self._session.close()
            raise

    def load(self) -> StoredState | None:
        """What was written when the store was opened; ``None`` if nothing was. Call it once."""
        loaded, self._loaded = self._loaded, None
        return loaded

    def write(self, changes: StateChanges) -> None:
        """Writes all of the changes, or none. They survive when it returns.

        Raises
        ------
        SyncError
            ``sync.basex``: they cannot be written; open the store again.
            ``sync.basex-changed``: another server wrote the state.
        """
        if not changes:
            return
        if self._content.round == _EMPTY:
            for database in self._databases:
                self._create(database)
        self._write(changes, self._content.round + 1)

    def close(self) -> None:
        """Ends the session."""
        self._session.close()

    # Recovery

    def _recover(self) -> StoredState | None:
        """Reads the databases with the greatest numbers, and creates them again if they differ."""
        numbers = sorted(_numbers(self._session, self._name), reverse=True)
        readable: dict[int, _Content] = {}
        latest: tuple[_Content, StoredState] | None = None
        unreadable: list[str] = []
        for number in numbers:
            # While databases are created again, there are more than two.
            if len(readable) + len(unreadable) >= _COPIES and latest is not None:
                break
            try:
                content, state = self._read(self._database(number))
            except _UnreadableError as problem:
                unreadable.append(f"{self._database(number)}: {problem}")
                # BaseX may have left its side of the session unusable.
                self._session.close()
                self._session = BasexSession(self._server)
                continue
            readable[number] = content
            if state is not None and (latest is None or content.round > latest[0].round):
                latest = content, state
        if latest is None and len(unreadable) >= _COPIES:
            raise error("sync.basex-damaged", f"{self._where}: {'; '.join(unreadable)}")
        top = numbers[0] if numbers else 0
        if latest is None:
            # The databases of a new document are created before anything is acknowledged.
            self._databases = [self._database(top + at) for at in range(1, _COPIES + 1)]
            return None
        self._content, state = latest
        if len({each.digest for each in readable.values()}) == 1 and len(readable) == _COPIES:
            self._databases = [self._database(number) for number in readable]
        else:
            self._databases = [self._database(top + at) for at in range(1, _COPIES + 1)]
            self._write_whole(state)
            # A damaged one stays: BaseX may wait for it for ever.
            for number in readable:
                self._update(_DROP, self._database(number), {})
        return state

    def _read(self, database: str) -> tuple[_Content, StoredState | None]:
        """What a database has; no state if nothing was written to it."""

        def read(query: str) -> bytes:
            return self._session.query(query.replace("DATABASE", database))

        try:
            *state_numbers, digest = read(_READ_STATE).decode().split()
            written, round_number, version, next_replica = map(int, state_numbers)
        except (BasexQueryError, ValueError) as problem:
            raise _UnreadableError(str(problem)) from problem
        if written > FORMAT:
            message = f"{self._where} has format {written}; {FORMAT} is supported"
            raise error("workspace.too-new", message)
        if round_number == _EMPTY:
            return _Content(), None
        try:
            entries = read(_READ_ENTRIES).decode().splitlines()
            records = read(_READ_CLIENTS).decode().splitlines()
            clients = [decode_stored(record, ClientRecord) for record in records]
            numbers = [int(number) for number in read(_READ_INCARNATIONS).split()]
            runs = tuple(zip(numbers[::2], numbers[1::2], strict=True))
            state = StoredState(
                Checkpoint(version, read(_READ_CHECKPOINT), runs),
                [decode_stored(entry, LogEntry) for entry in entries],
                {record.client: record for record in sorted(clients, key=lambda each: each.client)},
                next_replica,
            )
        except (BasexQueryError, ValueError, KeyError, TypeError, AssertionError) as problem:
            raise _UnreadableError(str(problem)) from problem
        content = _Content()
        content.apply(_whole(state), round_number)
        if content.digest != digest:
            raise _UnreadableError("the content is not what was written")
        return content, state

    def _write_whole(self, state: StoredState) -> None:
        """Writes a state to new databases."""
        round_number, self._content = self._content.round, _Content()
        for database in self._databases:
            self._create(database)
        self._write(_whole(state), round_number)

    # Queries

    @property
    def _where(self) -> str:
        return f"{self._server}, document `{self._name}`"

    def _database(self, number: int) -> str:
        return f"{PREFIX}{self._name}-{number}"

    def _update(self, query: str, database: str, variables: dict[str, tuple[str, str]]) -> None:
        try:
            self._session.query(query.replace("DATABASE", database), variables)
        except BasexQueryError as refused:
            code = "sync.basex-changed" if refused.code == "other-state" else "sync.basex"
            raise error(code, f"{self._where}: {refused}") from refused

    def _create(self, database: str) -> None:
        """Makes an empty database, if there is none that can be read."""
        empty = _Content()
        state = (
            f'<state format="{FORMAT}" round="{empty.round}" version="{empty.version}"'
            f' next-replica="{empty.next_replica}" digest="{empty.digest}" incarnations=""/>'
        )
        self._update(_CREATE, database, {"state": (state, "xs:string")})

    def _write(self, changes: StateChanges, becomes: int) -> None:
        expected = self._content.digest
        encoded = self._content.apply(changes, becomes)
        plain = {
            "round": str(becomes),
            "next_replica": str(self._content.next_replica),
            "digest": self._content.digest,
            "entries": [
                {"version": str(version), "entry": text}
                for version, text in encoded.entries.items()
            ],
            "clients": [{"key": key, "record": text} for key, text in encoded.clients.items()],
            "removed": encoded.removed,
            "checkpoint": None if encoded.checkpoint is None else str(encoded.checkpoint),
            "incarnations": self._content.incarnations,
            "format": str(FORMAT),
        }
        variables = {
            "expected": (expected, "xs:string"),
            "changes": (json.dumps(plain), "xs:string"),
            "snapshot": (base64.b64encode(encoded.snapshot).decode(), "xs:base64Binary"),
        }
        for database in self._databases:
            self._update(_WRITE, database, variables)


def stored_documents(server: BasexServer) -> set[str]:
    """The names of the documents of a BaseX server."""
    with BasexSession(server) as session:
        return {name for name, _ in _listed(session)}


def _numbers(session: BasexSession, document: str) -> list[int]:
    return [number for name, number in _listed(session) if name == document]


def _listed(session: BasexSession) -> Iterator[tuple[str, int]]:
    """Documents and numbers of the databases that are there."""
    for database in session.query(_LIST).decode().split("\n"):
        found = _DATABASE.fullmatch(database)
        if found is not None:
            yield found[1], int(found[2])


def _whole(state: StoredState) -> StateChanges:
    """A state as the changes that write it to an empty database."""
    return StateChanges(
        list(state.entries), dict(state.clients), state.next_replica, state.checkpoint
    )


def _key(client: str) -> str:
    """The name of a client's resource; clients may have any name."""
    return hashlib.sha256(client.encode(errors="surrogatepass")).hexdigest()


def _number(key: str, content: bytes) -> int:
    """The digest of a part of the content."""
    return int.from_bytes(hashlib.sha256(key.encode() + b"\0" + content).digest())
