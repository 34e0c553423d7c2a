"""Requests to a peer or an agent, over a link of the one who asks: which trees there are."""

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
from penstock.service.peer.options import AGENT_LABEL, PeerServiceOptions
from penstock.service.peer.peer_names import peer_name
from penstock.service.peer.status import (
    AgentStatus,
    PeerStatus,
    decode_agent_status,
    decode_status,
)

STATUS_REQUEST: Final = 65
"""The kind of a request for the status, which is empty."""

STATUS: Final = 66
"""The kind of its answer: JSON."""

AGENT_STATUS: Final = 67
"""The kind of an agent's answer: JSON."""

CLIENT_PREFIX: Final = "client-"
"""What the names of those who only ask begin with; they have no address."""


def status_message(status: PeerStatus | AgentStatus) -> Message:
    """The answer to a request for the status."""
    kind = STATUS if isinstance(status, PeerStatus) else AGENT_STATUS
    return Message(body=msgspec.json.encode(status), kind=kind)


async def ask_peer(address: Address, options: PeerServiceOptions) -> PeerStatus:
    """The status of the peer at an address.

    Raises
    ------
    OverlayError
        ``overlay.unreachable``: there is no peer, it refuses the token, or it does not answer.
    """
    return decode_status(await _ask(address, options, STATUS))


async def ask_agent(address: Address, options: PeerServiceOptions) -> AgentStatus:
    """The status of the system agent at an address.

    Raises
    ------
    OverlayError
        ``overlay.unreachable``: there is no agent, it refuses the token, it does not answer, or it
        has another address for peers.
    """
    status = decode_agent_status(await _ask(address, options, AGENT_STATUS))
    if status.name != peer_name(AGENT_LABEL, address):
        raise error(
            "overlay.unreachable", f"the agent at {address} is reached as `{status.name}` only"
        )
    return status


async def _ask(address: Address, options: PeerServiceOptions, kind: int) -> bytes:
    """The answer of some kind to a request for the status."""
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
                answer = _answer_in(await link.receive(), address, kind)
                if answer is not None:
                    return answer
    except TimeoutError:
        raise error("overlay.unreachable", f"{address} has not answered in time") from None
    finally:
        await link.close()


def _answer_in(event: LinkEvent, address: Address, kind: int) -> bytes | None:
    match event:
        case Closed(error=problem) if problem is not None:
            raise error("overlay.unreachable", f"{address}: {problem.message}")
        case MessageReceived(message=message) if message.kind == kind:
            return message.body
        case MessageReceived(message=message) if message.kind in {STATUS, AGENT_STATUS}:
            found = "a peer" if message.kind == STATUS else "the system agent"
            raise error("overlay.unreachable", f"{found} listens on {address}")
        case _:
            return None
