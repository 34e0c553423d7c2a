"""The peer core: messages, commands, limits, and its parts one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import OverlayError
from penstock.links import Message
from penstock.overlay import (
    AgentOptions,
    BucketDocument,
    BucketInterest,
    BucketModel,
    BucketWorkload,
    MessageCodec,
    Peer,
    PeerLimits,
    PeerOptions,
    SystemAgent,
    WindowBitmap,
)
from penstock.overlay.ordered_stream import OrderedStream, StreamItem
from penstock.overlay.peer_messages import (
    Add,
    AddRefused,
    AnyPeerMessage,
    AttachRefusal,
    AttachRequest,
    Attempt,
    ChildHeartbeat,
    Edge,
    EligibilityAnswer,
    EligibilityPending,
    EligibilityRequest,
    FilterStatement,
    Forward,
    NotChild,
    Replay,
    Replayed,
    Seeds,
    SeedsRequest,
    SourceAnnouncement,
)
from penstock.overlay.peer_outputs import Send
from penstock.overlay.replay_buffer import Coverage, ReplayBuffer
from penstock.overlay.window_bitmap import TreeStatistics

MODEL = BucketModel()
ATTEMPT = Attempt("p", 1, 2)
EDGE = Edge(1, 3)
BITMAP = WindowBitmap(1, 5, 200, 1 << 190 | 3)

MESSAGES: list[AnyPeerMessage] = [
    SeedsRequest("s"),
    Seeds("s", ("a", "b")),
    SourceAnnouncement("s"),
    Add("s", "p", 1, "a", BucketInterest(1 << 300), BITMAP, True, ("q",), (1.5,), ("x",), 3),
    AttachRequest("s", ATTEMPT, EDGE, BucketInterest(5), 3, None, ("p", "q")),
    FilterStatement("s", EDGE, 2, BucketInterest(0)),
    Forward("s", EDGE, 1, 7, 5, BucketDocument(7, 0b11)),
    Replay("s", 1, 5, 9, 0, (Replayed(7, BucketDocument(7, 0b11)),)),
    ChildHeartbeat("s", EDGE, 4, "ff"),
    EligibilityPending("s", 7, 2.5),
]


def new_peer() -> Peer:
    return Peer("p", model=MODEL, random=random.Random(1))


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: type(each).__name__)
def test_messages_survive_a_link(message: AnyPeerMessage) -> None:
    codec = MessageCodec(MODEL)
    encoded = codec.encode(message)
    assert codec.decode(encoded) == message


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\xff\xff",
        msgspec.msgpack.encode(["Nothing", "s"]),
        msgspec.msgpack.encode(["Seeds", "s", ["a"] * 1000]),
        msgspec.msgpack.encode(["SeedsRequest", ""]),
        msgspec.msgpack.encode(["Forward", "s", [1, 1], 1, 2, 3, 4]),
        msgspec.msgpack.encode(["Forward", "s", [1, 1], -1, 2, 3, b"1 2"]),
        msgspec.msgpack.encode(["Forward", "s", [1, 1], 1, 2, 3, b"one"]),
        msgspec.msgpack.encode(["Replay", "s", 1, 5, 9, 0, [[7, [b"1 2"]]]]),
        msgspec.msgpack.encode(["FilterStatement", "s", [1, 1], 2, "text"]),
        msgspec.msgpack.encode(["OverheadRequest", "s", 2, [1, 5, 2, b"\xff"], []]),
        msgspec.msgpack.encode(["OverheadRequest", "s", 2, 7, []]),
        msgspec.msgpack.encode(["EligibilityPending", "s", 2, 1e9]),
    ],
)
def test_malformed_messages_are_refused(header: bytes) -> None:
    with pytest.raises(OverlayError) as problem:
        MessageCodec(MODEL).decode(Message(header=header, body=b"\x01"))
    assert problem.value.code == "overlay.message"


@given(st.binary(max_size=60))
def test_any_bytes_are_decoded_or_refused(header: bytes) -> None:
    with suppress(OverlayError):
        MessageCodec(MODEL).decode(Message(header=header))


def test_commands_check_the_tree() -> None:
    peer = new_peer()
    commands: list[Callable[[], object]] = [
        lambda: peer.publish(BucketDocument(1, 1), 0.0),
        lambda: peer.leave("s", 0.0),
        lambda: peer.join("p", BucketInterest(1), 0.0),
    ]
    for command in commands:
        with pytest.raises(OverlayError) as problem:
            command()
        assert problem.value.code == "overlay.source"
    peer.serve(epoch=1, now=0.0)
    with pytest.raises(OverlayError):
        peer.serve(epoch=2, now=0.0)
    peer.join("s", BucketInterest(1), 0.0)
    with pytest.raises(OverlayError):
        peer.join("s", BucketInterest(1), 0.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PeerOptions(fan_out=-1),
        lambda: PeerOptions(heartbeat_seconds=0.0),
        lambda: PeerOptions(silence_seconds=1.0),
        lambda: PeerOptions(back_off_seconds_max=0.1),
        lambda: PeerOptions(attempt_tries=0),
        lambda: PeerOptions(overhead_threshold=2.0),
        lambda: PeerLimits(held_documents=0),
        lambda: AgentOptions(extra_seeds=100),
        lambda: AgentOptions(round_seconds=0.0),
        lambda: AgentOptions(round_seconds=601.0),
        lambda: AgentOptions(top=0),
        lambda: AgentOptions(source_seconds=0.0),
        lambda: BucketWorkload(subscribers=1, random=random.Random(1), selectivity=1.0),
        lambda: BucketWorkload(subscribers=1, random=random.Random(1), shuffled=30),
        lambda: Peer("", model=MODEL, random=random.Random(1)),
        lambda: new_peer().serve(epoch=0, now=0.0),
    ],
)
def test_invalid_settings_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(OverlayError) as problem:
        make()
    assert problem.value.code == "overlay.option"


def test_a_peer_that_restarted_says_that_it_is_no_parent() -> None:
    peer = new_peer()
    assert peer.receive("c", ChildHeartbeat("s", EDGE, 1, ""), 0.0) == [
        Send("c", NotChild("s", EDGE))
    ]
    add = Add("s", "j", 4, "p", BucketInterest(1), None, False, (), (), (), 0)
    assert peer.receive("x", add, 0.0) == [Send("j", AddRefused("s", 4, "p"))]
    request = AttachRequest("s", ATTEMPT, None, BucketInterest(1), 0, None, ("c",))
    (refusal,) = peer.receive("c", request, 0.0)
    assert isinstance(refusal, Send)
    assert isinstance(refusal.message, AttachRefusal)
    assert peer.receive("c", Seeds("s", ()), 0.0) == []


def test_agent_knows_the_sources_that_announced_themselves_lately(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent = SystemAgent(AgentOptions(source_seconds=10.0), random=random.Random(1))
    source = Peer("s", model=BucketModel(), random=random.Random(2))
    outputs = [(0.0, source.serve(epoch=1, now=0.0, agent="agent"))]
    while (now := source.next_timer or 0.0) < 20.0:
        outputs.append((now, source.tick(now)))
    assert len(outputs) > 3
    for now, sent in outputs:
        [announcement] = sent
        assert isinstance(announcement, Send)
        assert announcement == Send("agent", SourceAnnouncement("s"))
        assert agent.receive("s", announcement.message, now) == []
    last = outputs[-1][0]
    assert agent.sources(last + 10.0) == ("s",)
    assert agent.sources(last + 10.1) == ()
    # Nobody announces another one, and the number of sources is bounded.
    assert agent.receive("p1", SourceAnnouncement("other"), last) == []
    assert agent.sources(last) == ("s",)
    monkeypatch.setattr("penstock.overlay.agent.AGENT_SOURCES_MAX", 2)
    for name in ("t", "u"):
        agent.receive(name, SourceAnnouncement(name), last)
    assert agent.sources(last) == ("t", "u")


def test_agent_grants_the_greatest_overheads_of_a_round() -> None:
    agent = SystemAgent(
        AgentOptions(top=2, round_seconds=5.0, move_wait_seconds=60.0), random=random.Random(1)
    )
    for number, overhead in enumerate((3.0, 9.0, 5.0)):
        name, now = f"p{number}", 1.0 + number / 4
        (pending,) = agent.receive(name, EligibilityRequest("s", number, overhead), now)
        assert pending == Send(name, EligibilityPending("s", number, 6.0 - now))
    assert agent.tick(5.0) == []
    assert agent.next_timer == 6.0
    answers = agent.tick(6.0)
    assert {each.peer: each.message for each in answers} == {
        "p0": EligibilityAnswer("s", 0, is_granted=False),
        "p1": EligibilityAnswer("s", 1, is_granted=True),
        "p2": EligibilityAnswer("s", 2, is_granted=True),
    }
    (early,) = agent.receive("p1", EligibilityRequest("s", 7, 9.0), 30.0)
    assert early.message == EligibilityAnswer("s", 7, is_granted=False)
    assert agent.receive("p1", Seeds("s", ()), 30.0) == []


def test_agent_denies_small_benefits_and_knows_recent_peers() -> None:
    agent = SystemAgent(AgentOptions(delta_threshold=10.0, extra_seeds=2), random=random.Random(1))
    (denied,) = agent.receive("p", EligibilityRequest("s", 1, 9.0), 0.0)
    (granted,) = agent.receive("p", EligibilityRequest("s", 2, 11.0), 0.0)
    assert [each.message.is_granted for each in (denied, granted)] == [False, True]  # type: ignore[union-attr]
    assert agent.receive("a", SeedsRequest("s"), 0.0) == [Send("a", Seeds("s", ("s",)))]
    assert agent.receive("b", SeedsRequest("s"), 0.0) == [Send("b", Seeds("s", ("s", "a")))]


def new_stream(held_max: int, bytes_max: int = 1_000) -> OrderedStream:
    """A stream of texts."""
    return OrderedStream(held_max, bytes_max, lambda text: len(str(text)))


def test_lost_beginning_of_a_replay_releases_what_was_held() -> None:
    stream = new_stream(10)
    stream.start(1, 5)
    assert stream.offer(StreamItem(20, 15, "a")) == []
    lost = StreamItem(12, 0, None, lost_from=6)
    taken = stream.fill(15, [lost, StreamItem(14, 0, "b")])
    assert [item.sequence for item in taken] == [12, 14, 20]
    assert stream.is_complete


def test_an_older_link_cannot_close_a_known_gap() -> None:
    stream = new_stream(10)
    stream.start(1, 2)
    stream.expect(4)
    assert stream.offer(StreamItem(5, 1, "late")) == []
    assert stream.gap == (3, 4)
    assert [each.sequence for each in stream.fill(4, [])] == [5]


def test_items_beyond_the_bound_are_dropped_and_show_later() -> None:
    stream = new_stream(1)
    stream.start(1, 0)
    assert stream.offer(StreamItem(3, 2, "c")) == []
    assert stream.offer(StreamItem(4, 3, "d")) == []
    assert stream.dropped == 1
    assert [each.sequence for each in stream.fill(2, [])] == [3]
    assert stream.offer(StreamItem(5, 4, "e")) == []
    assert stream.gap == (4, 4)


def test_items_that_are_held_are_bounded_in_bytes() -> None:
    stream = new_stream(10, bytes_max=8)
    stream.start(1, 0)
    assert stream.offer(StreamItem(3, 2, "four")) == []
    assert stream.offer(StreamItem(4, 3, "fives")) == []
    assert (stream.dropped, [each.sequence for each in stream.held_items()]) == (1, [3])
    assert stream.offer(StreamItem(6, 4, None, lost_from=5)) == []
    assert stream.offer(StreamItem(7, 6, "four")) == []
    assert [each.sequence for each in stream.held_items()] == [3, 6, 7]
    # What is released makes room; the item that was dropped shows as a gap.
    assert [each.sequence for each in stream.fill(2, [])] == [3]
    assert stream.gap == (4, 4)
    assert stream.offer(StreamItem(9, 8, "four")) == []
    assert [each.sequence for each in stream.fill(4, [StreamItem(4, 0, "fives")])] == [4, 6, 7]
    # An item that is too long by itself shows as well.
    stream.start(2, 0)
    assert stream.offer(StreamItem(3, 2, "far too long")) == []
    assert (stream.dropped, stream.gap) == (2, (1, 2))


@given(st.permutations(range(1, 12)), st.data())
def test_any_order_of_arrival_gives_the_same_stream(order: list[int], data: st.DataObject) -> None:
    present = sorted(data.draw(st.sets(st.integers(1, 11), min_size=1)))
    previous = dict(zip(present, [0, *present], strict=False))
    stream = new_stream(20)
    stream.start(1, 0)
    seen: list[int] = []
    for sequence in order:
        if sequence in previous:
            item = StreamItem(sequence, previous[sequence], sequence)
            seen += [each.sequence for each in stream.offer(item)]
            seen += [each.sequence for each in stream.offer(item)]
    assert seen == present
    assert stream.is_complete


def test_eviction_does_not_forget_what_was_lost() -> None:
    buffer = ReplayBuffer(MODEL, 2, 1 << 30)
    buffer.start(0)
    buffer.append(1, BucketDocument(1, 1))
    buffer.append(2, BucketDocument(2, 1))
    buffer.lose(9)
    buffer.append(10, BucketDocument(3, 1))
    assert buffer.floor == 9
    assert [sequence for sequence, _ in buffer.between(1, 99)] == [2, 10]


def test_buffers_are_bounded_in_bytes() -> None:
    buffer = ReplayBuffer(MODEL, 100, 2_500)
    buffer.start(0)
    for number in range(1, 5):
        buffer.append(number, BucketDocument(number, 1))
    assert (len(buffer), buffer.floor) == (2, 2)


def test_coverage_ends_when_the_filter_is_narrowed() -> None:
    coverage = Coverage(MODEL)
    coverage.confirmed(10, BucketInterest(0b11))
    assert coverage.covers(11, 20, BucketInterest(0b01))
    assert not coverage.covers(10, 20, BucketInterest(0b01))
    coverage.narrowed(15, BucketInterest(0b01))
    assert coverage.covers(11, 20, BucketInterest(0b01))
    assert coverage.covers(11, 15, BucketInterest(0b10))
    assert not coverage.covers(11, 16, BucketInterest(0b10))


def test_statistics_compare_what_both_know() -> None:
    statistics = TreeStatistics(50)
    statistics.start(1, 100)
    for sequence in range(101, 151):
        statistics.extend(sequence)
        if sequence % 2:
            statistics.own |= 1 << (sequence - statistics.base)
    everything = WindowBitmap(1, 121, 170, (1 << 50) - 1)
    assert statistics.missing(everything, statistics.own) == 25.0
    assert statistics.missing(WindowBitmap(1, 145, 170, 0), statistics.own) is None
    assert statistics.missing(WindowBitmap(2, 121, 170, 0), statistics.own) is None
    own = statistics.bitmap_of(statistics.own)
    assert own is not None
    assert statistics.missing(own, statistics.own) == 0.0


def test_ranges_that_are_far_away_cost_nothing() -> None:
    statistics = TreeStatistics(50)
    statistics.start(1, 100)
    statistics.extend(150)
    far = WindowBitmap(1, 1 << 62, (1 << 62) + 9, 0b11)
    assert statistics.bits_of(far) == 0
    assert statistics.missing(far, 0) is None
    assert statistics.extend_back(far) == 0
    assert statistics.extend(1 << 62) > 0
    assert statistics.own == 0


@given(st.integers(1, 400), st.integers(0, 300), st.integers(0, (1 << 120) - 1))
def test_trimmed_windows_keep_their_bits(start: int, documents: int, pattern: int) -> None:
    statistics = TreeStatistics(40)
    statistics.start(1, start)
    expected = set()
    for sequence in range(start + 1, start + 1 + documents):
        statistics.extend(sequence)
        if pattern >> (sequence % 120) & 1:
            statistics.own |= 1 << (sequence - statistics.base)
            expected.add(sequence)
    bitmap = statistics.bitmap_of(statistics.own)
    if bitmap is None:
        assert documents < 20
        return
    found = {bitmap.first + bit for bit in range(40) if bitmap.bits >> bit & 1}
    assert found == {each for each in expected if each >= bitmap.first}
    assert bitmap.last - bitmap.first + 1 == min(40, documents)


def test_shuffles_change_the_data_and_keep_the_selectivity() -> None:
    workload = BucketWorkload(
        subscribers=200, random=random.Random(3), buckets_per_subscriber=2, shuffle_every=50
    )
    assert workload.buckets_per_document == 2
    documents = [workload.next_document() for _ in range(2_000)]
    share = sum(each.members.bit_count() for each in documents) / 200 / 2_000
    assert 0.17 < share < 0.22
