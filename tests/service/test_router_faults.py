"""Whatever happens while a router processes one document, only that document is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from penstock.documents import Document, Fragment, Header
from penstock.errors import DocumentError
from penstock.links import Message
from penstock.routing import LocalSubscription, RouterCounters
from penstock.routing.document_mappings import DocumentMappings
from penstock.routing.interest_index import InterestIndex
from penstock.service.router.engine import Job, JobResult, MessageQueued, Reported, RouterEngine
from penstock.workspace.layout import ROUTER_MARK
from penstock.workspace.progress_mark import MARK_BYTES, ProgressMark, mark_text
from penstock.workspace.router_store import RouterStore
from support.fixtures.repository import ROOT
from support.routing.one_router import document
from support.service import faulty_router
from support.service.faulty_router import GOOD, KILLER, SESSION, PanicException, wire

FAULTS = [
    (b"<flash><raise/></flash>", "RuntimeError"),
    (b"<flash><panic/></flash>", "PanicException"),
]


@contextmanager
def opened(folder: Path) -> Iterator[tuple[RouterEngine, RouterStore]]:
    with closing(RouterStore.open(folder, "r0")) as store:
        yield RouterEngine(store), store


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InterestIndex, "match", faulty_router.match)


def flash(returns: str = "document") -> LocalSubscription:
    return LocalSubscription(id="s1", subscriber="ada", query="//flash", returns=returns)  # type: ignore[arg-type]


def subscribe(engine: RouterEngine, subscription: LocalSubscription) -> None:
    engine.run([partial(RouterEngine.subscribe, subscriptions=[subscription])])


def publish(*contents: Document) -> list[Job]:
    return [partial(RouterEngine.publish, document=each) for each in contents]


def codes(store: RouterStore) -> list[tuple[str, str]]:
    return [(each.document.header.id, each.code) for each in store.dead_letters()]


def delivered(engine: RouterEngine) -> list[str]:
    return [each.document.header.id for each in engine.deliveries_after("ada", 0, 10)]


def assert_conserved(counts: RouterCounters) -> None:
    handled = counts.matched + counts.unmatched + counts.dead + counts.duplicates
    assert counts.received == handled


@pytest.mark.usefixtures("faulty")
@pytest.mark.parametrize(("content", "kind"), FAULTS)
def test_a_failure_while_a_document_is_matched_refuses_that_document(
    tmp_path: Path, content: bytes, kind: str
) -> None:
    with opened(tmp_path) as (engine, store):
        subscribe(engine, flash())
        documents = (document(b"<flash/>", 1), document(content, 2), document(b"<flash/>", 3))
        results, effects = engine.run(publish(*documents))
        assert [each.value.outcome for each in results] == ["accepted", "refused", "accepted"]
        assert results[1].value.code == "internal.error"
        assert [each.code for each in effects if isinstance(each, Reported)] == ["internal.error"]
        assert delivered(engine) == ["1", "3"]
        [letter] = store.dead_letters()
        assert letter.report is not None
        assert json.loads(letter.report)["type"] == kind
        assert_conserved(engine.router.counters)
    with opened(tmp_path) as (engine, _):
        [result], _ = engine.run(publish(documents[1]))
        assert result.value.outcome == "duplicate"


@pytest.mark.usefixtures("faulty")
@pytest.mark.parametrize(("content", "kind"), FAULTS)
def test_a_document_of_a_neighbour_that_fails_is_acknowledged(
    tmp_path: Path, content: bytes, kind: str
) -> None:
    failing = wire(document(content, 1))

    def receive(sequence: int, message: Message = failing) -> Job:
        return partial(
            RouterEngine.message_received,
            name="r1",
            session_id=SESSION,
            sequence=sequence,
            message=message,
        )

    with opened(tmp_path) as (engine, store):
        subscribe(engine, flash())
        results, _ = engine.run(
            [
                partial(RouterEngine.add_neighbour, name="r1"),
                partial(RouterEngine.link_established, name="r1", session_id=SESSION),
                receive(1),
                receive(2, wire(document(b"<flash/>", 2))),
            ]
        )
        assert results == [JobResult()] * 4
        assert codes(store) == [("1", "internal.error")], kind
        assert delivered(engine) == ["2"]
    with opened(tmp_path) as (engine, store):
        state, _, _ = engine.session_of("r1")
        assert state is not None
        assert state.stored == 2
        # In another session, the neighbour sends both again.
        again = b"1" * 16
        engine.run([partial(RouterEngine.link_established, name="r1", session_id=again)])
        engine.run(
            [
                partial(
                    RouterEngine.message_received,
                    name="r1",
                    session_id=again,
                    sequence=1,
                    message=failing,
                )
            ]
        )
        assert len(codes(store)) == 1
        assert engine.router.counters.duplicates == 1


def raises(*_: object, **__: object) -> None:
    raise PanicException("index out of bounds")


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (DocumentMappings, "select"),
        (InterestIndex, "match"),
        (InterestIndex, "select"),
        (Fragment, "to_xml"),
    ],
)
def test_nothing_of_a_document_that_fails_is_delivered_or_forwarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, name: str
) -> None:
    with opened(tmp_path) as (engine, store):
        subscribe(engine, flash("fragments"))
        engine.run(
            [
                partial(RouterEngine.add_neighbour, name="up"),
                partial(RouterEngine.add_neighbour, name="down"),
                partial(RouterEngine.link_established, name="up", session_id=SESSION),
            ]
        )
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, raises)
            _, effects = engine.run(publish(document(b"<flash/>", 1)))
        assert codes(store) == [("1", "internal.error")]
        assert not any(isinstance(each, MessageQueued) for each in effects)
        assert (delivered(engine), engine.router.waiting("down")) == ([], 0)
        counts = engine.router.counters
        assert (counts.deliveries, counts.forwards, counts.dead) == (0, 0, 1)
        assert_conserved(counts)
        engine.run(publish(document(b"<flash/>", 2)))
        assert (delivered(engine), engine.router.waiting("down")) == (["2"], 1)


def process(folder: Path, source: str) -> int:
    done = subprocess.run(
        [sys.executable, "-m", faulty_router.__name__, folder, source],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])},
        check=False,
    )
    return done.returncode


@pytest.mark.parametrize("source", ["neighbour", "publisher", "inbox"])
def test_a_document_that_ends_the_process_twice_is_refused(tmp_path: Path, source: str) -> None:
    with opened(tmp_path) as (engine, _):
        subscribe(engine, flash())
    assert process(tmp_path, source) == -signal.SIGKILL
    assert process(tmp_path, source) == -signal.SIGKILL
    with opened(tmp_path) as (engine, store):
        assert (delivered(engine), codes(store)) == ([], [])
    assert process(tmp_path, source) == 0
    with opened(tmp_path) as (engine, store):
        assert delivered(engine) == [GOOD.header.id]
        [letter] = store.dead_letters()
        assert (letter.document, letter.code) == (KILLER, "internal.worker")
        assert letter.report is not None
        assert json.loads(letter.report)["deaths"] == 2
        assert_conserved(engine.router.counters)
        assert store.count_unclean_end() == {}
        if source == "inbox":
            assert engine.journal_position == 2


def test_a_document_that_ended_the_process_once_is_processed(tmp_path: Path) -> None:
    with opened(tmp_path) as (engine, _):
        subscribe(engine, flash())
    assert process(tmp_path, "inbox") == -signal.SIGKILL
    with opened(tmp_path) as (engine, store):
        engine.run(faulty_router.inputs("inbox"))
        assert (delivered(engine), codes(store)) == (["1", "2"], [])
    with opened(tmp_path) as (_, store):
        assert store.count_unclean_end() == {}


def test_a_failure_that_ends_the_engine_counts_as_an_unclean_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        with opened(tmp_path) as (engine, _), monkeypatch.context() as patched:
            patched.setattr(RouterEngine, "_report", raises)
            with pytest.raises(PanicException):
                engine.run(publish(document(b"<a>", 1)))
    with opened(tmp_path) as (engine, store):
        engine.run(publish(document(b"<a>", 1)))
        assert codes(store) == [("1", "internal.worker")]


def test_a_refused_job_leaves_no_mark(tmp_path: Path) -> None:
    def refuse(engine: RouterEngine) -> None:
        store.mark.set("input")
        raise DocumentError("xml.root", "refused")

    with opened(tmp_path) as (engine, store):
        engine.run([refuse])
        assert store.mark.text == ""


def test_a_mark_outlives_its_process_and_is_bounded(tmp_path: Path) -> None:
    long = "inbox " + "ü" * MARK_BYTES
    for text in ("inbox 7", "x" * MARK_BYTES, long):
        with closing(ProgressMark(tmp_path / ROUTER_MARK)) as mark:
            mark.set(text)
        with closing(ProgressMark(tmp_path / ROUTER_MARK)) as mark:
            assert mark.text == mark_text(text)
            mark.clear()
            assert mark.text == ""
    assert mark_text(long) != mark_text(long + "1")
    assert (tmp_path / ROUTER_MARK).stat().st_size == MARK_BYTES
    assert (tmp_path / ROUTER_MARK).stat().st_mode & 0o077 == 0


def test_ends_of_many_documents_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.workspace.router_store.ROUTER_UNCLEAN_ENDS_MAX", 2)
    with closing(RouterStore.open(tmp_path, "r0")) as store:
        found = {}
        for number in range(3):
            store.mark.set(f"inbox {number}")
            found = store.count_unclean_end()
        assert found == {"inbox 2": 1}


def test_documents_are_published_under_a_long_name(tmp_path: Path) -> None:
    content = Document(b"<flash/>", Header(publisher="wire", id="x" * MARK_BYTES))
    with opened(tmp_path) as (engine, _):
        subscribe(engine, flash())
        engine.run(publish(content))
        assert delivered(engine) == [content.header.id]
