"""XPath and keyword subscriptions as interests, and the data-summary tree."""

from __future__ import annotations

import pickle
import re
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.documents import Document, Header
from penstock.errors import OverlayError
from penstock.language import Query, parse
from penstock.matching import Matcher
from penstock.overlay import (
    DataSummaryTree,
    MessageCodec,
    PatternInterest,
    PatternMatcher,
    PatternModel,
    PeerOptions,
)
from penstock.overlay.pattern_containment import PatternContainment
from penstock.overlay.peer_messages import Edge, FilterStatement, Forward, Replay, Replayed
from penstock.overlay.simulation import (
    NetworkOptions,
    Simulator,
    check_caught_up,
    check_nothing_lost,
    check_one_tree,
    check_order,
)
from penstock.routing import Pattern, SampledDocuments
from support.strategies.patterns import sample_documents
from support.strategies.queries import queries

SOURCE = "source"


def document(content: bytes, number: int = 0) -> Document:
    return Document(content, Header(publisher="wire", id=str(number)))


def found(tree: DataSummaryTree, query: str, count: int) -> str:
    """Bits of the documents 1 to ``count``, the first one on the left."""
    bits = tree.look_up_query(parse(query), 1, count)
    return "".join(str(bits >> position & 1) for position in range(count))


def tree_of(*contents: bytes, window: int = 20, vertices_max: int = 1_000) -> DataSummaryTree:
    tree = DataSummaryTree(window, vertices_max=vertices_max)
    for number, content in enumerate(contents, 1):
        tree.observe(number, document(content, number))
    return tree


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("/a", "1100"),
        ("/a/b", "1100"),
        ("//b", "1111"),
        ("//a[b][c]", "1010"),
        ("/a[b = 'x']", "1000"),
        ("/a[b = 'x'][c]", "1000"),
        ("/a[@k = '1']", "0100"),
        ("//*[@k]", "0100"),
        ("//a[b = 'x' or c]", "1011"),
        ("//a[not(b)]", "1111"),
        ("//zzz", "0000"),
        ("//a/*[. = 'anything']", "1111"),
        ("/r/a | /a[@k]", "0111"),
    ],
)
def test_look_ups_distinguish_instances_and_literals(query: str, expected: str) -> None:
    tree = tree_of(
        b"<a><b>x</b><c/></a>",
        b"<a k='1'><b>y</b></a>",
        b"<r><a><b>z</b><c/></a></r>",
        b"<r><a><b>x</b></a><a><c/></a></r>",
    )
    assert found(tree, query, 4) == expected


@given(st.integers(0, 2_000), queries(max_branches=2))
def test_no_document_that_matches_is_left_out(seed: int, query: Query) -> None:
    samples = sample_documents(seed, 6)
    tree = tree_of(*(each.content for each in samples))
    bits = tree.look_up_query(query, 1, len(samples))
    (matched,) = SampledDocuments.of([each.content for each in samples]).match_bits(
        [Pattern(query)]
    )
    assert matched & ~bits == 0


def test_documents_leave_the_window() -> None:
    tree = DataSummaryTree(4)
    for number in range(1, 31):
        tree.observe(number, document(f"<a><n{number}/></a>".encode(), number))
        assert tree.look_up_query(parse("/a"), number, number) == 1
    assert tree.look_up_query(parse("/a"), 27, 30) == 0b1111
    assert tree.look_up_query(parse("//n30"), 27, 30) == 0b1000
    assert len(tree) <= 9


def test_least_recently_used_vertices_are_evicted() -> None:
    contents = [f"<a><n{number}/></a>".encode() for number in range(1, 16)]
    tree = tree_of(*contents, window=50, vertices_max=10)
    assert found(tree, "/a/n15", 15)[-1] == "1"
    assert len(tree) <= 10
    assert tree.evicted > 0
    assert found(tree, "/a/n1", 15) == "0" * 15


def test_a_summary_is_bounded_in_bytes() -> None:
    tree = DataSummaryTree(20, bytes_max=30)
    for number in range(1, 4):
        tree.observe(number, document(b"<a><b/></a>", number))
    assert [number for number, _ in tree.documents] == [2, 3]
    assert found(tree, "/a", 3) == "011"
    # Documents that were read before are known for as long as they are in the window.
    tree.observe(4, document(b"<a><b/></a>", 4))
    assert found(tree, "/a", 4) == "0111"
    assert tree.evicted_documents == 2
    tree.observe(5, document(b"<long>" + b" " * 30 + b"</long>", 5))
    assert tree.documents == ()
    tree.clear()
    tree.observe(1, document(b"<a>" + b" " * 20 + b"</a>", 1))
    assert len(tree.documents) == 1


def test_instances_past_the_limit_are_not_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    contents = [f"<a k='{number}'/>".encode() for number in range(4)]
    assert found(tree_of(*contents), "/a[@k = '3']", 4) == "0001"
    monkeypatch.setattr("penstock.overlay.summary_tree.SUMMARY_SIGNATURES_MAX", 2)
    tree = tree_of(*contents)
    # The documents of the first two instances are found by every look-up, the others are known.
    assert found(tree, "/a[@k = '3']", 4) == "1101"
    assert found(tree, "/a[@k = '0']", 4) == "1100"


def test_keywords_are_looked_up_in_the_documents() -> None:
    model = PatternModel()
    summary = model.new_summary(10)
    for number, content in enumerate(
        (b"<a>storm</a>", b"<a/>", b"<b>flood</b>", b"<b>storm flood</b>", b"<c/>"), 1
    ):
        summary.observe(number, document(content, number))
    assert summary.look_up(model.interest(keywords=["storm"]), 1, 5) == 0b01001
    assert summary.look_up(model.interest(keywords=["storm", "flood"]), 1, 5) == 0b01101
    # Together with paths, and in a part of the window.
    both = model.interest(xpath=["/a"], keywords=["flood"])
    assert summary.look_up(both, 1, 5) == 0b01111
    assert summary.look_up(both, 2, 3) == 0b11
    assert summary.look_up(model.interest(keywords=["storm"]), 4, 5) == 0b01


def test_malformed_documents_are_not_summarised() -> None:
    tree = tree_of(b"<a>", b"<a/>")
    assert found(tree, "/a", 2) == "01"


def test_unions_cover_and_stay_within_their_bound() -> None:
    model = PatternModel(nodes_max=6)
    parts = [model.interest(xpath=[f"/news/item[@n = {number}]"]) for number in range(20)]
    union = model.union(parts)
    assert sum(pattern.size for pattern in union.patterns) <= 6
    assert all(model.covers(union, part) for part in parts)
    assert model.union([]) == model.nothing
    assert not model.covers(model.nothing, parts[0])


def test_similarity_prefers_containment_then_common_labels() -> None:
    model = PatternModel()
    item = model.interest(xpath=["/news/item"])
    scores = [
        model.similarity(model.interest(xpath=[query]), item)
        for query in ("//item", "/news/item[@id]", "/sport/match")
    ]
    assert scores[0] == 1.0
    assert scores[0] > scores[1] > scores[2] == 0.0
    assert model.similarity(item, model.nothing) == 1.0
    words = model.interest(keywords=["storm coast"])
    assert model.similarity(model.interest(keywords=["storm gale"]), words) > 0


def test_documents_are_matched_once() -> None:
    model = PatternModel()
    one, two = model.interest(xpath=["/a"]), model.interest(keywords=["storm"])
    assert not model.matches(two, document(b"<a/>"))
    sample = document(b"<a>storm</a>")
    assert model.matches(one, sample)
    assert model.matches(two, sample)
    assert model.matcher.passes == 2
    # A pattern that is added later needs another pass, once.
    three = model.interest(xpath=["/a[. = 'storm']"])
    assert all(model.matches(each, sample) for each in (three, one, two, three))
    assert model.matcher.passes == 3
    assert not model.matches(one, document(b"<a>"))
    assert not model.matches(model.nothing, sample)


def test_matches_are_remembered_and_documents_are_not_kept() -> None:
    matcher = PatternMatcher(documents_max=2)
    wanted = matcher.bits_of([Pattern.of_path("/a")])
    samples = [document(b"<a/>", number) for number in range(3)]
    assert all(matcher.matched_bits(each, wanted) for each in (*samples, *samples[1:]))
    assert matcher.passes == 3
    # Past the limit, the oldest is forgotten and matched again.
    assert matcher.matched_bits(samples[0], wanted)
    assert matcher.passes == 4
    last = weakref.ref(samples[2])
    del samples[2]
    assert last() is None
    # Another document may have the same address.
    others = [document(b"<b/>", number) for number in range(100)]
    assert not any(matcher.matched_bits(each, wanted) for each in others)


def test_an_index_of_the_past_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.overlay.pattern_matcher.MATCHED_PATTERNS_MAX", 3)
    model = PatternModel()
    sample = document(b"<a/>")
    first = model.interest(xpath=["/a"])
    for number in range(10):
        assert model.matches(first, sample)
        assert not model.matches(model.interest(xpath=[f"/b{number}"]), sample)
    assert len(model.matcher) <= 5
    assert model.matcher.generation > 0


def test_messages_carry_patterns_and_documents() -> None:
    model = PatternModel()
    codec = MessageCodec(model)
    interest = PatternInterest(
        [Pattern.of_path("//x:a", namespaces={"x": "urn:x"}, where={"lang": "en"})]
    )
    for message in (
        FilterStatement("s", Edge(1, 1), 1, interest),
        Forward("s", Edge(1, 1), 1, 2, 1, document(b"<a/>")),
        Replay("s", 1, 2, 3, 0, (Replayed(3, document(b"<a/>", 3)),)),
    ):
        assert codec.decode(codec.encode(message)) == message
    assert pickle.loads(pickle.dumps(interest)) == interest
    assert "//" in repr(interest)


@pytest.mark.parametrize("encoded", [b"", b"7", b"[7]", b'["[]"]', b'["[\\"xpath\\", \\"/a[\\"]"]'])
def test_malformed_interests_are_refused(encoded: bytes) -> None:
    with pytest.raises(OverlayError) as problem:
        PatternModel().decode_interest(encoded)
    assert problem.value.code == "overlay.message"
    with pytest.raises(OverlayError):
        PatternModel().decode_document(encoded, b"<a/>")


steps = st.tuples(st.sampled_from(["/", "//"]), st.sampled_from(["a", "b", "*", "a[b]", "b[a][*]"]))
paths = st.lists(steps, min_size=1, max_size=3).map(lambda given: "".join(map("".join, given)))


@given(st.lists(st.lists(paths, min_size=1, max_size=4), min_size=1, max_size=4))
def test_remembered_containment_gives_the_aggregate_of_routers(
    given_paths: list[list[str]],
) -> None:
    model, reference = PatternModel(), PatternModel()
    reference._containment = PatternContainment(patterns_max=0)
    interests = [model.interest(xpath=each) for each in given_paths]
    union, aggregate = model.union(interests), reference.union(interests)
    assert reference.covers(union, aggregate)
    assert reference.covers(aggregate, union)
    assert len(union.patterns) == len(aggregate.patterns)
    for one in (*interests, union):
        assert reference.covers(union, one)
        for other in interests:
            assert model.covers(one, other) == reference.covers(one, other)


def test_a_process_with_too_many_patterns_aggregates_as_routers_do() -> None:
    model = PatternModel()
    model._containment = PatternContainment(patterns_max=2)
    parts = [model.interest(xpath=[path]) for path in ("/a", "/b", "/b/c", "/d")]
    union = model.union(parts)
    assert sorted(map(str, union.patterns)) == ["/a", "/b", "/d"]
    assert model.covers(union, parts[2])
    assert not model.covers(parts[0], parts[3])


def test_a_union_needs_a_node() -> None:
    with pytest.raises(OverlayError) as problem:
        PatternModel(nodes_max=0)
    assert problem.value.code == "overlay.option"


def test_peers_with_subscriptions_receive_what_they_asked_for() -> None:
    model = PatternModel(nodes_max=12)
    simulator = Simulator(model, seed=5, network=NetworkOptions(loss=0.02, jitter_seconds=0.1))
    options = PeerOptions(fan_out=2, reorganise_seconds=30.0, overhead_threshold=0.05)
    simulator.add_source(SOURCE, options)
    samples = sample_documents(1, 40)
    names = sorted({name for each in samples for name in _names_in(each.content)})
    for number in range(16):
        query = f"//{names[number % len(names)]}"
        simulator.add_peer(f"p{number}", SOURCE, model.interest(xpath=[query]), options)
        simulator.run(until=simulator.now + 3)
    simulator.add_peer("words", SOURCE, model.interest(keywords=["storm OR flood"]), options)
    for round_ in range(3):
        for each in samples:
            content = each.content
            simulator.publish(SOURCE, Document(content, Header(publisher="w", id=f"{round_}")))
            simulator.run(until=simulator.now + 1)
    simulator.network.options = NetworkOptions()
    simulator.run(until=simulator.now + 200)
    check_one_tree(simulator, SOURCE)
    check_order(simulator)
    check_nothing_lost(simulator, SOURCE)
    check_caught_up(simulator, SOURCE)
    assert sum(len(log.deliveries) for log in simulator.logs.values()) > 100


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("is_primed", [False, True])
def test_a_peer_that_joins_later_lands_below_the_child_of_maximal_overlap(
    seed: int, is_primed: bool
) -> None:
    """By the structure of queries at first, then by the documents that matched them."""
    model = PatternModel()
    simulator = Simulator(model, seed=seed)
    simulator.add_source(SOURCE, PeerOptions(fan_out=3))
    queries_ = {"alike": "/news/item[@lang]", "flood": "/news/flood", "storm": "//storm"}
    for name, query in queries_.items():
        simulator.add_peer(name, SOURCE, model.interest(xpath=[query]))
        simulator.run(until=simulator.now + 1)
    contents = (
        b"<news><item id='1'/><flood/></news>",
        b"<news><item lang='en'/></news>",
        b"<news><item id='2'/><flood/></news>",
        b"<news><storm/></news>",
        b"<news><item id='3'/><storm/></news>",
    )
    for number in range(60 if is_primed else 5):
        simulator.publish(SOURCE, document(contents[number % 5], number))
        simulator.run(until=simulator.now + 1)
    simulator.add_peer("late", SOURCE, model.interest(xpath=["/news/item[@id]"]))
    simulator.run(until=simulator.now + 5)
    assert simulator.membership("late", SOURCE).parent == ("flood" if is_primed else "alike")


def _names_in(content: bytes) -> set[str]:
    return {each.decode() for each in re.findall(rb"<([a-z]+)[ />]", content)}


class PanicException(BaseException):
    """Like the exception of a native panic."""


@pytest.mark.parametrize("failure", [RuntimeError("injected"), PanicException("out of bounds")])
def test_a_document_that_cannot_be_matched_is_lost_for_nobody(
    monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    matcher = PatternMatcher()
    bits = matcher.bits_of([Pattern.of_path("/a"), Pattern.of_path("/b")])
    document = Document(b"<a/>", Header(publisher="wire"))
    assert matcher.matched_bits(document, bits) != bits

    def faulty(*_: object) -> None:
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(Matcher, "match", faulty)
        another = Document(b"<a/>", Header(publisher="wire"))
        assert matcher.matched_bits(another, bits) == bits
