"""Frames: any slicing gives the same frames, and whatever is malformed is refused by a code."""

from __future__ import annotations

import random
import tracemalloc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PeerLinkError
from penstock.links.frame_decoder import FrameDecoder
from penstock.links.frames import (
    MESSAGE_FIELDS_BYTES,
    PREAMBLE,
    PREFIX,
    Close,
    Frame,
    FrameType,
    Heartbeat,
    MessageStart,
    body_prefix,
    decode_control,
    decode_message_start,
    encode_control,
    encode_message_start,
)
from penstock.links.limits import CONTROL_FRAME_BYTES, LinkLimits

LIMITS = LinkLimits(frame_bytes=10_000, header_bytes=9_000, message_bytes=20_000)

payloads = st.binary(max_size=100)
frames = st.lists(st.tuples(st.sampled_from(FrameType), payloads), max_size=8)


def decoder(*, established: bool = True) -> FrameDecoder:
    made = FrameDecoder(LIMITS)
    made.feed(PREAMBLE)
    assert made.next_frame() is None
    if established:
        made.allow_messages()
    return made


def all_frames(made: FrameDecoder) -> list[Frame]:
    found = []
    while (frame := made.next_frame()) is not None:
        found.append(frame)
    return found


def refusal(data: bytes, *, established: bool = True) -> str:
    made = decoder(established=established)
    made.feed(data)
    with pytest.raises(PeerLinkError) as caught:
        all_frames(made)
    return caught.value.code


@given(frames, st.randoms(use_true_random=False))
def test_any_slicing_gives_the_same_frames(
    contents: list[tuple[FrameType, bytes]], rng: random.Random
) -> None:
    data = b"".join(PREFIX.pack(len(payload), type_) + payload for type_, payload in contents)
    expected = [Frame(type_, payload) for type_, payload in contents]
    whole = decoder()
    whole.feed(data)
    assert all_frames(whole) == expected
    sliced, found = FrameDecoder(LIMITS), list[Frame]()
    rest = PREAMBLE + data
    while rest:
        count = rng.choice([1, 1, 2, 5, 50, 500])
        sliced.feed(rest[:count])
        rest = rest[count:]
        found += all_frames(sliced)
        assert sliced.buffered <= PREFIX.size + 100, "less than a frame"
    assert found == expected
    assert sliced.buffered == 0


@given(frames, st.integers(1, 200))
def test_an_incomplete_frame_waits_for_its_rest(
    contents: list[tuple[FrameType, bytes]], missing: int
) -> None:
    data = b"".join(PREFIX.pack(len(payload), type_) + payload for type_, payload in contents)
    made = decoder()
    made.feed(data[:-missing])
    before = all_frames(made)
    made.feed(data[-missing:])
    assert before + all_frames(made) == [Frame(*each) for each in contents]


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02", b"\xf5PENL2\r\n"])
@pytest.mark.parametrize("size", [1, 100])
def test_another_protocol_is_refused_at_its_first_wrong_byte(data: bytes, size: int) -> None:
    made = FrameDecoder(LIMITS)

    def feed_all() -> None:
        for start in range(0, len(data), size):
            made.feed(data[start : start + size])
            made.next_frame()

    with pytest.raises(PeerLinkError) as caught:
        feed_all()
    assert caught.value.code == "link.preamble"


def test_a_length_past_the_limit_is_refused_by_the_prefix_alone() -> None:
    assert refusal(PREFIX.pack(10_001, FrameType.BODY)) == "link.frame-bytes"
    assert refusal(PREFIX.pack((1 << 32) - 1, FrameType.BODY)) == "link.frame-bytes"
    longest = MESSAGE_FIELDS_BYTES + LIMITS.header_bytes
    assert refusal(PREFIX.pack(longest + 1, FrameType.MESSAGE)) == "link.header-bytes"
    for type_ in set(FrameType) - {FrameType.BODY, FrameType.MESSAGE}:
        assert refusal(PREFIX.pack(CONTROL_FRAME_BYTES + 1, type_)) == "link.frame-bytes"
    made = decoder()
    made.feed(PREFIX.pack(10_000, FrameType.BODY))
    assert made.next_frame() is None


@pytest.mark.parametrize("type_", FrameType)
def test_before_the_handshake_ends_no_frame_is_longer_than_a_control_frame(
    type_: FrameType,
) -> None:
    too_long = PREFIX.pack(CONTROL_FRAME_BYTES + 1, type_)
    assert refusal(too_long, established=False) == "link.frame-bytes"


@pytest.mark.parametrize("number", [0, 11, 255])
def test_unknown_types_are_refused(number: int) -> None:
    assert refusal(PREFIX.pack(0, number)) == "link.frame-type"


def test_a_decoder_that_refused_stays_refused_and_keeps_nothing() -> None:
    made = decoder()
    made.feed(PREFIX.pack(0, 255))
    for _ in range(2):
        with pytest.raises(PeerLinkError):
            made.next_frame()
        made.feed(b"x" * 1_000)
    assert made.buffered == 0


def test_frames_before_a_malformed_one_are_returned() -> None:
    made = decoder()
    made.feed(body_prefix(2) + b"ab" + PREFIX.pack(0, 255))
    assert made.next_frame() == Frame(FrameType.BODY, b"ab")
    with pytest.raises(PeerLinkError):
        made.next_frame()


def test_memory_is_that_of_one_frame_however_small_the_slices() -> None:
    made = decoder()
    data = body_prefix(10_000) + b"x" * 10_000
    tracemalloc.start()
    try:
        for _ in range(20):
            for start in range(0, len(data), 7):
                made.feed(data[start : start + 7])
                made.next_frame()
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@given(st.sampled_from(FrameType), st.binary(max_size=300))
def test_arbitrary_payloads_are_decoded_or_refused(type_: FrameType, payload: bytes) -> None:
    try:
        if type_ is FrameType.MESSAGE:
            decode_message_start(payload)
        elif type_ is not FrameType.BODY:
            decode_control(Frame(type_, payload))
    except PeerLinkError as refused:
        assert refused.code in {"link.frame-payload", "link.version"}  # noqa: PT017


@pytest.mark.parametrize(
    "payload",
    [
        msgspec.msgpack.encode([b"m" * 31, b"", 0]),
        msgspec.msgpack.encode([b"", b"s" * 15, 0]),
        msgspec.msgpack.encode([b"", b"", -1]),
        msgspec.msgpack.encode([b"", b"", 1 << 63]),
        msgspec.msgpack.encode([b"", b"", 0, 0]),
        msgspec.msgpack.encode([b"", b""]),
        msgspec.msgpack.encode({"mac": b""}),
        b"\x91" * 5_000,
        b"",
    ],
)
def test_proofs_of_other_shapes_are_refused(payload: bytes) -> None:
    with pytest.raises(PeerLinkError) as caught:
        decode_control(Frame(FrameType.PROOF, payload))
    assert caught.value.code == "link.frame-payload"


def test_a_reason_with_control_characters_in_its_code_is_refused() -> None:
    payload = msgspec.msgpack.encode(["link.x\n", "a"])
    with pytest.raises(PeerLinkError):
        decode_control(Frame(FrameType.CLOSE, payload))


@given(
    st.integers(1, (1 << 64) - 1),
    st.integers(0, (1 << 64) - 1),
    st.integers(0, 255),
    st.none() | st.integers(0, (1 << 32) - 1),
    payloads,
)
def test_starts_of_messages_survive_encoding(
    sequence: int, body_bytes: int, kind: int, checksum: int | None, header: bytes
) -> None:
    start = MessageStart(sequence, body_bytes, kind, checksum, header)
    assert decode_message_start(encode_message_start(start)[PREFIX.size :]) == start


@pytest.mark.parametrize(
    "payload",
    [
        b"\0" * (MESSAGE_FIELDS_BYTES - 1),
        b"\0" * MESSAGE_FIELDS_BYTES,  # sequence numbers begin with 1
        b"\0" * 7 + b"\1" + b"\0" * 9 + b"\2" + b"\0" * 4,  # unknown flag
        b"\0" * 7 + b"\1" + b"\0" * 10 + b"\0\0\0\1",  # checksum without its flag
    ],
)
def test_malformed_starts_of_messages_are_refused(payload: bytes) -> None:
    with pytest.raises(PeerLinkError) as caught:
        decode_message_start(payload)
    assert caught.value.code == "link.frame-payload"


def test_control_frames_are_decoded_as_they_were_encoded() -> None:
    for content in (Heartbeat(number=3, sequence=4), Close(code="link.window", message="é")):
        made = decoder()
        made.feed(encode_control(content))
        frame = made.next_frame()
        assert frame is not None
        assert decode_control(frame) == content
