"""Random publishers and subscribers of a workspace, with a record of their actions."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.documents import Document, Header
from penstock.mediation import Mapping
from penstock.schema import read_tree
from penstock.workspace import StoredSubscription, Workspace
from support.spark.committed_counts import CommittedCounts
from support.spark.killed_publisher import publish_and_kill
from support.strategies.query_kinds import kind_of

TOPICS = 4
BACKLOG_MAX = 8
"""Documents that may wait for the pipeline, so that it always has work but never much."""

PAUSE_SECONDS = 0.1
"""Pause between two actions."""

KILLED_PUBLISHERS = 0.1
"""The share of publishers that are killed, and start again."""

QUERIES = (
    "/news",
    "//flash",
    "/news/number[. > 20]",
    *(f"/news[topic = 't{topic}']" for topic in range(TOPICS)),
    "news flash",
    "t1 OR flash",
    "blitz",
)
"""Queries of both kinds."""


WIRE, FOREIGN = "wire", "foreign"
"""Two publishers: one uses the global schema, the other one has a mapping."""

FOREIGN_SCHEMA = "nachrichten"

MAPPING = """penstock mapping 1
nachrichten
  => rename news
  {unused}?
  thema text
    => rename topic
  nummer text
    => rename number
  blitz?
    => rename flash
"""

TRANSLATION = {
    b"news": b"nachrichten",
    b"topic": b"thema",
    b"number": b"nummer",
    b"flash": b"blitz",
}

GLOBAL = read_tree("penstock schema 1\nnews ...\n")


def _to_foreign_schema(content: bytes) -> bytes:
    for word, other in TRANSLATION.items():
        content = content.replace(word, other)
    return content


def _header(publisher: str, number: str) -> Header:
    schema = FOREIGN_SCHEMA if publisher == FOREIGN else ""
    return Header(publisher=publisher, id=number, schema=schema)


@dataclass(frozen=True, slots=True)
class PublishedDocument:
    """A document, and the step at which it was published."""

    identity: str
    content: bytes
    mapped: bytes
    """The document under the global schema; the same unless it has a mapping."""
    valid: bool
    step: int


@dataclass(slots=True)
class Interest:
    """A subscription and its changes."""

    id: str
    query: str
    backfill: bool
    """If set, it is never paused or removed, and must receive every matching document."""
    changes: list[tuple[int, bool]] = field(default_factory=list)
    """The steps at which it became active or inactive, in order."""
    removed: bool = False

    @property
    def active(self) -> bool:
        return self.changes[-1][1]

    def always(self, active: bool, since: int) -> bool:
        """Whether it was in the given state from a step to the end."""
        before = [state for step, state in self.changes if step <= since]
        after = [state for step, state in self.changes if step > since]
        return all(state == active for state in [*(before[-1:] or [False]), *after])


class Traffic:
    """Performs random actions in a thread until stopped.

    Its records are complete while it is stopped or paused.
    """

    def __init__(self, workspace: Path, rng: random.Random) -> None:
        self._path = workspace
        self._rng = rng
        self._committed = CommittedCounts(workspace)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="traffic")
        self._step = 0
        self.documents: list[PublishedDocument] = []
        self.interests: dict[str, Interest] = {}
        with Workspace.open(workspace) as opened:
            self._register(opened)
            for query in QUERIES:
                self._subscribe(opened, query, backfill=False)
            self._publish(opened)

    def paused(self) -> threading.Lock:
        """While the lock is held, only the holder acts on the workspace."""
        return self._lock

    def request_backfill(self) -> None:
        """Add a subscription with a backfill; call it only while paused."""
        with Workspace.open(self._path) as opened:
            self._subscribe(opened, "/news", backfill=True)

    def backlog(self) -> int:
        """The number of documents that wait for the pipeline."""
        return len(self.documents) - self._committed.documents()

    def check(self) -> None:
        """Raise the exception that ended the thread, if any."""
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            with Workspace.open(self._path) as opened:
                while not self._stop.is_set():
                    with self._lock:
                        self._act(opened)
                    time.sleep(PAUSE_SECONDS)
        except BaseException as failure:  # raised by check(), in the test's thread
            self._failure = failure

    def _act(self, opened: Workspace) -> None:
        if self.backlog() >= BACKLOG_MAX:
            return
        plain = [each for each in self.interests.values() if not each.backfill]
        choice = self._rng.random()
        if choice < 0.70 or not plain:
            self._publish(opened)
        elif choice < 0.75:
            self._register(opened)
        elif choice < 0.82:
            query = self._rng.choice(QUERIES)
            self._subscribe(opened, query, backfill=self._rng.random() < 0.3)
        else:
            self._change(opened, self._rng.choice(plain))

    def _publish(self, opened: Workspace) -> None:
        self._step += 1
        published: list[PublishedDocument] = []
        for _ in range(self._rng.randint(1, 4)):
            number = len(self.documents) + len(published)
            valid = self._rng.random() > 0.1
            flash = b"<flash/>" if self._rng.random() < 0.2 else b""
            mapped = b"<news><topic>t%d</topic><number>%d</number>%s%s" % (
                self._rng.randrange(TOPICS),
                number,
                flash,
                b"</news>" if valid else b"",
            )
            publisher = self._rng.choice((WIRE, FOREIGN))
            content = mapped if publisher == WIRE else _to_foreign_schema(mapped)
            name = f"{publisher}/{number}"
            published.append(PublishedDocument(name, content, mapped, valid, self._step))
        documents = [
            Document(each.content, _header(*each.identity.split("/"))) for each in published
        ]
        if self._rng.random() < KILLED_PUBLISHERS:
            publish_and_kill(self._path, documents, self._rng)
        opened.publish(documents)  # those that the killed process published are skipped
        self.documents += published

    def _register(self, opened: Workspace) -> None:
        """Register another, equivalent mapping for the foreign schema."""
        self._step += 1
        text = MAPPING.format(unused=f"unused-{self._step}")
        with opened.mediation.changing() as mediator:
            mediator.add(mediator.next_version("wire", GLOBAL))
            mediator.register(FOREIGN_SCHEMA, Mapping.from_text(text), publisher=FOREIGN)

    def _subscribe(self, opened: Workspace, query: str, *, backfill: bool) -> None:
        self._step += 1
        interest = Interest(f"s{len(self.interests)}", query, backfill)
        self._add(opened, interest)
        interest.changes.append((self._step, True))
        self.interests[interest.id] = interest

    def _change(self, opened: Workspace, interest: Interest) -> None:
        """Remove, pause, resume or add again; the latter sometimes with a backfill."""
        self._step += 1
        if not interest.active and interest.removed:
            interest.backfill = self._rng.random() < 0.5
            interest.removed = False
            self._add(opened, interest)
        elif interest.active and self._rng.random() < 0.5:
            interest.removed = True
            opened.subscriptions.remove([interest.id])
        else:
            opened.subscriptions.set_paused([interest.id], paused=interest.active)
        interest.changes.append((self._step, not interest.active))

    @staticmethod
    def _add(opened: Workspace, interest: Interest) -> None:
        opened.subscriptions.add(
            StoredSubscription(
                id=interest.id,
                subscriber=f"reader-{interest.id}",
                kind=kind_of(interest.query),
                query=interest.query,
                backfill="wanted" if interest.backfill else "none",
            )
        )
