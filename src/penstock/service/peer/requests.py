"""Requests about a peer, over a link of the one who asks: which trees it is in, and its status."""

from __future__ import annotations

import asyncio
import secrets
from typing import Final

import msgspec

from penstock.errors import error
from penstock.links import (
    Address,
    Closed,
    LinkEvent,
    Message,
    MessageReceived,
    connect,
)
from penstock.service.peer.limits import REQUEST_SECONDS
from penstock.service.peer.options import PeerServiceOptions
from penstock.service.peer.status import PeerStatus, decode_status

STATUS_REQUEST: Final = 65
"""The kind of a request for the status, which is empty."""

STATUS: Final = 66
"""The kind of its answer: JSON."""

CLIENT_PREFIX: Final = "client-"
"""What the names of those who only ask begin with; they have no address."""


def status_message(status: PeerStatus) -> Message:
    """The answer to a request for the status."""
    return Message(body=msgspec.json.encode(status), kind=STATUS)


async def ask_peer(address: Address, options: PeerServiceOptions) -> PeerStatus:
    """The status of the peer at an address.

    Raises
    ------
    OverlayError
        ``overlay.unreachable``: there is no peer, it refuses the token, or it does not answer.
    """
    options.check_address(address)
    link = await connect(
        address,
        peer="",
        options=options.link_options(f"{CLIENT_PREFIX}{secrets.token_hex(8)}"),
        token=options.token,
        tls=options.client_tls,
    )
    try:
        link.try_send(Message(kind=STATUS_REQUEST))
        async with asyncio.timeout(REQUEST_SECONDS):
            while True:
                event = await link.receive()
                status = _status_in(event, address)
                if status is not None:
                    return status
    except TimeoutError:
        raise error("overlay.unreachable", f"{address} has not answered in time") from None
    finally:
        await link.close()


def _status_in(event: LinkEvent, address: Address) -> PeerStatus | None:
    match event:
        case Closed(error=problem) if problem is not None:
            raise error("overlay.unreachable", f"{address}: {problem.message}")
        case MessageReceived(message=Message(kind=kind, body=body)) if kind == STATUS:
            return decode_status(body)
        case _:
            return None
