"""The durable state of a router, in SQLite.

A driver collects the effects of several inputs in a :class:`RouterTransaction` and commits them
together, before it acknowledges the inputs. Only what changed is written.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Self

from penstock.documents import DeadLetter, Document, Header
from penstock.errors import PenstockError, error
from penstock.routing import (
    ForwardedDocument,
    LocalSubscription,
    NeighbourState,
    RouterCounters,
    RouterState,
    StateChanges,
)
from penstock.routing.state_changes import ForgottenPublisher, RememberedIdentity, WindowChange
from penstock.routing.subscription_text import subscription_from_text, subscription_to_text
from penstock.workspace.database import Database
from penstock.workspace.document_numbers import DocumentNumbers
from penstock.workspace.layout import ROUTER_MARK, ROUTER_STATE
from penstock.workspace.limits import (
    ROUTER_DEAD_LETTER_BYTES_MAX,
    ROUTER_DEAD_LETTERS_MAX,
    ROUTER_UNCLEAN_ENDS_MAX,
)
from penstock.workspace.private_files import create_private
from penstock.workspace.progress_mark import ProgressMark
from penstock.workspace.router_format import check_format, prepare_tables
from penstock.workspace.router_records import (
    LinkChanges,
    LinkState,
    OutboxMessage,
    RouterTransaction,
    StoredDeadLetter,
    StoredDelivery,
    StoredRouter,
    SubscriberState,
)
from penstock.workspace.router_tables import REPORTS_SINCE
from penstock.workspace.timestamps import from_microseconds, to_microseconds, utc_now

LOCK: Final = "router"
"""Name of the lock that a running router holds."""


class RouterStore:
    """The SQLite file of a router.

    One thread uses it. After an error of :meth:`commit` the router has to be restored from the
    store: what the router knows is ahead of it.
    """

    def __init__(self, database: Database, name: str, mark: ProgressMark) -> None:
        self._database = database
        self.name = name
        self.mark = mark
        """Names the input that the router is working on."""
        self._documents = DocumentNumbers({})
        self._queues: dict[tuple[str, str, int], tuple[Document, int]] = {}
        """Documents of waiting and outbox rows: table, neighbour and position."""
        self._shifts: dict[str, int] = {}
        """Position of the first waiting document when it was loaded, by neighbour."""
        self._used = 0

    @classmethod
    def open(cls, folder: Path, name: str) -> Self:
        """Open the store of a workspace, or create it.

        Parameters
        ----------
        folder
            The folder of the workspace.
        name
            The router's name; an existing store has to have the same.

        Raises
        ------
        WorkspaceError
            ``workspace.damaged``, ``workspace.too-new`` or ``workspace.router-name``.
        """
        path = folder / ROUTER_STATE
        if not path.exists():
            create_private(path)
        database = Database(path)
        try:
            with database.write_transaction() as connection:
                prepare_tables(connection, path, name)
                (known,) = connection.execute("SELECT name FROM router").fetchone()
            if known != name:
                raise error(
                    "workspace.router-name",
                    f"{path} is the state of router `{known}`, not `{name}`",
                )
            mark = ProgressMark(folder / ROUTER_MARK)
        except BaseException:
            database.close()
            raise
        return cls(database, name, mark)

    def close(self) -> None:
        """Close the files."""
        self._database.close()
        self.mark.close()

    # Reading

    def load(self) -> StoredRouter:
        """Everything but the deliveries; to be called once, first.

        Raises
        ------
        WorkspaceError
            ``workspace.damaged``
        """
        try:
            with self._database.read_transaction() as connection:
                return self._load(connection)
        except (PenstockError, ValueError, LookupError, TypeError) as problem:
            if isinstance(problem, PenstockError) and problem.code.startswith("workspace."):
                raise
            path = self._database.path
            raise error("workspace.damaged", f"{path} cannot be read: {problem}") from problem

    def _load(self, connection: sqlite3.Connection) -> StoredRouter:
        name, store_id, counters, position = connection.execute(
            "SELECT name, store_id, counters, journal_position FROM router"
        ).fetchone()
        counts: Counter[int] = Counter()
        for table in ("waiting", "outbox", "deliveries", "dead_letters"):
            rows = connection.execute(
                f"SELECT document, count(*) FROM {table} WHERE document IS NOT NULL"
                " GROUP BY document"
            )
            counts.update(dict(rows.fetchall()))
        (largest,) = connection.execute("SELECT max(number) FROM documents").fetchone()
        self._documents = DocumentNumbers(counts)
        while self._documents.new() < (largest or 0):
            pass
        (self._used,) = connection.execute(
            "SELECT coalesce(max(used), 0) FROM publishers"
        ).fetchone()
        links, neighbours = self._load_neighbours(connection)
        subscriptions = connection.execute("SELECT definition FROM subscriptions ORDER BY number")
        subscribers = connection.execute("SELECT name, last, acknowledged FROM subscribers")
        state = RouterState(
            name=name,
            subscriptions=tuple(subscription_from_text(text) for (text,) in subscriptions),
            neighbours=tuple(neighbours),
            remembered=_load_remembered(connection),
            counters=RouterCounters(**json.loads(counters)),
        )
        return StoredRouter(
            store_id=store_id,
            state=state,
            links=links,
            subscribers={
                each: SubscriberState(last, acknowledged)
                for each, last, acknowledged in subscribers
            },
            delivery_bytes=_load_delivery_bytes(connection),
            journal_position=position,
            set_aside=dict(
                connection.execute("SELECT subscription, documents FROM set_aside").fetchall()
            ),
        )

    def _load_neighbours(
        self, connection: sqlite3.Connection
    ) -> tuple[dict[str, LinkState], list[NeighbourState]]:
        contents: dict[int, Document] = {}

        def document(number: int) -> Document:
            # One object for each document, however many neighbours it waits for.
            if number not in contents:
                contents[number] = _read_document(connection, number)
            return contents[number]

        links, states = {}, []
        rows = connection.execute(
            "SELECT name, is_known, requests, session_id, base, sent, stored FROM neighbours"
            " ORDER BY number"
        ).fetchall()
        for name, is_known, requests, session_id, base, sent, stored in rows:
            link = links[name] = LinkState(session_id, base, sent, stored)
            for position, number, mapping, added, kind, payload in connection.execute(
                "SELECT position, document, mapping, annotations, kind, payload FROM outbox"
                " WHERE neighbour = ? ORDER BY position",
                (name,),
            ):
                forwarded = None
                if number is not None:
                    forwarded = ForwardedDocument(
                        document=document(number), mapping=mapping, annotations=added
                    )
                    self._hold("outbox", name, position, forwarded.document, number)
                link.outbox.append(OutboxMessage(position, forwarded, kind, payload))
            waiting = []
            for position, number, mapping, added in connection.execute(
                "SELECT position, document, mapping, annotations FROM waiting"
                " WHERE neighbour = ? ORDER BY position",
                (name,),
            ):
                self._shifts.setdefault(name, position)
                waiting.append(
                    ForwardedDocument(document=document(number), mapping=mapping, annotations=added)
                )
                self._hold("waiting", name, position, document(number), number)
            patterns = connection.execute(
                "SELECT key FROM patterns WHERE neighbour = ? ORDER BY digest", (name,)
            )
            states.append(
                NeighbourState(
                    name=name,
                    patterns=tuple(key for (key,) in patterns) if is_known else None,
                    waiting=tuple(waiting),
                    requests=requests,
                )
            )
        return links, states

    def _hold(self, table: str, name: str, position: int, document: Document, number: int) -> None:
        """Notes the document of a row that was loaded, which is counted already."""
        self._documents.refer(number, document)
        self._documents.release(number)
        self._queues[table, name, position] = (document, number)

    def deliveries_after(self, subscriber: str, number: int, limit: int) -> list[StoredDelivery]:
        """The next deliveries to a subscriber that are not acknowledged, in order."""
        with self._database.read_transaction() as connection:
            rows = connection.execute(
                "SELECT number, subscription, fragments, fragments_omitted, document"
                " FROM deliveries WHERE subscriber = ? AND number > ? ORDER BY number LIMIT ?",
                (subscriber, number, limit),
            ).fetchall()
            return [
                StoredDelivery(
                    subscriber=subscriber,
                    number=each,
                    subscription=subscription,
                    document=_read_document(connection, document),
                    fragments=fragments,
                    fragments_omitted=omitted,
                )
                for each, subscription, fragments, omitted, document in rows
            ]

    def dead_letters(self) -> list[StoredDeadLetter]:
        """The latest refused documents, oldest first."""
        with self._database.read_transaction() as connection:
            return list(_read_dead_letters(connection))

    def own_documents(self, after: int, upto: int) -> set[int]:
        """Sequence numbers, in a range, of documents that the router itself put into the inbox."""
        with self._database.read_transaction() as connection:
            rows = connection.execute(
                "SELECT sequence FROM own_documents WHERE sequence > ? AND sequence <= ?",
                (after, upto),
            )
            return {sequence for (sequence,) in rows}

    # Writing

    def count_unclean_end(self) -> dict[str, int]:
        """How often the process ended while it was working on an input, by mark.

        To be called once, before the first input: counts the last end, unless it was clean.
        """
        mark = self.mark.text
        with self._database.write_transaction() as connection:
            (known,) = connection.execute("SELECT count(*) FROM unclean_ends").fetchone()
            if mark and known >= ROUTER_UNCLEAN_ENDS_MAX:
                connection.execute("DELETE FROM unclean_ends")
            if mark:
                connection.execute(
                    "INSERT INTO unclean_ends (mark, ends) VALUES (?, 1)"
                    " ON CONFLICT (mark) DO UPDATE SET ends = ends + 1",
                    (mark,),
                )
            found = dict(connection.execute("SELECT mark, ends FROM unclean_ends").fetchall())
        self.mark.clear()
        return found

    def commit(self, transaction: RouterTransaction) -> None:
        """Writes effects in one transaction.

        Raises
        ------
        WorkspaceError
            ``workspace.full`` or ``workspace.busy``: nothing was written.
        """
        with self._database.write_transaction() as connection:
            writer = _Writer(connection, self._documents, self._queues)
            # Documents that move from one table to another are referred to before they are
            # released, so that they stay.
            for name, link in transaction.links.items():
                writer.add_messages(name, link)
            if transaction.changes is not None:
                self._write_changes(connection, writer, transaction.changes)
            for name, link in transaction.links.items():
                writer.remove_messages(name, link.removed_upto)
                _write_link(connection, name, link.state)
            for each in transaction.deliveries:
                writer.add_delivery(each)
            for name, numbers in transaction.subscribers.items():
                writer.update_subscriber(name, numbers)
            if transaction.dead_letters:
                writer.add_dead_letters(transaction.dead_letters)
            connection.executemany(
                "INSERT OR IGNORE INTO own_documents (sequence) VALUES (?)",
                [(each,) for each in transaction.own_documents],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO set_aside (subscription, documents) VALUES (?, ?)",
                list(transaction.set_aside.items()),
            )
            connection.executemany(
                "DELETE FROM set_aside WHERE subscription = ?",
                [(each,) for each, documents in transaction.set_aside.items() if not documents],
            )
            connection.executemany(
                "DELETE FROM unclean_ends WHERE mark = ?",
                [(each,) for each in transaction.handled],
            )
            if transaction.journal_position is not None:
                position = (transaction.journal_position,)
                connection.execute("UPDATE router SET journal_position = ?", position)
                connection.execute("DELETE FROM own_documents WHERE sequence <= ?", position)
            writer.remove_documents()

    def _write_changes(
        self, connection: sqlite3.Connection, writer: _Writer, changes: StateChanges
    ) -> None:
        log = changes.log
        connection.executemany(
            "DELETE FROM subscriptions WHERE id = ?", [(each,) for each in log.unsubscribed]
        )
        _add_subscriptions(connection, log.subscribed.values())
        for name, values in changes.neighbours.items():
            connection.execute(
                "INSERT INTO neighbours"
                " (name, is_known, requests, session_id, base, sent, stored)"
                " VALUES (?, ?, ?, x'', 0, 0, 0) ON CONFLICT (name) DO UPDATE"
                " SET is_known = excluded.is_known, requests = excluded.requests"
                " WHERE is_known <> excluded.is_known OR requests <> excluded.requests",
                (name, int(values.is_known), values.requests),
            )
        for name, neighbour in log.neighbours.items():
            connection.executemany(
                "DELETE FROM patterns WHERE neighbour = ? AND digest = ?",
                [(name, digest) for digest in neighbour.patterns.removed],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO patterns (neighbour, digest, key) VALUES (?, ?, ?)",
                [
                    (name, digest, pattern.key)
                    for digest, pattern in neighbour.patterns.added.items()
                ],
            )
            shift = self._shifts.get(name, 0)
            for position in neighbour.waiting.removed:
                writer.remove_waiting(name, position + shift)
            for position, document in neighbour.waiting.added.items():
                writer.add_waiting(name, position + shift, document)
        self._write_window(connection, log.window)
        connection.execute(
            "UPDATE router SET counters = ?", (json.dumps(dataclasses.asdict(changes.counters)),)
        )

    def _write_window(
        self, connection: sqlite3.Connection, changes: Iterable[WindowChange]
    ) -> None:
        for change in changes:
            match change:
                case RememberedIdentity(publisher=publisher, added=added, evicted=evicted):
                    self._used += 1
                    connection.execute(
                        "INSERT INTO publishers (name, used) VALUES (?, ?)"
                        " ON CONFLICT (name) DO UPDATE SET used = excluded.used",
                        (publisher, self._used),
                    )
                    if added is not None:
                        connection.execute(
                            "INSERT INTO remembered (publisher, digest, number) VALUES (?, ?, ?)",
                            (publisher, added, self._used),
                        )
                    if evicted is not None:
                        connection.execute(
                            "DELETE FROM remembered WHERE publisher = ? AND digest = ?",
                            (publisher, evicted),
                        )
                case ForgottenPublisher(publisher=publisher):
                    connection.execute("DELETE FROM publishers WHERE name = ?", (publisher,))
                    connection.execute("DELETE FROM remembered WHERE publisher = ?", (publisher,))


def read_dead_letters(folder: Path) -> Iterator[StoredDeadLetter]:
    """The latest documents that the router of a workspace refused, oldest first.

    They are read one after the other, since all of them may not fit into memory. The router may be
    running.

    Raises
    ------
    WorkspaceError
        ``workspace.no-router``, ``workspace.damaged`` or ``workspace.too-new``
    """
    path = folder / ROUTER_STATE
    if not path.exists():
        raise error("workspace.no-router", f"{folder} has no state of a router")
    database = Database(path)
    with closing(database), database.read_transaction() as connection:
        has_reports = check_format(connection, path) >= REPORTS_SINCE
        yield from _read_dead_letters(connection, has_reports=has_reports)


def forget_neighbour(folder: Path, name: str) -> None:
    """Remove a neighbour that is no longer one, with all that waits for it.

    The caller holds the lock of the router.

    Raises
    ------
    WorkspaceError
        ``workspace.no-router``
    RoutingError
        ``routing.neighbour``: there is no such neighbour.
    """
    path = folder / ROUTER_STATE
    if not path.exists():
        raise error("workspace.no-router", f"{folder} has no state of a router")
    database = Database(path)
    with closing(database), database.write_transaction() as connection:
        check_format(connection, path)
        found = connection.execute("DELETE FROM neighbours WHERE name = ?", (name,)).rowcount
        if not found:
            raise error("routing.neighbour", f"there is no neighbour `{name}`")
        for table in ("patterns", "waiting", "outbox"):
            connection.execute(f"DELETE FROM {table} WHERE neighbour = ?", (name,))
        connection.execute(
            "DELETE FROM documents WHERE number NOT IN (SELECT document FROM waiting)"
            " AND number NOT IN (SELECT document FROM outbox WHERE document IS NOT NULL)"
            " AND number NOT IN (SELECT document FROM deliveries)"
            " AND number NOT IN (SELECT document FROM dead_letters)"
        )


class _Writer:
    """Writes the rows that refer to documents."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        documents: DocumentNumbers,
        queues: dict[tuple[str, str, int], tuple[Document, int]],
    ) -> None:
        self._connection = connection
        self._documents = documents
        self._queues = queues
        self._new: dict[int, tuple[Document, int]] = {}
        """Documents that this transaction has stored, by ``id``."""
        self._unreferenced: list[int] = []

    def _number(self, document: Document) -> int:
        """The number of a document, which is stored if it is not."""
        number = self._documents.of(document)
        if number is not None:
            return number
        if id(document) in self._new:
            return self._new[id(document)][1]
        number = self._documents.new()
        self._new[id(document)] = (document, number)
        header = document.header
        self._connection.execute(
            "INSERT INTO documents (number, publisher, schema, id, fields, content)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                number,
                header.publisher,
                header.schema,
                header.id,
                json.dumps(dict(header.fields), ensure_ascii=False),
                document.content,
            ),
        )
        return number

    def _enqueue(self, table: str, name: str, position: int, document: Document) -> int:
        number = self._number(document)
        self._documents.refer(number, document)
        self._queues[table, name, position] = (document, number)
        return number

    def _dequeue(self, table: str, name: str, position: int) -> None:
        held = self._queues.pop((table, name, position), None)
        if held is not None and self._documents.release(held[1], held[0]):
            self._unreferenced.append(held[1])

    def add_messages(self, name: str, link: LinkChanges) -> None:
        """Messages to a neighbour."""
        for each in link.added:
            if each.position <= link.removed_upto:
                continue
            number, mapping, added = None, "", b""
            if each.document is not None:
                number = self._enqueue("outbox", name, each.position, each.document.document)
                mapping, added = each.document.mapping, each.document.annotations
            self._connection.execute(
                "INSERT INTO outbox"
                " (neighbour, position, document, mapping, annotations, kind, payload)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (name, each.position, number, mapping, added, each.kind, each.payload),
            )

    def remove_messages(self, name: str, upto: int) -> None:
        """Messages that a neighbour has acknowledged, or that wait again."""
        rows = self._connection.execute(
            "DELETE FROM outbox WHERE neighbour = ? AND position <= ? RETURNING position",
            (name, upto),
        ).fetchall()
        for (position,) in rows:
            self._dequeue("outbox", name, position)

    def add_waiting(self, name: str, position: int, forwarded: ForwardedDocument) -> None:
        """A document waits for a link."""
        number = self._enqueue("waiting", name, position, forwarded.document)
        self._connection.execute(
            "INSERT INTO waiting (neighbour, position, document, mapping, annotations)"
            " VALUES (?, ?, ?, ?, ?)",
            (name, position, number, forwarded.mapping, forwarded.annotations),
        )

    def remove_waiting(self, name: str, position: int) -> None:
        """A document waits no more."""
        self._connection.execute(
            "DELETE FROM waiting WHERE neighbour = ? AND position = ?", (name, position)
        )
        self._dequeue("waiting", name, position)

    def add_delivery(self, delivery: StoredDelivery) -> None:
        """A document is delivered."""
        number = self._number(delivery.document)
        self._documents.refer(number)
        self._connection.execute(
            "INSERT INTO deliveries"
            " (subscriber, number, document, subscription, fragments, fragments_omitted)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                delivery.subscriber,
                delivery.number,
                number,
                delivery.subscription,
                delivery.fragments,
                delivery.fragments_omitted,
            ),
        )

    def update_subscriber(self, name: str, numbers: SubscriberState) -> None:
        """A subscriber's numbers; what is acknowledged is removed."""
        self._connection.execute(
            "INSERT OR REPLACE INTO subscribers (name, last, acknowledged) VALUES (?, ?, ?)",
            (name, numbers.last, numbers.acknowledged),
        )
        rows = self._connection.execute(
            "DELETE FROM deliveries WHERE subscriber = ? AND number <= ? RETURNING document",
            (name, numbers.acknowledged),
        ).fetchall()
        for (number,) in rows:
            if self._documents.release(number):
                self._unreferenced.append(number)

    def add_dead_letters(self, dead_letters: Iterable[DeadLetter]) -> None:
        """Documents were refused; only the latest are kept."""
        now = to_microseconds(utc_now())
        for each in dead_letters:
            number = self._number(each.document)
            self._documents.refer(number)
            self._connection.execute(
                "INSERT INTO dead_letters (document, code, message, refused_at, report)"
                " VALUES (?, ?, ?, ?, ?)",
                (number, each.code, each.message, now, each.report),
            )
        rows = self._connection.execute(
            "DELETE FROM dead_letters WHERE number <= ? RETURNING document",
            (self._last_excess_dead_letter(),),
        ).fetchall()
        for (number,) in rows:
            if self._documents.release(number):
                self._unreferenced.append(number)

    def _last_excess_dead_letter(self) -> int:
        """The number of the latest dead letter that exceeds a limit; 0 if there is none."""
        sizes = self._connection.execute(
            "SELECT dead_letters.number, length(content) FROM dead_letters"
            " JOIN documents ON documents.number = document ORDER BY dead_letters.number DESC"
        ).fetchall()
        total = 0
        for count, (number, size) in enumerate(sizes):
            total += size
            if count >= ROUTER_DEAD_LETTERS_MAX or (count and total > ROUTER_DEAD_LETTER_BYTES_MAX):
                return int(number)
        return 0

    def remove_documents(self) -> None:
        """Removes the documents that nothing refers to."""
        self._connection.executemany(
            "DELETE FROM documents WHERE number = ?",
            [(each,) for each in self._unreferenced if not self._documents.is_used(each)],
        )


def _write_link(connection: sqlite3.Connection, name: str, link: LinkState) -> None:
    connection.execute(
        "UPDATE neighbours SET session_id = ?, base = ?, sent = ?, stored = ? WHERE name = ?",
        (link.session_id, link.base, link.sent, link.stored, name),
    )


def _add_subscriptions(
    connection: sqlite3.Connection, subscriptions: Iterable[LocalSubscription]
) -> None:
    connection.executemany(
        "INSERT INTO subscriptions (id, definition) VALUES (?, ?)",
        [(each.id, subscription_to_text(each)) for each in subscriptions],
    )


def _load_delivery_bytes(connection: sqlite3.Connection) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for subscriber, number, size in connection.execute(
        "SELECT subscriber, deliveries.number, length(content) + coalesce(length(fragments), 0)"
        " FROM deliveries JOIN documents ON documents.number = document"
    ):
        found.setdefault(subscriber, {})[number] = size
    return found


def _load_remembered(
    connection: sqlite3.Connection,
) -> tuple[tuple[str, tuple[bytes, ...]], ...]:
    digests: dict[str, list[bytes]] = {
        name: [] for (name,) in connection.execute("SELECT name FROM publishers ORDER BY used")
    }
    for publisher, digest in connection.execute(
        "SELECT publisher, digest FROM remembered ORDER BY number"
    ):
        digests[publisher].append(digest)
    return tuple((publisher, tuple(each)) for publisher, each in digests.items())


def _read_dead_letters(
    connection: sqlite3.Connection, *, has_reports: bool = True
) -> Iterator[StoredDeadLetter]:
    report = "report" if has_reports else "NULL"
    rows = connection.execute(
        f"SELECT number, document, code, message, refused_at, {report} FROM dead_letters"
        " ORDER BY number"
    ).fetchall()
    for number, document, code, message, refused_at, report_text in rows:
        time = from_microseconds(refused_at)
        assert time is not None
        yield StoredDeadLetter(
            number=number,
            document=_read_document(connection, document),
            code=code,
            message=message,
            refused_at=time,
            report=report_text,
        )


def _read_document(connection: sqlite3.Connection, number: int) -> Document:
    row: Any = connection.execute(
        "SELECT publisher, schema, id, fields, content FROM documents WHERE number = ?", (number,)
    ).fetchone()
    if row is None:
        raise error("workspace.damaged", f"document {number} of the router's state is missing")
    publisher, schema, id_, fields, content = row
    header = Header(publisher=publisher, schema=schema, id=id_, fields=json.loads(fields))
    return Document(content, header)
