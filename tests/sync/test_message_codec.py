"""Messages survive encoding, and hostile bytes are refused with a code."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.language.updates.ast import Name
from penstock.sync import Client, Outcome, Report, Server, SyncSubscription
from penstock.sync.document_tree import NewNode, NodeKind, Place
from penstock.sync.message_codec import (
    decode_messages,
    decode_request,
    decode_state,
    encode_messages,
    encode_request,
    encode_state,
)
from penstock.sync.messages import (
    CloneAgain,
    CloneAnswer,
    CloneRequest,
    Message,
    Request,
    SubmittedStatement,
    SyncRequest,
    UpdateMessage,
)
from penstock.sync.operations import (
    Copy,
    CopyAttribute,
    Delete,
    Insert,
    Move,
    Rename,
    Restore,
    SetAttribute,
    SetValue,
)
from support.contracts.native_engines import needs_native

pytestmark = needs_native

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
NUMBERS = st.integers(0, 2**53)
POSITIVE = st.integers(1, 2**53)
IDENTITIES = st.sampled_from(["0.1", "7.12", "~00ff", "", "é"])
NAMES = st.builds(Name, TEXTS, TEXTS, TEXTS)
CLIENTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
PLACES = st.builds(
    Place, IDENTITIES, st.lists(st.tuples(IDENTITIES, st.booleans()), max_size=2).map(tuple)
)
NODES = st.builds(
    NewNode,
    IDENTITIES,
    st.integers(0, 3),
    st.sampled_from(NodeKind),
    NAMES,
    TEXTS,
    st.lists(st.tuples(NAMES, TEXTS), max_size=2).map(tuple),
    st.lists(st.tuples(TEXTS, TEXTS), max_size=2).map(tuple),
)
OPERATIONS = st.one_of(
    st.builds(Insert, st.lists(NODES, max_size=2).map(tuple), PLACES),
    st.builds(Delete, IDENTITIES),
    st.builds(Restore, IDENTITIES),
    st.builds(Move, IDENTITIES, PLACES),
    st.builds(Copy, IDENTITIES, IDENTITIES, PLACES),
    st.builds(SetValue, IDENTITIES, TEXTS),
    st.builds(Rename, IDENTITIES, NAMES),
    st.builds(SetAttribute, IDENTITIES, NAMES, st.none() | TEXTS),
    st.builds(CopyAttribute, IDENTITIES, NAMES, IDENTITIES),
)
STATEMENTS = st.builds(
    SubmittedStatement,
    number=POSITIVE,
    base=NUMBERS,
    operations=st.lists(OPERATIONS, min_size=1, max_size=3).map(tuple),
    text=TEXTS,
    unseen=st.lists(IDENTITIES, max_size=2).map(tuple),
)
SUBSCRIPTIONS = st.sampled_from(
    [
        SyncSubscription("/*"),
        SyncSubscription("//p:a[b = 'é']!count()", (("p", "urn:p"),)),
        SyncSubscription("/a/@k", (), "urn:d"),
    ]
)
REQUESTS: st.SearchStrategy[Request] = st.one_of(
    st.builds(
        CloneRequest,
        client=CLIENTS,
        number=POSITIVE,
        subscription=SUBSCRIPTIONS,
        previous=NUMBERS,
        version=NUMBERS,
        decided=NUMBERS,
    ),
    st.builds(
        SyncRequest,
        client=CLIENTS,
        replica=POSITIVE,
        version=NUMBERS,
        epoch=NUMBERS,
        statements=st.lists(STATEMENTS, max_size=2).map(tuple),
        subscription=st.none() | SUBSCRIPTIONS,
    ),
)
REPORTS = st.builds(Report, st.sampled_from(Outcome), POSITIVE, IDENTITIES, TEXTS, TEXTS)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(
        CloneAnswer,
        client=CLIENTS,
        number=NUMBERS,
        replica=NUMBERS,
        version=NUMBERS,
        decided=NUMBERS,
        snapshot=st.binary(max_size=5),
        reports=st.lists(REPORTS, max_size=2).map(tuple),
        unreported=NUMBERS,
    ),
    st.builds(
        UpdateMessage,
        client=CLIENTS,
        replica=NUMBERS,
        since=NUMBERS,
        version=NUMBERS,
        since_epoch=NUMBERS,
        epoch=NUMBERS,
        decided=NUMBERS,
        patch=st.none() | st.binary(max_size=5),
        reports=st.lists(REPORTS, max_size=2).map(tuple),
    ),
    st.builds(CloneAgain, client=CLIENTS, replica=NUMBERS, version=NUMBERS, reason=TEXTS),
)


@given(REQUESTS)
def test_requests_survive(request: Request) -> None:
    assert decode_request(encode_request(request)) == request


@given(st.lists(MESSAGES, max_size=3).map(tuple))
def test_messages_survive(messages: tuple[Message, ...]) -> None:
    assert decode_messages(encode_messages(messages)) == messages


def test_the_state_of_a_client_survives() -> None:
    server = Server.of_document(b"<menu><dish>soup</dish><dish k='1'/></menu>")
    client = Client("tablet", SyncSubscription("/menu/dish"))
    server.receive(client.clone())
    for message in server.round():
        client.receive(message)
    client.update("/menu/dish[0]/*!update('stew')")
    client.update("/menu/dish[1]!copyAfter(../dish[0])")
    client.undo()
    client.subscribe(SyncSubscription("/menu"))
    restored = Client.restore(decode_state(encode_state(client.state())))
    assert restored.state() == client.state()
    assert restored.canonical_xml() == client.canonical_xml()


def test_clones_from_before_they_had_reports_are_decoded() -> None:
    request = CloneRequest(client="x", number=1, subscription=SyncSubscription("/*"), previous=2)
    assert decode_request(encoded("CloneRequest", "x", 1, SUBSCRIPTION, 2)) == request
    answer = CloneAnswer(client="x", number=1, replica=2, version=3, decided=4, snapshot=b"5")
    fields = ("CloneAnswer", "x", 1, 2, 3, 4, b"5")
    assert decode_messages(b"PSM\x01" + msgspec.msgpack.encode([fields])) == (answer,)


def test_earlier_releases_decode_clones_without_reports() -> None:
    subscription = SyncSubscription("/*")
    request = CloneRequest(client="x", number=1, subscription=subscription, previous=2)
    assert encode_request(request) == encoded("CloneRequest", "x", 1, SUBSCRIPTION, 2)
    answer = CloneAnswer(client="x", number=1, replica=2, version=3, decided=4, snapshot=b"5")
    fields = ("CloneAnswer", "x", 1, 2, 3, 4, b"5")
    assert encode_messages((answer,)) == b"PSM\x01" + msgspec.msgpack.encode([fields])
    # Fields are found by their position: a default before another value is encoded.
    unreported = replace(answer, unreported=6)
    message = b"PSM\x01" + msgspec.msgpack.encode([(*fields, (), 6)])
    assert encode_messages((unreported,)) == message
    assert decode_messages(message) == (unreported,)


def test_statements_from_before_they_had_unseen_nodes_are_decoded() -> None:
    """And earlier releases decode those without."""
    statement = SubmittedStatement(number=1, base=2, operations=(Delete("0.1"),), text="t")
    request = SyncRequest(client="x", replica=1, version=2, epoch=0, statements=(statement,))
    fields = ("SubmittedStatement", 1, 2, [("Delete", "0.1")], "t")
    assert encode_request(request) == encoded("SyncRequest", "x", 1, 2, 0, [fields], None)
    assert decode_request(encode_request(request)) == request


@given(REQUESTS, st.data())
def test_damaged_requests_are_refused_with_a_code(request: Request, data: st.DataObject) -> None:
    encoded = bytearray(encode_request(request))
    at = data.draw(st.integers(0, len(encoded) - 1))
    encoded[at] ^= data.draw(st.integers(1, 255))
    for damaged in (bytes(encoded), bytes(encoded[:at]), bytes(encoded) + b"\xc0"):
        with suppress(PenstockError):
            read = decode_request(damaged)
            assert decode_request(encode_request(read)) == read


def refusal(data: bytes) -> str:
    with pytest.raises(PenstockError) as refused:
        decode_request(data)
    assert refused.value.code == "sync.message"
    return refused.value.message


def encoded(*fields: object) -> bytes:
    return b"PSR\x01" + msgspec.msgpack.encode(fields)


SUBSCRIPTION: tuple[object, ...] = ("SyncSubscription", "/*", [], "")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a sync message"),
        (b"PSM\x01\x90", "not a sync message"),
        (b"PSR\x02\x90", "another version"),
        (b"PSR\x01", "malformed"),
        (encoded("Nonsense"), "malformed"),
        (encoded("CloneRequest", "x", 1, SUBSCRIPTION, 0, 0, 0, 0, 0), "at most length 7"),
        (encoded("CloneRequest", "x", True, SUBSCRIPTION, 0), "Expected `int`"),
        (encoded("CloneRequest", "x", -1, SUBSCRIPTION, 0), ">= 0"),
        (encoded("CloneRequest", "x", 2**60, SUBSCRIPTION, 0), "<="),
        (encoded("CloneRequest", "", 1, SUBSCRIPTION, 0), "name of a client"),
        (encoded("SyncRequest", "x", 1, 0, 0, [["SubmittedStatement", 1, 0, [], ""]], None), "no"),
        (b"PSR\x01" + b"\x91" * 100_000, "malformed"),
    ],
)
def test_malformed_requests(data: bytes, words: str) -> None:
    assert words in refusal(data)


def test_counts_are_limited_while_decoding() -> None:
    statement = ("SubmittedStatement", 1, 0, [("Delete", "0.1")], "")
    message = refusal(encoded("SyncRequest", "x", 1, 0, 0, [statement] * 1_001, None))
    assert "length <= 1000" in message


def test_an_invalid_query_is_refused_by_its_own_error() -> None:
    with pytest.raises(PenstockError) as refused:
        decode_request(encoded("CloneRequest", "x", 1, ("SyncSubscription", "/a[", [], ""), 0))
    assert refused.value.code.startswith("query.")


def test_what_cannot_be_encoded_is_refused() -> None:
    with pytest.raises(PenstockError) as refused:
        encode_request(CloneRequest(client="\ud800", number=1, subscription=SyncSubscription("/*")))
    assert refused.value.code == "sync.message"


def test_the_text_of_a_statement_is_limited() -> None:
    with pytest.raises(PenstockError, match="too long"):
        SubmittedStatement(number=1, base=0, operations=(Delete("0.1"),), text="x" * 10_001)
