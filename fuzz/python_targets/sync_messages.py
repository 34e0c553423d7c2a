"""Messages of synchronisation: hostile bytes are refused with a code, and server and client stay.

The first byte selects whether the bytes are a request, messages or a stored state.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from penstock.errors import PenstockError
from penstock.sync import Client, Server, SyncSubscription
from penstock.sync.message_codec import (
    decode_messages,
    decode_request,
    decode_state,
    encode_messages,
    encode_request,
    encode_state,
)
from penstock.sync.messages import Message

DICTIONARY = None

_DOCUMENT: Final = b"<r><a k='1'>x</a><b>y</b></r>"


def _pair() -> tuple[Server, Client]:
    server = Server.of_document(_DOCUMENT)
    client = Client("one", SyncSubscription("/*"))
    server.receive(client.request())
    for message in server.round():
        client.receive(message)
    return server, client


def seeds() -> list[bytes]:
    """One input for each kind, with every operation."""
    server, client = _pair()
    for statement in (
        "/r!insert(c/@k/'v')",
        "/r/a!copyAfter(../b)",
        "/r/b!moveBefore(../a)",
        "/r/a/*!update('z')",
        "/r/a/@k!update('2')",
        "/r/c!update('d')",
        "/r/d!copy(/r/a/@k)",
        "/r/b!delete()",
    ):
        client.update(statement)
    request = client.request()
    server.receive(request)
    messages: tuple[Message, ...] = tuple(server.round())
    return [
        b"\x00" + encode_request(Client("two", SyncSubscription("//a[b = '1']")).clone()),
        b"\x00" + encode_request(request),
        b"\x01" + encode_messages(messages),
        b"\x02" + encode_state(client.state()),
    ]


def run_input(data: bytes) -> None:
    """Decode, and let a server or client receive it; then an honest client still synchronises."""
    if not data:
        return
    server, client = _pair()
    with suppress(PenstockError):
        match data[0] % 3:
            case 0:
                request = decode_request(data[1:])
                assert decode_request(encode_request(request)) == request
                server.receive(request)
                server.round()
                honest = Client("honest", SyncSubscription("/*"))
                server.receive(honest.request())
                for message in server.round():
                    honest.receive(message)
                assert honest.canonical_xml() == server.tree.canonical_xml()
            case 1:
                for message in decode_messages(data[1:]):
                    client.receive(message)
                    client.canonical_xml()
            case _:
                Client.restore(decode_state(data[1:])).canonical_xml()
