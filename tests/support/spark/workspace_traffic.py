"""Publishers and subscribers of a workspace, at random, with a memory of what they did."""

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
from support.strategies.query_kinds import kind_of

TOPICS = 4
BACKLOG_MAX = 8
"""Documents that may wait for the pipeline: it always has something to do, and never much."""

PAUSE_SECONDS = 0.1
"""Between two deeds."""

QUERIES = (
    "/news",
    "//flash",
    "/news/number[. > 20]",
    *(f"/news[topic = 't{topic}']" for topic in range(TOPICS)),
    "news flash",
    "t1 OR flash",
    "blitz",
)
"""Of both kinds."""


WIRE, FOREIGN = "wire", "foreign"
"""Two publishers: one whose documents are what subscriptions are about, and one with a mapping."""

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

WORDS = {b"news": b"nachrichten", b"topic": b"thema", b"number": b"nummer", b"flash": b"blitz"}

GLOBAL = read_tree("penstock schema 1\nnews ...\n")


def _in_other_words(content: bytes) -> bytes:
    for word, other in WORDS.items():
        content = content.replace(word, other)
    return content


def _header(publisher: str, number: str) -> Header:
    schema = FOREIGN_SCHEMA if publisher == FOREIGN else ""
    return Header(publisher=publisher, id=number, schema=schema)


@dataclass(frozen=True, slots=True)
class PublishedDocument:
    """A document, and when it was published in the order of deeds."""

    identity: str
    content: bytes
    meant: bytes
    """What it is under the global schema: the same, but for those that have a mapping."""
    sound: bool
    deed: int


@dataclass(slots=True)
class Interest:
    """A subscription, and what was done to it."""

    id: str
    query: str
    wants_the_past: bool
    """Then it is never paused or removed, and must be given every document there is."""
    changes: list[tuple[int, bool]] = field(default_factory=list)
    """In the order of deeds: from which on it was in force, or was not."""
    removed: bool = False

    @property
    def active(self) -> bool:
        return self.changes[-1][1]

    def always(self, active: bool, since: int) -> bool:
        """Whether it was, or was not, in force from that deed on to the end."""
        before = [state for deed, state in self.changes if deed <= since]
        after = [state for deed, state in self.changes if deed > since]
        return all(state == active for state in [*(before[-1:] or [False]), *after])


class Traffic:
    """Does one thing after the other in a thread of its own, until it is stopped.

    What it remembers is complete once it is stopped, or held.
    """

    def __init__(self, workspace: Path, chance: random.Random) -> None:
        self._path = workspace
        self._chance = chance
        self._committed = CommittedCounts(workspace)
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="traffic")
        self._deeds = 0
        self.documents: list[PublishedDocument] = []
        self.interests: dict[str, Interest] = {}
        with Workspace.open(workspace) as opened:
            self._register(opened)
            for query in QUERIES:
                self._subscribe(opened, query, wants_the_past=False)
            self._publish(opened)

    def hold(self) -> threading.Lock:
        """While it is held, nothing is published or changed but by the holder."""
        return self._lock

    def ask_for_the_past(self) -> None:
        """Subscribe to all there has been; only while holding."""
        with Workspace.open(self._path) as opened:
            self._subscribe(opened, "/news", wants_the_past=True)

    def backlog(self) -> int:
        """How many documents wait for the pipeline."""
        return len(self.documents) - self._committed.documents()

    def check(self) -> None:
        """Raise what went wrong in the thread."""
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
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            with Workspace.open(self._path) as opened:
                while not self._end.is_set():
                    with self._lock:
                        self._do_something(opened)
                    time.sleep(PAUSE_SECONDS)
        except BaseException as failure:  # told by check(), in the thread of the test
            self._failure = failure

    def _do_something(self, opened: Workspace) -> None:
        if self.backlog() >= BACKLOG_MAX:
            return
        plain = [each for each in self.interests.values() if not each.wants_the_past]
        choice = self._chance.random()
        if choice < 0.70 or not plain:
            self._publish(opened)
        elif choice < 0.75:
            self._register(opened)
        elif choice < 0.82:
            query = self._chance.choice(QUERIES)
            self._subscribe(opened, query, wants_the_past=self._chance.random() < 0.3)
        else:
            self._change(opened, self._chance.choice(plain))

    def _publish(self, opened: Workspace) -> None:
        self._deeds += 1
        made: list[PublishedDocument] = []
        for _ in range(self._chance.randint(1, 4)):
            number = len(self.documents) + len(made)
            sound = self._chance.random() > 0.1
            flash = b"<flash/>" if self._chance.random() < 0.2 else b""
            meant = b"<news><topic>t%d</topic><number>%d</number>%s%s" % (
                self._chance.randrange(TOPICS),
                number,
                flash,
                b"</news>" if sound else b"",
            )
            publisher = self._chance.choice((WIRE, FOREIGN))
            content = meant if publisher == WIRE else _in_other_words(meant)
            name = f"{publisher}/{number}"
            made.append(PublishedDocument(name, content, meant, sound, self._deeds))
        opened.publish(Document(each.content, _header(*each.identity.split("/"))) for each in made)
        self.documents += made

    def _register(self, opened: Workspace) -> None:
        """Give the foreign schema another mapping, which does the same."""
        self._deeds += 1
        text = MAPPING.format(unused=f"unused-{self._deeds}")
        with opened.mediation.changing() as mediator:
            mediator.add(mediator.next_version("wire", GLOBAL))
            mediator.register(FOREIGN_SCHEMA, Mapping.from_text(text), publisher=FOREIGN)

    def _subscribe(self, opened: Workspace, query: str, *, wants_the_past: bool) -> None:
        self._deeds += 1
        interest = Interest(f"s{len(self.interests)}", query, wants_the_past)
        self._add(opened, interest)
        interest.changes.append((self._deeds, True))
        self.interests[interest.id] = interest

    def _change(self, opened: Workspace, interest: Interest) -> None:
        """Remove, pause or take up again; sometimes with all that was missed."""
        self._deeds += 1
        if not interest.active and interest.removed:
            interest.wants_the_past = self._chance.random() < 0.5
            interest.removed = False
            self._add(opened, interest)
        elif interest.active and self._chance.random() < 0.5:
            interest.removed = True
            opened.subscriptions.remove([interest.id])
        else:
            opened.subscriptions.set_paused([interest.id], paused=interest.active)
        interest.changes.append((self._deeds, not interest.active))

    @staticmethod
    def _add(opened: Workspace, interest: Interest) -> None:
        opened.subscriptions.add(
            StoredSubscription(
                id=interest.id,
                subscriber=f"reader-{interest.id}",
                kind=kind_of(interest.query),
                query=interest.query,
                backfill="wanted" if interest.wants_the_past else "none",
            )
        )
