"""One router: deliveries, forwards, dead letters, refused messages, and its state."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from penstock.documents import Document, Header, Limits
from penstock.errors import PenstockError
from penstock.mediation import Mapping
from penstock.mediation.mapping_selection import carrying
from penstock.mediation.mapping_table import MappingTable
from penstock.routing import (
    UNIVERSAL,
    Deliveries,
    Delivery,
    DigestConfirmation,
    DigestRequest,
    DocumentRefused,
    ForwardDiscarded,
    ForwardedDocument,
    LinkDown,
    LinkReset,
    LinkUp,
    LocalSubscription,
    MappingsChanged,
    MessageReceived,
    MessageRefused,
    NeighbourStatus,
    OverflowPolicy,
    Pattern,
    Publish,
    Router,
    RouterLimits,
    RouterMessage,
    RouterOutput,
    Subscribe,
    SubscriptionDelta,
    SubscriptionSnapshot,
    SubscriptionsSetAside,
    Unsubscribe,
    digest_of,
)
from support.routing.one_router import (
    NOW,
    delta,
    document,
    link_up,
    paths,
    receive,
    sent,
    snapshot,
)
from support.strategies.patterns import patterns


def subscription(
    id_: str = "s1",
    query: str = "/a",
    **settings: Any,  # noqa: ANN401 - fields of several types
) -> LocalSubscription:
    return LocalSubscription(id=id_, subscriber="ada", query=query, **settings)


def subscribe(router: Router, *subscriptions: LocalSubscription) -> tuple[RouterOutput, ...]:
    return router.receive(Subscribe(subscriptions=subscriptions), NOW)


def publish(router: Router, published: Document, now: datetime = NOW) -> tuple[RouterOutput, ...]:
    return router.receive(Publish(document=published), now)


def delivered(outputs: tuple[RouterOutput, ...]) -> list[Delivery]:
    return [each for output in outputs if isinstance(output, Deliveries) for each in output.each()]


def deliveries(outputs: tuple[RouterOutput, ...]) -> list[str]:
    return [each.subscription for each in delivered(outputs)]


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(PenstockError) as problem:
        call()
    return problem.value.code


# Documents


def test_document_goes_to_local_subscribers_and_to_interested_neighbours() -> None:
    router = Router(name="r1", neighbours=["r2", "r3", "r4"])
    link_up(router, "r2", paths("//b"))
    link_up(router, "r3", paths("/c"))
    link_up(router, "r4", [Pattern.of_keywords("storm")])
    subscribe(router, subscription("s1", "/a"), subscription("s2", "storm", kind="keywords"))
    published = document(b"<a><b>storm</b></a>")
    outputs = publish(router, published)
    assert deliveries(outputs) == ["s1", "s2"]
    forward = ForwardedDocument(document=published)
    assert (sent(outputs, "r2"), sent(outputs, "r3"), sent(outputs, "r4")) == (
        [forward],
        [],
        [forward],
    )


def test_document_does_not_return_over_its_link() -> None:
    router = Router(name="r1", neighbours=["r2", "r3"])
    link_up(router, "r2", paths("/a"))
    link_up(router, "r3", paths("/a"))
    outputs = receive(router, "r2", ForwardedDocument(document=document()))
    assert (sent(outputs, "r2"), len(sent(outputs, "r3"))) == ([], 1)


def test_malformed_document_is_a_dead_letter_and_is_not_forwarded() -> None:
    router = Router(name="r1", neighbours=["r2"])
    link_up(router, "r2", [UNIVERSAL])
    subscribe(router, subscription())
    (refused,) = publish(router, document(b"<a><b></a>"))
    assert isinstance(refused, DocumentRefused)
    assert refused.dead_letter.code == "xml.end-tag"
    assert refused.dead_letter.where is not None
    assert deliveries(publish(router, document(b"<a/>", 2))) == ["s1"]
    counts = router.counters
    assert (counts.received, counts.dead, counts.matched) == (2, 1, 1)


def test_duplicate_is_ignored() -> None:
    router = Router(name="r1", neighbours=["r2"])
    link_up(router, "r2", paths("/a"))
    subscribe(router, subscription())
    assert deliveries(publish(router, document())) == ["s1"]
    assert receive(router, "r2", ForwardedDocument(document=document())) == ()
    assert router.counters.duplicates == 1
    # The identity is that of publisher and id.
    assert deliveries(publish(router, document(publisher="other"))) == ["s1"]


def test_remembered_documents_are_bounded_for_each_publisher() -> None:
    limits = RouterLimits(remembered_documents=2, remembered_publishers=2)
    router = Router(name="r1", limits=limits)
    subscribe(router, subscription())
    for number in (1, 2, 3, 4):
        publish(router, document(number=number))
    assert publish(router, document(number=1)) == ()
    publish(router, document(number=5))
    assert [publish(router, document(number=number)) for number in (4, 5)] == [(), ()]
    assert deliveries(publish(router, document(number=3))) == ["s1"]
    for publisher in ("p2", "p3"):
        publish(router, document(publisher=publisher))
    assert router.counters.forgotten_publishers == 1
    assert [publisher for publisher, _ in router.state().remembered] == ["p2", "p3"]


def test_activity_window_is_checked_when_a_document_arrives() -> None:
    router = Router(name="r1", neighbours=["r2"])
    hour = timedelta(hours=1)
    link_up(router, "r2", [])
    (announced,) = sent(
        subscribe(router, subscription(starts_at=NOW + hour, expires_at=NOW + 2 * hour)), "r2"
    )
    # Neighbours forward at any time.
    assert isinstance(announced, SubscriptionDelta)
    assert announced.added == (Pattern.of_path("/a").key,)
    hours = [
        deliveries(publish(router, document(number=number), NOW + number * hour / 2))
        for number in range(5)
    ]
    assert hours == [[], [], ["s1"], ["s1"], []]
    assert router.counters.matched == 5


def test_fragments_are_delivered_up_to_the_limit() -> None:
    router = Router(name="r1")
    subscribe(
        router,
        subscription("all", "//b", returns="fragments"),
        subscription("one", "//b", returns="fragments", fragments_max=1),
        subscription("whole", "//b"),
    )
    published = document(b"<a><b>1</b><b>2</b></a>")
    found = delivered(publish(router, published))
    assert [each.document for each in found] == [published] * 3
    assert [
        None if each.fragments is None else [part.pieces[0] for part in each.fragments]
        for each in found
    ] == [[b"<b>1</b>", b"<b>2</b>"], [b"<b>1</b>"], None]
    assert [each.fragments_omitted for each in found] == [0, 1, 0]


def test_expired_subscriptions_are_known() -> None:
    router = Router(name="r1")
    subscribe(
        router,
        subscription("always"),
        subscription("past", expires_at=NOW),
        subscription("future", expires_at=NOW + timedelta(seconds=1)),
        subscription("fragments", returns="fragments"),
    )
    assert router.expired(NOW) == ("past",)
    assert set(router.expired(NOW + timedelta(days=1))) == {"past", "future"}


def test_header_tests_of_subscribers_and_neighbours() -> None:
    router = Router(name="r1", neighbours=["r2"])
    link_up(router, "r2", [Pattern.of_path("/a", where={"lang": "de"})])
    subscribe(router, subscription(where={"lang": "en"}))
    german = Document(b"<a/>", Header(publisher="p", id="1", fields={"lang": "de"}))
    english = Document(b"<a/>", Header(publisher="p", id="2", fields={"lang": "en"}))
    assert [type(each).__name__ for each in publish(router, german)] == ["SendMessage"]
    assert [type(each).__name__ for each in publish(router, english)] == ["Deliveries"]


def expensive_query(number: int) -> str:
    return f"//*[.//b[@k={number}]]//*[.//a[@k={number}] and .//b != {number}]"


def test_what_is_set_aside_is_reported_and_forwarded() -> None:
    router = Router(name="r1", neighbours=["r2"], document_limits=Limits(work=300))
    link_up(router, "r2", paths(*map(expensive_query, range(100, 200))))
    subscribe(
        router,
        subscription("cheap", "/a/a/a"),
        *(subscription(f"expensive {number}", expensive_query(number)) for number in range(100)),
    )
    inner = "".join(f"<a k='{number}'/><b k='{number}'>{number}</b>" for number in range(50))
    # Without the limit, none of the neighbour's patterns matches.
    outputs = publish(router, document(f"{'<a>' * 50}{inner}{'</a>' * 50}".encode()))
    (reported,) = [each for each in outputs if isinstance(each, SubscriptionsSetAside)]
    assert reported.code == "limit.work"
    assert f"{len(reported.subscriptions)} subscriptions" in reported.message
    assert len(reported.subscriptions) > 50
    assert "cheap" in deliveries(outputs)
    assert not set(deliveries(outputs)) & set(reported.subscriptions)
    assert len(sent(outputs, "r2")) == 1


def test_what_is_set_aside_for_a_rechecking_subscriber_is_delivered() -> None:
    router = Router(
        name="r1", document_limits=Limits(work=300), rechecking_subscribers=["workspace"]
    )
    queries = [expensive_query(number) for number in range(100)]
    subscribe(
        router,
        *(
            LocalSubscription(id=f"{subscriber} {number}", subscriber=subscriber, query=query)
            for number, query in enumerate(queries)
            for subscriber in ("ada", "workspace")
        ),
    )
    inner = "".join(f"<a k='{number}'/><b k='{number}'>{number}</b>" for number in range(50))
    outputs = publish(router, document(f"{'<a>' * 50}{inner}{'</a>' * 50}".encode()))
    (reported,) = [each for each in outputs if isinstance(each, SubscriptionsSetAside)]
    assert all(each.startswith("ada ") for each in reported.subscriptions)
    assert f"`{reported.subscriptions[9]}` and " in reported.message
    assert f"`{reported.subscriptions[10]}`" not in reported.message
    delivered = set(deliveries(outputs))
    assert {each.replace("ada", "workspace") for each in reported.subscriptions} <= delivered
    assert not delivered & set(reported.subscriptions)
    assert router.counters.set_aside == len(reported.subscriptions)
    assert router.counters.matched == 1


def test_query_whose_normal_form_is_too_long_is_announced_as_everything() -> None:
    # The normal form has spaces that the query has not.
    values = " or ".join(f"b='{'x' * 317}{number}'" for number in range(50))
    router = Router(name="r1", neighbours=["r2"])
    link_up(router, "r2", [])
    announced = sent(subscribe(router, subscription(query=f"//a[{values}]")), "r2")
    assert announced == [delta([], [UNIVERSAL])]


# Mediation

DEPARTMENTS = """penstock mapping 1
department
  => rename {name}
  course*
    @code
    => to-element @code
"""
OLD, NEW = (Mapping.from_text(DEPARTMENTS.format(name=name)) for name in ("dept", "unit"))
LOCAL = Document(
    b"<department><course code='db1'/></department>",
    Header(publisher="north", id="1", schema="catalogue"),
)


def mapping_table(*mappings: Mapping) -> MappingTable:
    """The first is the one of the schema; the others are known by digest."""
    return MappingTable(
        {("north", "catalogue"): mappings[0].digest} if mappings else {},
        texts={mapping.digest: mapping.to_text() for mapping in mappings},
    )


def test_document_is_matched_under_its_mapping_and_delivered_unchanged() -> None:
    router = Router(name="r1", neighbours=["r2", "r3"], mappings=mapping_table(OLD))
    link_up(router, "r2", paths("/dept/course/code"))
    link_up(router, "r3", paths("/department"))
    subscribe(router, subscription(query="/dept/course[code = 'db1']", returns="fragments"))
    outputs = publish(router, LOCAL)
    (delivery,) = delivered(outputs)
    assert delivery.document == LOCAL
    assert [each.pieces for each in delivery.fragments or ()] == [(b"<course code='db1'/>",)]
    assert sent(outputs, "r2") == [ForwardedDocument(document=LOCAL, mapping=OLD.digest)]
    assert sent(outputs, "r3") == []


def test_all_routers_use_the_mapping_of_the_first() -> None:
    # A newer mapping of the schema has reached this router, and not the first.
    router = Router(name="r2", neighbours=["r1"], mappings=mapping_table(NEW, OLD))
    link_up(router, "r1", [])
    subscribe(router, subscription("old", "/dept"), subscription("new", "/unit"))
    forwarded = ForwardedDocument(document=LOCAL, mapping=OLD.digest)
    assert deliveries(receive(router, "r1", forwarded)) == ["old"]
    unchanged = replace(LOCAL, header=replace(LOCAL.header, id="2"))
    subscribe(router, subscription("local", "/department"))
    assert deliveries(receive(router, "r1", ForwardedDocument(document=unchanged))) == ["local"]


def test_mapping_in_the_header_needs_no_table() -> None:
    header = replace(LOCAL.header, fields=carrying(OLD))
    carried = replace(LOCAL, header=header)
    router = Router(name="r1", neighbours=["r2"])
    subscribe(router, subscription(query="/dept"))
    assert deliveries(publish(router, carried)) == ["s1"]
    other = Router(name="r2", neighbours=["r1"])
    link_up(other, "r1", [])
    subscribe(other, subscription(query="/dept"))
    forwarded = ForwardedDocument(document=carried, mapping=OLD.digest)
    assert deliveries(receive(other, "r1", forwarded)) == ["s1"]


def test_document_without_its_mapping_is_a_dead_letter() -> None:
    router = Router(name="r1", neighbours=["r2"], mappings=mapping_table())
    link_up(router, "r2", [UNIVERSAL])
    (refused,) = publish(router, LOCAL)
    assert isinstance(refused, DocumentRefused)
    assert refused.dead_letter.code == "mediation.schema"
    second = replace(LOCAL, header=replace(LOCAL.header, id="2"))
    (refused,) = receive(router, "r2", ForwardedDocument(document=second, mapping=OLD.digest))
    assert isinstance(refused, DocumentRefused)
    assert refused.dead_letter.code == "mediation.mapping"
    assert router.receive(MappingsChanged(table=mapping_table(OLD)), NOW) == ()
    third = replace(LOCAL, header=replace(LOCAL.header, id="3"))
    assert len(sent(publish(router, third), "r2")) == 1
    assert router.counters.dead == 2


# Neighbours that are down


@pytest.mark.parametrize(
    ("policy", "kept"), [("discard-oldest", [2, 3]), ("discard-newest", [1, 2])]
)
def test_documents_wait_for_a_link_up_to_the_limit(policy: OverflowPolicy, kept: list[int]) -> None:
    limits = RouterLimits(waiting_documents=2)
    router = Router(name="r1", neighbours=["r2"], limits=limits, overflow=policy)
    link_up(router, "r2", paths("/a"))
    router.receive(LinkDown(neighbour="r2"), NOW)
    outputs = [publish(router, document(number=number)) for number in (1, 2, 3)]
    assert outputs[:2] == [(), ()]
    (discarded,) = outputs[2]
    assert isinstance(discarded, ForwardDiscarded)
    assert discarded.code == "routing.queue-full"
    assert router.counters.discarded == 1
    _, *waiting = sent(router.receive(LinkUp(neighbour="r2"), NOW), "r2")
    assert waiting == [ForwardedDocument(document=document(number=number)) for number in kept]


def test_waiting_bytes_are_bounded() -> None:
    limits = RouterLimits(waiting_bytes=10)
    router = Router(name="r1", neighbours=["r2"], limits=limits)
    long = document(b"<a>" + b"x" * 20 + b"</a>", 1)
    assert publish(router, long) == ()  # alone, it may be longer
    (discarded,) = publish(router, document(number=2))
    assert isinstance(discarded, ForwardDiscarded)
    assert discarded.document == long


def test_unacknowledged_documents_are_sent_again_before_the_waiting_ones() -> None:
    router = Router(name="r1", neighbours=["r2"])
    link_up(router, "r2", paths("/a"))
    publish(router, document(number=1))
    router.receive(LinkDown(neighbour="r2"), NOW)
    publish(router, document(number=2))
    forwarded = ForwardedDocument(document=document(number=1))
    router.receive(LinkReset(neighbour="r2", unacknowledged=(forwarded,)), NOW)
    _, *messages = sent(router.receive(LinkUp(neighbour="r2"), NOW), "r2")
    assert messages == [ForwardedDocument(document=document(number=number)) for number in (1, 2)]


def test_everything_waits_for_a_neighbour_whose_interest_is_unknown() -> None:
    router = Router(name="r1", neighbours=["r2"])
    publish(router, document(b"<x/>"))
    _, *messages = sent(router.receive(LinkUp(neighbour="r2"), NOW), "r2")
    assert messages == [ForwardedDocument(document=document(b"<x/>"))]


# Interest


def test_interest_of_a_neighbour_is_announced_to_the_others_only() -> None:
    router = Router(name="r1", neighbours=["r2", "r3", "r4"])
    for name in ("r2", "r3", "r4"):
        link_up(router, name, [])
    outputs = receive(router, "r2", delta([], paths("//b")))
    assert sent(outputs, "r2") == []
    assert sent(outputs, "r3") == sent(outputs, "r4") == [delta([], paths("//b"))]


def test_contained_subscriptions_are_announced_while_they_fit() -> None:
    router = Router(name="r1", neighbours=["r2"], aggregate_nodes=3)
    link_up(router, "r2", [])
    assert sent(subscribe(router, subscription("s1", "//b")), "r2") == [delta([], paths("//b"))]
    outputs = subscribe(router, subscription("s2", "/a/b"))
    assert sent(outputs, "r2") == [delta(paths("//b"), paths("//b", "/a/b"))]
    assert subscribe(router, subscription("s3", "/a/c/b")) == ()
    outputs = router.receive(Unsubscribe(ids=("s1", "s2")), NOW)
    assert sent(outputs, "r2") == [delta(paths("/a/b", "//b"), paths("/a/c/b"))]


def test_replaced_interest_is_announced_in_one_delta() -> None:
    # Between two, the neighbour would filter out documents that are in both sets.
    router = Router(name="r1", neighbours=["r2", "r3"])
    link_up(router, "r2", paths("/a/b"))
    link_up(router, "r3", [])
    outputs = receive(router, "r2", delta(paths("/a/b"), paths("//b")))
    assert sent(outputs, "r3") == [delta(paths("/a/b"), paths("//b"))]


def test_digest_request_is_answered() -> None:
    router = Router(name="r1", neighbours=["r2"])
    link_up(router, "r2", [])
    subscribe(router, subscription())
    same = DigestRequest(number=7, digest=digest_of(paths("/a")))
    assert sent(receive(router, "r2", same), "r2") == [
        DigestConfirmation(number=7, digest=same.digest)
    ]
    other = DigestRequest(number=8, digest="")
    assert sent(receive(router, "r2", other), "r2") == [snapshot(8, paths("/a"))]


@given(patterns)
def test_patterns_survive_transmission(pattern: Pattern) -> None:
    router = Router(name="r1", neighbours=["r2"])
    link_up(router, "r2", [pattern])
    assert router.interest_of("r2") == (pattern,)
    assert router.counters.refused_messages == 0


KNOWN = paths("/a", "//b")
MANY = paths(*(f"/a{number}" for number in range(4)))


def with_keys(*keys: str) -> SubscriptionDelta:
    """A delta that adds patterns by their keys; its result is not checked before they are."""
    return replace(delta(KNOWN, KNOWN), added=keys)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (delta(paths("/x"), KNOWN), "routing.digest"),
        (replace(delta(KNOWN, MANY), after=digest_of([])), "routing.digest"),
        (replace(delta(KNOWN, KNOWN), removed=(b"x" * 16,)), "routing.digest"),
        (delta(KNOWN, KNOWN + MANY), "routing.too-many-patterns"),
        (with_keys("no JSON"), "routing.pattern"),
        (with_keys("[]"), "routing.pattern"),
        (with_keys("7"), "routing.pattern"),
        (with_keys(json.dumps(["xpath", "//[", [], []])), "routing.pattern"),
        (with_keys(json.dumps(["xpath", "//a", 7, 7])), "routing.pattern"),
        (with_keys(json.dumps(["xpath", 7, [], []])), "routing.pattern"),
        (with_keys(json.dumps(["keywords", "", [], []])), "routing.pattern"),
        (with_keys(json.dumps(["xpath", "//a", [], [["a\x00", "b"]]])), "routing.pattern"),
        (with_keys(json.dumps(["xpath", "//a", [], [["a", 7]]])), "routing.pattern"),
        (with_keys("[" * 100_000), "routing.pattern"),
        (with_keys(" " + paths("/c")[0].key), "routing.pattern"),
        (with_keys(json.dumps(["xpath", "/a" * 40_000, [], []])), "routing.pattern"),
        (with_keys('["xpath", "/\\ud800", [], []]'), "routing.pattern"),
    ],
)
def test_bad_delta_changes_nothing_and_leads_to_synchronisation(
    message: SubscriptionDelta, code: str
) -> None:
    router = Router(name="r1", neighbours=["r2", "r3"], limits=RouterLimits(neighbour_patterns=5))
    link_up(router, "r2", KNOWN)
    link_up(router, "r3", paths("/c"))
    outputs = receive(router, "r2", message)
    (refused,) = [each for each in outputs if isinstance(each, MessageRefused)]
    assert (refused.neighbour, refused.code) == ("r2", code)
    assert set(router.interest_of("r2")) == set(KNOWN)
    assert sent(outputs, "r2") == [DigestRequest(number=2, digest=digest_of(KNOWN))]
    assert sent(outputs, "r3") == []
    # The neighbour repairs it.
    receive(router, "r2", snapshot(2, paths("//d")))
    assert router.interest_of("r2") == tuple(paths("//d"))
    assert router.status("r3") is NeighbourStatus.IN_STEP


@pytest.mark.parametrize(
    "message",
    [
        replace(snapshot(1, KNOWN), digest=digest_of([])),
        replace(snapshot(1, KNOWN), patterns=("no JSON",)),
        snapshot(1, KNOWN + MANY),
    ],
)
def test_neighbour_with_a_bad_snapshot_receives_everything(message: RouterMessage) -> None:
    limits = RouterLimits(neighbour_patterns=5)
    router = Router(name="r1", neighbours=["r2", "r3"], limits=limits)
    link_up(router, "r3", paths("/c"))
    router.receive(LinkUp(neighbour="r2"), NOW)
    outputs = receive(router, "r2", message)
    assert [type(each).__name__ for each in outputs] == ["MessageRefused"]
    assert router.counters.refused_messages == 1
    outputs = publish(router, document(b"<x/>"))
    assert (len(sent(outputs, "r2")), len(sent(outputs, "r3"))) == (1, 0)
    # It does not ask again by itself, so a neighbour that is wrong causes no endless exchange.
    assert receive(router, "r2", message)[1:] == ()


# Local errors


def test_bad_local_subscription_changes_nothing() -> None:
    router = Router(name="r1", neighbours=["r2"])
    link_up(router, "r2", [])
    subscribe(router, subscription("s1"))
    before = router.state()
    good = subscription("s2")
    for bad, code in (
        (subscription("s3", "//["), "query.syntax"),
        (subscription("s1"), "subscription.duplicate"),
        (subscription("s2"), "subscription.duplicate"),
        (subscription("s3", where={"": "x"}), "subscription.where"),
    ):
        assert code_of(partial(subscribe, router, good, bad)) == code
    assert (
        code_of(lambda: router.receive(Unsubscribe(ids=("s1", "s9")), NOW))
        == "subscription.unknown"
    )
    assert router.state() == before
    assert deliveries(publish(router, document())) == ["s1"]


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"id": ""}, "subscription.id"),
        ({"subscriber": "\ud800"}, "subscription.id"),
        ({"kind": "regex"}, "subscription.kind"),
        ({"kind": "keywords", "default_namespace": "urn:x"}, "subscription.kind"),
        ({"returns": "nothing"}, "subscription.returns"),
        ({"fragments_max": 0}, "subscription.fragments-max"),
        ({"starts_at": datetime(2026, 1, 1)}, "subscription.times"),
        ({"starts_at": NOW, "expires_at": NOW}, "subscription.times"),
    ],
)
def test_settings_of_a_subscription_are_validated(settings: dict[str, Any], code: str) -> None:
    valid = {"id": "s1", "subscriber": "ada", "query": "/a"}
    assert code_of(lambda: LocalSubscription(**(valid | settings))) == code


def test_errors_of_the_driver() -> None:
    router = Router(name="r1", neighbours=["r2"])
    assert code_of(lambda: router.receive(LinkUp(neighbour="r9"), NOW)) == "routing.neighbour"
    forward = MessageReceived(neighbour="r2", message=ForwardedDocument(document=document()))
    assert code_of(lambda: router.receive(forward, NOW)) == "routing.link"
    assert router.counters.received == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: RouterLimits(waiting_documents=0),
        lambda: Router(name="r1", neighbours=["r1"]),
        lambda: Router(name="r1", neighbours=["r2", "r2"]),
        lambda: Router(name=""),
        lambda: Router(name="r1", overflow="discard-all"),  # type: ignore[arg-type]
    ],
)
def test_options_are_validated(make: Callable[[], object]) -> None:
    assert code_of(make) == "routing.option"


@pytest.mark.parametrize(
    "make",
    [
        lambda: DigestRequest(number=0, digest=""),
        lambda: DigestRequest(number=1, digest="x"),
        lambda: DigestConfirmation(number=1, digest=""),
        lambda: SubscriptionSnapshot(number=1, digest="0" * 32, patterns=("a", 7)),  # type: ignore[arg-type]
        lambda: SubscriptionDelta(before="0" * 32, after="0" * 32, removed=(b"short",)),
        lambda: ForwardedDocument(document=b"<a/>"),  # type: ignore[arg-type]
        lambda: LinkReset(neighbour="r2", unacknowledged=(b"<a/>",)),  # type: ignore[arg-type]
    ],
)
def test_messages_are_validated(make: Callable[[], object]) -> None:
    assert code_of(make) == "routing.message"


# State


def test_state_is_restored() -> None:
    router = Router(name="r1", neighbours=["r2", "r3"])
    link_up(router, "r2", paths("/a"))
    subscribe(router, subscription("s1", "//b", where={"lang": "en"}), subscription("s2"))
    router.receive(LinkDown(neighbour="r2"), NOW)
    publish(router, document())
    state = pickle.loads(pickle.dumps(router.state()))
    restored = Router.restore(state)
    assert restored.state() == state
    assert restored.status("r2") is NeighbourStatus.DOWN
    assert restored.status("r3") is NeighbourStatus.UNKNOWN
    assert publish(restored, document()) == ()
    assert deliveries(publish(restored, document(number=2))) == ["s2"]
    request, *waiting = sent(restored.receive(LinkUp(neighbour="r2"), NOW), "r2")
    assert request == DigestRequest(number=2, digest=digest_of(paths("/a")))
    assert waiting == [ForwardedDocument(document=document(number=each)) for each in (1, 2)]


def test_state_that_cannot_be_restored_is_refused() -> None:
    router = Router(name="r1", neighbours=["r2"])
    link_up(router, "r2", paths("/a"))
    subscribe(router, subscription())
    state = router.state()
    (neighbour,) = state.neighbours
    for bad in (
        replace(state, version=99),
        replace(state, neighbours=(replace(neighbour, patterns=("x",)),)),
        replace(state, neighbours=(neighbour, neighbour)),
        replace(state, subscriptions=(replace(state.subscriptions[0], query="//["),)),
    ):
        assert code_of(partial(Router.restore, bad)) == "routing.state"


def test_order_of_a_publisher_is_that_of_arrival() -> None:
    router = Router(name="r1", neighbours=["r2", "r3"])
    link_up(router, "r2", paths("/a"))
    link_up(router, "r3", paths("/a"))
    numbers: list[int] = []
    for number in range(6):
        outputs = receive(router, "r2", ForwardedDocument(document=document(number=number)))
        numbers += [
            int(each.document.header.id)
            for each in sent(outputs, "r3")
            if isinstance(each, ForwardedDocument)
        ]
    assert len(numbers) == 6
    assert all(one < two for one, two in pairwise(numbers))
