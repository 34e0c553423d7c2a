"""The router with its store: after any history, the store has the state of the router."""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.documents import Document, Header, Limits
from penstock.errors import LinkError, PenstockError, RoutingError, WorkspaceError
from penstock.links import Message
from penstock.routing import (
    AnnotationReport,
    DigestConfirmation,
    DigestRequest,
    ForwardedDocument,
    LocalSubscription,
    Pattern,
    Router,
    RouterLimits,
    RouterMessage,
    SubscriptionDelta,
    SubscriptionSnapshot,
    digest_of,
)
from penstock.service.router.engine import (
    WORKSPACE,
    DeliveriesAdded,
    Job,
    MessageQueued,
    Reported,
    RouterEngine,
    SessionStarted,
    SetAsideReport,
)
from penstock.service.router.wire_messages import (
    NO_DIGEST,
    Kind,
    router_message_from_link,
    router_message_to_link,
)
from penstock.workspace.router_store import RouterStore
from support.routing.one_router import document, paths, snapshot
from support.routing.random_traffic import (
    PATHS,
    document_of,
    random_content,
    random_subscription,
)

SMALL = RouterLimits(remembered_documents=3, remembered_publishers=2, waiting_documents=3)
NEIGHBOURS = ("r1", "r2")


@contextmanager
def opened(folder: Path, limits: RouterLimits | None = None) -> Iterator[RouterEngine]:
    store = RouterStore.open(folder, "r0")
    try:
        yield RouterEngine(store, limits=limits)
    finally:
        store.close()


def one(engine: RouterEngine, job: Job) -> object:
    [result], _ = engine.run([job])
    if result.failure is not None:
        raise result.failure
    return result.value


def wire(message: RouterMessage) -> Message:
    return router_message_to_link(message, message_bytes=1 << 20)


class History:
    """A random history of one router, which is committed in random groups."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.sessions = dict.fromkeys(NEIGHBOURS, bytes(16))
        self.received = dict.fromkeys(NEIGHBOURS, 0)
        self.number = 0

    def jobs(self) -> list[Job]:
        return [self._job() for _ in range(self.chance.randint(1, 4))]

    def _job(self) -> Job:
        steps: list[Callable[[], Job]] = [
            self._publish,
            self._publish,
            self._message,
            self._message,
            self._message,
            self._link,
            self._acknowledge,
            self._subscribe,
            self._unsubscribe,
            self._deliveries,
            self._journal,
        ]
        return self.chance.choice(steps)()

    def _document(self) -> Document:
        self.number += 1
        publisher = self.chance.choice(("p1", "p2", "p3"))
        number = self.chance.randint(max(1, self.number - 3), self.number)
        return document_of(
            self.chance, publisher, number, random_content(self.chance, malformed=0.1)
        )

    def _publish(self) -> Job:
        return partial(RouterEngine.publish, document=self._document())

    def _neighbour(self) -> str:
        return self.chance.choice(NEIGHBOURS)

    def _link(self) -> Job:
        name = self._neighbour()
        if self.chance.random() < 0.4:
            return lambda engine: engine.link_closed(name)
        if self.chance.random() < 0.5:
            self.sessions[name] = self.chance.randbytes(16)
            self.received[name] = 0
        session = self.sessions[name]
        return lambda engine: engine.link_established(name, session)

    def resume(self, name: str) -> Job:
        """The link is established in the same session."""
        session = self.sessions[name]
        return lambda engine: engine.link_established(name, session)

    def _message(self) -> Job:
        name = self._neighbour()
        self.received[name] += 1
        session, sequence = self.sessions[name], self.received[name]
        kind = self.chance.randrange(6)
        content = self._document()
        patterns = paths(*set(self.chance.choices(PATHS, k=3)))

        def receive(engine: RouterEngine) -> None:
            message = _message_of(engine, name, kind, content, patterns)
            engine.message_received(name, session, sequence, message)

        return receive

    def _acknowledge(self) -> Job:
        name, upto = self._neighbour(), self.chance.randint(1, 4)
        session = self.sessions[name]
        return lambda engine: engine.acknowledged(name, session, upto)

    def _subscribe(self) -> Job:
        self.number += 1
        added = random_subscription(self.chance, self.number, datetime.now(UTC))
        return partial(RouterEngine.subscribe, subscriptions=[added])

    def _unsubscribe(self) -> Job:
        share = self.chance.random()

        def remove(engine: RouterEngine) -> None:
            known = sorted(engine.router.subscriptions)
            engine.unsubscribe(known[: int(len(known) * share)])

        return remove

    def _deliveries(self) -> Job:
        subscriber, upto = f"subscriber {self.chance.randrange(3)}", self.chance.randint(0, 5)

        def attach(engine: RouterEngine) -> int:
            return engine.attach(subscriber, engine.store_id, upto)

        return attach

    def _journal(self) -> Job:
        sequence = self.number = self.number + 1

        def reached(engine: RouterEngine) -> None:
            engine.journal_reached(sequence)
            engine.own_document(sequence + 2)

        return reached


def _message_of(
    engine: RouterEngine, name: str, kind: int, content: Document, patterns: list[Pattern]
) -> Message:
    """A message of a neighbour that fits what the router has asked for, or does not."""
    requests = max(1, _requests(engine, name))
    known = engine.router.interest_of(name)
    match kind:
        case 0 | 1:
            return wire(ForwardedDocument(document=content))
        case 2:
            return wire(snapshot(requests, patterns))
        case 3:
            after = [*{each.digest: each for each in (*known, *patterns)}.values()]
            return wire(
                SubscriptionDelta(
                    before=digest_of(known),
                    after=digest_of(after),
                    added=tuple(each.key for each in patterns if each not in known),
                )
            )
        case 4:
            return wire(DigestRequest(number=1, digest=""))
        case _:
            return Message(body=b"no message", kind=Kind.SNAPSHOT)


def _requests(engine: RouterEngine, name: str) -> int:
    [requests] = [each.requests for each in engine.router.state().neighbours if each.name == name]
    return requests


def check_stored(engine: RouterEngine, folder: Path) -> None:
    """What is on disk is what the engine has."""
    store = RouterStore.open(folder, "r0")
    try:
        stored = store.load()
        assert stored.state == engine.router.state()
        assert stored.journal_position == engine.journal_position
        for name, link in stored.links.items():
            state, session_id, base = engine.session_of(name)
            assert (link.session_id, link.base) == (session_id, base)
            if state is not None:
                assert len(link.outbox) == len(state.unacknowledged)
                assert link.stored == state.stored
    finally:
        store.close()


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(3, 25))
def test_a_restored_router_equals_the_one_that_went_on(chance: random.Random, groups: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        history = History(chance)
        with opened(folder, SMALL) as engine:
            for neighbour in NEIGHBOURS:
                one(engine, partial(RouterEngine.add_neighbour, name=neighbour))
        while groups > 0:
            # Each time as after a kill: from the store, with all links down.
            with opened(folder, SMALL) as engine:
                for neighbour in NEIGHBOURS:
                    session = history.sessions[neighbour]
                    one(
                        engine,
                        partial(RouterEngine.link_established, name=neighbour, session_id=session),
                    )
                for _ in range(chance.randint(1, 6)):
                    groups -= 1
                    results, _ = engine.run(history.jobs())
                    failures = [each.failure for each in results if each.failure]
                    assert all(isinstance(each, PenstockError) for each in failures)
                    check_stored(engine, folder)


def flash(id_: str = "s1", subscriber: str = "ada") -> LocalSubscription:
    return LocalSubscription(id=id_, subscriber=subscriber, query="//flash")


def test_a_delivery_waits_until_it_is_acknowledged(tmp_path: Path) -> None:
    content = Document(b"<a><flash/></a>", Header(publisher="wire", id="1", fields={"k": "v"}))
    with opened(tmp_path) as engine:
        one(engine, partial(RouterEngine.subscribe, subscriptions=[flash()]))
        [result], effects = engine.run([partial(RouterEngine.publish, document=content)])
        assert result.value.outcome == "accepted"
        assert effects == [DeliveriesAdded("ada")]
    with opened(tmp_path) as engine:
        [stored] = engine.deliveries_after("ada", 0, 10)
        assert (stored.number, stored.subscription, stored.document) == (1, "s1", content)
        assert one(engine, partial(RouterEngine.publish, document=content)).outcome == "duplicate"  # type: ignore[attr-defined]
        one(engine, partial(RouterEngine.acknowledge_deliveries, subscriber="ada", upto=1))
        assert engine.deliveries_after("ada", 0, 10) == []
    with opened(tmp_path) as engine:
        # Numbers are never given twice.
        one(engine, partial(RouterEngine.publish, document=document(b"<flash/>", 2)))
        assert [each.number for each in engine.deliveries_after("ada", 0, 10)] == [2]


def test_numbers_of_another_store_are_ignored(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        one(engine, partial(RouterEngine.subscribe, subscriptions=[flash()]))
        one(engine, partial(RouterEngine.publish, document=document(b"<flash/>")))
        assert one(engine, lambda each: each.attach("ada", "another", 7)) == 0
        assert one(engine, lambda each: each.attach("ada", each.store_id, 7)) == 1


def test_a_new_session_sends_again_what_was_not_acknowledged(tmp_path: Path) -> None:
    first, second = bytes(16), b"1" * 16
    with opened(tmp_path) as engine:
        one(engine, partial(RouterEngine.add_neighbour, name="r1"))
        one(engine, lambda each: each.link_established("r1", first))
        for number in (1, 2):
            one(engine, partial(RouterEngine.publish, document=document(number=number)))
        # The digest request and the first document have arrived.
        one(engine, lambda each: each.acknowledged("r1", first, 2))
    with opened(tmp_path) as engine:
        state, session_id, base = engine.session_of("r1")
        assert state is not None
        assert (session_id, base, state.acknowledged) == (first, 0, 2)
        assert [each.body for each in state.unacknowledged] == [b"<a/>"]
        _, effects = engine.run([lambda each: each.link_established("r1", second)])
        assert effects[0] == SessionStarted("r1", second, 3)
        queued = [each for each in effects if isinstance(each, MessageQueued)]
        assert [each.position for each in queued] == [4, 5]
        again = router_message_from_link(queued[1].message)
        assert again == ForwardedDocument(document=document(number=2))
        check_stored(engine, tmp_path)


def test_acknowledgements_and_messages_of_an_ended_session_change_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        one(engine, partial(RouterEngine.add_neighbour, name="r1"))
        one(engine, lambda each: each.link_established("r1", bytes(16)))
        before = engine.session_of("r1")
        one(engine, lambda each: each.acknowledged("r1", b"1" * 16, 1))
        received = wire(ForwardedDocument(document=document()))
        one(engine, lambda each: each.message_received("r1", b"1" * 16, 1, received))
        assert engine.session_of("r1") == before
        assert engine.router.counters.received == 0


def test_the_oldest_deliveries_of_a_silent_subscriber_are_discarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = "penstock.service.router.unacknowledged_deliveries"
    monkeypatch.setattr(f"{limits}.SUBSCRIBER_DELIVERIES_MAX", 2)
    with opened(tmp_path) as engine:
        one(engine, partial(RouterEngine.subscribe, subscriptions=[flash()]))
        codes = set()
        for number in range(1, 5):
            published = partial(RouterEngine.publish, document=document(b"<flash/>", number))
            _, effects = engine.run([published])
            codes |= {each.code for each in effects if isinstance(each, Reported)}
        assert codes == {"routing.deliveries-full"}
        assert [each.number for each in engine.deliveries_after("ada", 0, 10)] == [3, 4]
        assert engine.report().deliveries_discarded == 2


def test_deliveries_of_a_silent_subscriber_are_bounded_in_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = "penstock.service.router.unacknowledged_deliveries"
    monkeypatch.setattr(f"{limits}.SUBSCRIBER_DELIVERY_BYTES_MAX", 2_000)

    def publish(engine: RouterEngine, number: int, size: int) -> list[int]:
        content = b"<flash>" + b"x" * size + b"</flash>"
        one(engine, partial(RouterEngine.publish, document=document(content, number)))
        return [each.number for each in engine.deliveries_after("ada", 0, 10)]

    with opened(tmp_path) as engine:
        one(engine, partial(RouterEngine.subscribe, subscriptions=[flash()]))
        assert publish(engine, 1, 900) == [1]
        assert publish(engine, 2, 900) == [1, 2]
    with opened(tmp_path) as engine:
        assert publish(engine, 3, 900) == [2, 3], "the sizes are those of the store"
        one(engine, lambda each: each.acknowledge_deliveries("ada", 2))
        assert publish(engine, 4, 900) == [3, 4]
        assert publish(engine, 5, 9_000) == [5], "alone, it may be longer"
        assert publish(engine, 6, 0) == [6]
        assert engine.report().subscribers == {"ada": 1}


INNER = "".join(f"<a k='{number}'/><b k='{number}'>{number}</b>" for number in range(50))
DEEP = f"{'<a>' * 50}{INNER}{'</a>' * 50}".encode()


def expensive(subscriber: str, prefix: str, first: int = 0) -> list[LocalSubscription]:
    """Subscriptions that exceed a small work budget; from number 50 on, none matches
    :data:`DEEP`."""
    return [
        LocalSubscription(
            id=f"{prefix}{n}",
            subscriber=subscriber,
            query=f"//*[.//b[@k={n}]]//*[.//a[@k={n}] and .//b != {n}]",
        )
        for n in range(first, first + 100)
    ]


def test_subscriptions_that_are_set_aside_are_counted_until_they_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.routing.router.Limits", partial(Limits, work=300))
    wanted = expensive("ada", "client ada s")
    with opened(tmp_path) as engine:
        one(engine, partial(RouterEngine.subscribe, subscriptions=wanted))
        for number in (1, 2):
            one(engine, partial(RouterEngine.publish, document=document(DEEP, number)))
        before = engine.report()
        assert SetAsideReport(subscriber="ada", subscription="s99", documents=2) in before.set_aside
        assert {each.subscriber for each in before.set_aside} == {"ada"}
        assert before.set_aside_subscriptions == len(before.set_aside) > 50
    with opened(tmp_path) as engine:
        report = engine.report()
        assert sorted(report.set_aside, key=str) == sorted(before.set_aside, key=str)
        assert report.counters["set_aside"] == 2 * len(before.set_aside)
        one(engine, partial(RouterEngine.unsubscribe, ids=["client ada s99"]))
        assert engine.report().set_aside_subscriptions == len(before.set_aside) - 1
    with opened(tmp_path) as engine:
        assert "s99" not in [each.subscription for each in engine.report().set_aside]


def test_a_workspace_decides_what_is_set_aside_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.routing.router.Limits", partial(Limits, work=300))
    with opened(tmp_path) as engine:
        others = expensive("ada", "client ada s")
        one(engine, partial(RouterEngine.subscribe, subscriptions=others))
        wanted = {each.id: each for each in expensive(WORKSPACE, WORKSPACE, 100)}
        one(engine, partial(RouterEngine.replace_workspace_subscriptions, wanted=wanted))
        one(engine, partial(RouterEngine.publish, document=document(DEEP)))
        assert len(engine.deliveries_after(WORKSPACE, 0, 10)) == 1
        assert {each.subscriber for each in engine.report().set_aside} == {"ada"}


def test_asking_again_changes_the_times_of_a_subscription(tmp_path: Path) -> None:
    later = replace(flash(), expires_at=datetime(2100, 1, 1, tzinfo=UTC))
    with opened(tmp_path) as engine:
        assert one(engine, partial(RouterEngine.subscribe, subscriptions=[flash()])) == 1
        assert one(engine, partial(RouterEngine.subscribe, subscriptions=[later])) == 0
        assert engine.router.subscriptions == {"s1": later}
    with opened(tmp_path) as engine:
        assert engine.router.subscriptions == {"s1": later}
        other = replace(later, query="//other")
        with pytest.raises(PenstockError) as refused:
            one(engine, partial(RouterEngine.subscribe, subscriptions=[other]))
        assert refused.value.code == "subscription.duplicate"
        assert engine.router.subscriptions == {"s1": later}


def test_subscriptions_of_a_subscriber_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.service.router.engine.SUBSCRIPTIONS_PER_SUBSCRIBER_MAX", 2)
    with opened(tmp_path) as engine:
        one(engine, partial(RouterEngine.subscribe, subscriptions=[flash("1"), flash("2")]))
        assert one(engine, partial(RouterEngine.subscribe, subscriptions=[flash("1")])) == 0
        with pytest.raises(PenstockError, match="more than 2") as refused:
            one(engine, partial(RouterEngine.subscribe, subscriptions=[flash("3")]))
        assert refused.value.code == "routing.too-many-subscriptions"
        one(engine, partial(RouterEngine.subscribe, subscriptions=[flash("3", "bob")]))


@pytest.mark.parametrize(
    ("limit", "content", "code"),
    [
        ("ROUTED_DOCUMENT_BYTES_MAX", document(b"<a>123</a>"), "limit.document-bytes"),
        (
            "DOCUMENT_HEADER_BYTES_MAX",
            Document(b"<a/>", Header(publisher="p", fields={"key": "a value"})),
            "routing.header-bytes",
        ),
    ],
)
def test_a_document_that_no_link_could_carry_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, content: Document, code: str
) -> None:
    monkeypatch.setattr(f"penstock.service.router.engine.{limit}", 8)
    with opened(tmp_path) as engine:
        receipt = one(engine, partial(RouterEngine.publish, document=content))
        assert (receipt.outcome, receipt.code) == ("refused", code)  # type: ignore[attr-defined]
        assert engine.router.counters.received == 0


def test_an_interest_that_is_too_long_for_a_message_counts_as_everything() -> None:
    long = SubscriptionSnapshot(number=3, digest="1" * 32, patterns=("x" * 100,))
    replaced = router_message_from_link(router_message_to_link(long, message_bytes=64))
    # Its digest is that of no set, so the neighbour refuses it.
    assert replaced == SubscriptionSnapshot(number=3, digest=NO_DIGEST, patterns=())
    delta = SubscriptionDelta(before="1" * 32, after="2" * 32, added=("x" * 100,))
    replaced = router_message_from_link(router_message_to_link(delta, message_bytes=64))
    assert replaced == SubscriptionDelta(before=NO_DIGEST, after=NO_DIGEST)


def test_a_snapshot_of_a_hundred_thousand_patterns_is_one_message() -> None:
    keys = tuple(f"/news/item[@n = {number}]/title" for number in range(100_000))
    long = SubscriptionSnapshot(number=1, digest="1" * 32, patterns=keys)
    message = router_message_to_link(long, message_bytes=16 << 20)
    assert router_message_from_link(message) == long


@pytest.mark.parametrize(
    "message",
    [
        ForwardedDocument(document=document(), mapping="sha256:1", annotations=b"\x00 any"),
        AnnotationReport(documents=3, bytes_not_read={"match list": 7}),
        SubscriptionDelta(before="1" * 32, after="2" * 32, added=("k",), removed=(bytes(16),)),
        DigestRequest(number=1, digest=""),
        DigestConfirmation(number=1, digest="1" * 32),
        SubscriptionSnapshot(number=1, digest="1" * 32, patterns=("k",)),
    ],
)
def test_messages_of_routers_survive_a_link(message: RouterMessage) -> None:
    assert router_message_from_link(wire(message)) == message


@given(st.integers(0, 255), st.binary(max_size=50), st.binary(max_size=50))
def test_a_malformed_message_is_an_error_of_penstock(kind: int, header: bytes, body: bytes) -> None:
    with contextlib.suppress(RoutingError, LinkError):
        router_message_from_link(Message(header=header, body=body, kind=kind))


def test_a_full_disk_ends_the_engine_and_the_store_has_the_state_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as engine:
        one(engine, partial(RouterEngine.subscribe, subscriptions=[flash()]))

        def fail(*_: object) -> None:
            raise WorkspaceError("workspace.full", "no room")

        with monkeypatch.context() as patched:
            patched.setattr("penstock.workspace.router_store._Writer.add_delivery", fail)
            with pytest.raises(WorkspaceError, match="no room"):
                engine.run([partial(RouterEngine.publish, document=document(b"<flash/>"))])
    with opened(tmp_path) as engine:
        assert engine.router.counters.received == 0
        receipt = one(engine, partial(RouterEngine.publish, document=document(b"<flash/>")))
        assert receipt.outcome == "accepted"  # type: ignore[attr-defined]


class NoIteration(Mapping[str, LocalSubscription]):
    """Subscriptions that can only be looked up."""

    def __init__(self, subscriptions: Mapping[str, LocalSubscription]) -> None:
        self._subscriptions = subscriptions

    def __getitem__(self, id_: str) -> LocalSubscription:
        return self._subscriptions[id_]

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("went through the subscriptions of all subscribers")

    def __len__(self) -> int:
        return len(self._subscriptions)


def test_subscribing_does_not_go_through_the_subscriptions_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as engine:
        others = LocalSubscription(id="client ben s", subscriber="ben", query="/a")
        one(engine, lambda each: each.subscribe([others]))
        view = engine.router.subscriptions
        own = LocalSubscription(id="client ada s", subscriber="ada", query="/b")
        monkeypatch.setattr(Router, "subscriptions", NoIteration(view))
        assert one(engine, lambda each: each.subscribe([own])) == 1
        assert view[own.id] == own, "a view, not a copy"
        assert one(engine, lambda each: each.subscriptions_of("ada")) == [own]
        later = replace(own, expires_at=datetime(2030, 1, 1, tzinfo=UTC))
        assert one(engine, lambda each: each.subscribe([later])) == 0
        assert one(engine, lambda each: each.subscriptions_of("ada")) == [later]
        assert one(engine, lambda each: each.unsubscribe([own.id])) == 1
        assert one(engine, lambda each: each.subscriptions_of("ada")) == []
    monkeypatch.undo()
    with opened(tmp_path) as engine:
        assert one(engine, lambda each: each.subscriptions_of("ben")) == [others]


def test_a_refused_request_changes_no_subscription_that_exists(tmp_path: Path) -> None:
    known = LocalSubscription(id="client ada s", subscriber="ada", query="/a")
    later = replace(known, expires_at=datetime(2030, 1, 1, tzinfo=UTC))
    invalid = LocalSubscription(id="client ada t", subscriber="ada", query="/b[")
    with opened(tmp_path) as engine:
        one(engine, lambda each: each.subscribe([known]))
        with pytest.raises(PenstockError, match=r"query\.syntax"):
            one(engine, lambda each: each.subscribe([later, invalid]))
        assert one(engine, lambda each: each.subscriptions_of("ada")) == [known]
        latest = replace(later, expires_at=datetime(2031, 1, 1, tzinfo=UTC))
        assert one(engine, lambda each: each.subscribe([later, latest])) == 0
        assert one(engine, lambda each: each.subscriptions_of("ada")) == [latest]
    with opened(tmp_path) as engine:
        assert one(engine, lambda each: each.subscriptions_of("ada")) == [latest]


def test_neighbours_go_on_forwarding_while_the_times_of_a_subscription_change(
    tmp_path: Path,
) -> None:
    known = LocalSubscription(id="client ada s", subscriber="ada", query="/a")
    later = replace(known, expires_at=datetime(2030, 1, 1, tzinfo=UTC))
    with opened(tmp_path) as engine:
        engine.run([lambda each: each.add_neighbour("r1"), lambda each: each.subscribe([known])])
        one(engine, lambda each: each.link_established("r1", b"session"))
        results, effects = engine.run([lambda each: each.subscribe([later])])
        assert results[0].failure is None
        assert effects == []
        _, effects = engine.run([lambda each: each.publish(document())])
        assert DeliveriesAdded("ada") in effects
