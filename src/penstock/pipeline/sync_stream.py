"""Synchronisation as a stream: requests in, messages out, the documents in Spark's state store.

Requests are keyed by document. Each micro-batch is a round of the document's server core, which is
the one that ``penstock sync serve`` runs. What the server keeps is in state variables, so Spark
commits it together with the progress of the stream: a micro-batch that is executed again after a
failure starts from the same state and gives the same messages.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypedDict

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from penstock.errors import PenstockError, error
from penstock.extras import require_sync_extra
from penstock.pipeline.limits import (
    CACHED_SYNC_NODES_MAX,
    STREAM_CHECKPOINT_ENTRIES,
    STREAM_HORIZON_ENTRIES,
    SYNC_ROUND_REQUESTS_MAX,
)
from penstock.sync import Server, StateChanges, StoredState
from penstock.sync.message_codec import (
    decode_entries,
    decode_record,
    decode_request,
    encode_entries,
    encode_messages,
    encode_record,
)
from penstock.sync.messages import Message, Request
from penstock.sync.request_round import Round, run_round
from penstock.sync.server_state import Checkpoint, ClientRecord


class _LogOptions(TypedDict):
    horizon: int
    checkpoint_entries: int


MESSAGES: Final = (
    "document STRING, position LONG, client STRING, messages BINARY, code STRING, message STRING"
)
"""Columns of the result: the answer to the request with this position, or why it was refused. A
message that a connected client did not request has no position."""

_LOG_OPTIONS: Final[_LogOptions] = {
    "horizon": STREAM_HORIZON_ENTRIES,
    "checkpoint_entries": STREAM_CHECKPOINT_ENTRIES,
}


def synchronise_documents(requests: DataFrame) -> DataFrame:
    """Runs a synchronisation server for each document of a stream, or of a table.

    Parameters
    ----------
    requests
        Columns: ``document``, a name; ``position``, a number by which the requests of a document
        are ordered within a micro-batch; ``request``, an encoded request
        (:func:`penstock.sync.message_codec.encode_request`); ``content``, the XML document that
        creates the document, in rows without a request; optionally ``connected``, whether the
        client of the request is also sent what it does not request, until a request of its that
        is not connected.

    Returns
    -------
    A row for each request: ``messages``, encoded, or ``code`` and ``message`` of the error. And a
    row without ``position`` for each connected client that requested nothing in the round and that
    an update affects.

    Notes
    -----
    Spark supports state variables with the RocksDB state store only; set
    ``spark.sql.streaming.stateStore.providerClass`` to
    ``org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider``.
    """
    require_sync_extra("msgspec")
    return requests.groupBy("document").transformWithState(
        statefulProcessor=SyncProcessor(),
        outputStructType=MESSAGES,
        outputMode="Append",
        timeMode="None",
    )


class SyncProcessor(StatefulProcessor):
    """The server of a document, restored from state variables."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declares the state variables."""
        self._checkpoint = handle.getValueState("checkpoint", "version LONG, snapshot BINARY")
        self._head = handle.getValueState("head", "next_replica LONG, writer STRING")
        # The entries of a micro-batch are one value, by the version of the last: each access to a
        # state variable is a request to the JVM.
        self._entries = handle.getMapState("entries", "version LONG", "entries BINARY")
        self._clients = handle.getMapState("clients", "name STRING", "record BINARY")
        # The connected clients, and the version that the last message brings each to.
        self._connected = handle.getMapState("connected", "name STRING", "sent LONG")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,  # noqa: ANN401
        rows: Iterator[Any],
        timerValues: object,  # noqa: N803
    ) -> Iterator[Row]:
        """Runs rounds with the requests of a micro-batch."""
        (document,) = key
        ordered = sorted(rows, key=lambda row: (row["request"] is not None, row["position"]))
        opened = self._open(document)
        is_new = False
        for row in (row for row in ordered if row["request"] is None):
            try:
                if opened is not None:
                    raise error("sync.document", "the document exists")
                content = bytes(row["content"] or b"")
                opened = _OpenDocument(Server.of_document(content, **_LOG_OPTIONS))
                is_new = True
            except PenstockError as refused:
                yield _refusal(document, row, refused)
        waiting = [row for row in ordered if row["request"] is not None]
        for start in range(0, len(waiting), SYNC_ROUND_REQUESTS_MAX):
            yield from _answers(document, opened, waiting[start : start + SYNC_ROUND_REQUESTS_MAX])
        if opened is not None and (is_new or waiting):
            self._store(document, opened)

    def close(self) -> None:
        """Nothing is open."""

    def _open(self, document: str) -> _OpenDocument | None:
        """The server of the stored state; from memory if it is the one that wrote that."""
        if not self._head.exists():
            return None
        next_replica, writer = self._head.get()  # type: ignore[misc]
        known = _SERVERS.take(document)
        if known is not None and known[0] == writer:
            return known[1]
        version, snapshot = self._checkpoint.get()  # type: ignore[misc]
        batches = sorted((last, bytes(data)) for (last,), (data,) in self._entries.iterator())
        entries = [entry for _, data in batches for entry in decode_entries(data)]
        state = StoredState(
            Checkpoint(version, bytes(snapshot)),
            # A checkpoint may be in the middle of a micro-batch.
            [entry for entry in entries if entry.version > version],
            {name: _client(bytes(record)) for (name,), (record,) in self._clients.iterator()},
            next_replica,
        )
        opened = _OpenDocument(Server(state, **_LOG_OPTIONS))
        for (name,), (sent,) in self._connected.iterator():
            opened.server.connect(name, sent)
            opened.connected[name] = sent
        return opened

    def _store(self, document: str, opened: _OpenDocument) -> None:
        changes: StateChanges = opened.server.take_changes()
        if changes.entries:
            last = changes.entries[-1].version
            self._entries.updateValue((last,), (encode_entries(tuple(changes.entries)),))
        if changes.checkpoint is not None:
            start = changes.checkpoint.version
            self._checkpoint.update((start, changes.checkpoint.snapshot))
            for (last,) in list(self._entries.keys()):
                if last <= start:
                    self._entries.removeKey((last,))
        for name, record in changes.clients.items():
            if record is None:
                self._clients.removeKey((name,))
            else:
                self._clients.updateValue((name,), (encode_record(record),))
        for name in sorted(opened.take_changed()):
            if name in opened.connected:
                self._connected.updateValue((name,), (opened.connected[name],))
            else:
                self._connected.removeKey((name,))
        next_replica = changes.next_replica
        if next_replica is None:
            next_replica = self._head.get()[0] if self._head.exists() else 1  # type: ignore[index]
        # A server in memory is used again only if the stored state is what it wrote: a micro-batch
        # that failed has changed the server, but not the state.
        writer = secrets.token_hex(16)
        self._head.update((next_replica, writer))
        _SERVERS.put(document, (writer, opened))


class _OpenDocument:
    """The server of a document and its connected clients."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.connected: dict[str, int] = {}
        """The version that the last message brings each connected client to."""
        self._changed: set[str] = set()

    def run_round(self, requests: Sequence[tuple[Request, bool]]) -> Round:
        """Runs a round with requests, each with whether its client stays connected."""
        # The last request of a client counts.
        stays = {request.client: is_connected for request, is_connected in requests}
        done = run_round(
            self.server,
            [request for request, _ in requests],
            connected=[name for name, is_connected in stays.items() if is_connected],
        )
        for name in (*stays, *(message.client for message in done.pushed)):
            sent = self.server.sent_version(name)
            if sent is None:
                known = self.connected.pop(name, None)
                self._changed.update(() if known is None else (name,))
            elif self.connected.get(name) != sent:
                self.connected[name] = sent
                self._changed.add(name)
        return done

    def take_changed(self) -> set[str]:
        """The clients whose connection or version has changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed


def _answers(document: str, opened: _OpenDocument | None, rows: Sequence[Any]) -> Iterator[Row]:
    decoded: list[tuple[Any, Request]] = []
    for row in rows:
        try:
            if opened is None:
                raise error("sync.document", "there is no such document")
            decoded.append((row, decode_request(bytes(row["request"]))))
        except PenstockError as refused:
            yield _refusal(document, row, refused)
    if opened is None or not decoded:
        return
    done = opened.run_round(
        [(request, bool(getattr(row, "connected", None))) for row, request in decoded]
    )
    for (row, request), answer in zip(decoded, done.answers, strict=True):
        if isinstance(answer, PenstockError):
            yield _refusal(document, row, answer)
        else:
            yield _row(document, row["position"], request.client, answer)
    for message in done.pushed:
        yield _row(document, None, message.client, (message,))


def _refusal(document: str, row: Any, refused: PenstockError) -> Row:  # noqa: ANN401
    return _row(document, row["position"], None, code=refused.code, message=refused.message)


def _row(
    document: str,
    position: int | None,
    client: str | None,
    messages: tuple[Message, ...] | None = None,
    *,
    code: str | None = None,
    message: str | None = None,
) -> Row:
    return Row(
        document=document,
        position=position,
        client=client,
        messages=None if messages is None else bytearray(encode_messages(messages)),
        code=code,
        message=message,
    )


def _client(data: bytes) -> ClientRecord:
    record = decode_record(data)
    assert isinstance(record, ClientRecord)
    return record


class _CachedServers:
    """Servers of this worker by document, with the name under which each wrote the state."""

    def __init__(self) -> None:
        self._servers: OrderedDict[str, tuple[str, _OpenDocument]] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._size = 0

    def take(self, document: str) -> tuple[str, _OpenDocument] | None:
        """Removes a server: whoever takes it is going to change it."""
        self._size -= self._sizes.pop(document, 0)
        return self._servers.pop(document, None)

    def put(self, document: str, opened: tuple[str, _OpenDocument]) -> None:
        """Adds a server, and drops the oldest beyond the limit."""
        self.take(document)
        server = opened[1].server
        size = len(server.tree) + len(server.log)
        self._servers[document] = opened
        self._sizes[document] = size
        self._size += size
        while self._size > CACHED_SYNC_NODES_MAX:
            self.take(next(iter(self._servers)))

    def clear(self) -> None:
        """Drops all servers."""
        self._servers.clear()
        self._sizes.clear()
        self._size = 0


_SERVERS: Final = _CachedServers()
