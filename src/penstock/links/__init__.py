"""Links between routers: frames, sessions with resume and acknowledgement, asyncio transport.

The core (:class:`Connection`, :class:`Session`) does no I/O. :func:`connect` and :func:`serve` run
it on asyncio; :class:`Link` is what an application holds.
"""

from penstock.extras import require_links_extra

require_links_extra("msgspec")

from penstock.links.addresses import Address, TcpAddress, UnixAddress
from penstock.links.back_off import BackOff
from penstock.links.client import connect
from penstock.links.connection import Connection
from penstock.links.counters import LinkCounters
from penstock.links.document_messages import document_from_message, document_to_message
from penstock.links.event_loop import run
from penstock.links.events import (
    Acknowledged,
    Closed,
    Established,
    LinkEvent,
    MessageReceived,
    SessionReset,
)
from penstock.links.group_token import GroupToken
from penstock.links.handshake import Peers
from penstock.links.limits import LinkLimits
from penstock.links.link import Link, StoreMessage
from penstock.links.message import Message
from penstock.links.options import LinkOptions, SlowConsumerPolicy
from penstock.links.server import LinkHandler, Server, serve
from penstock.links.session import Session, SessionState
from penstock.links.session_registry import SessionRegistry
from penstock.links.tls import ClientTls, ServerTls

__all__ = [
    "Acknowledged",
    "Address",
    "BackOff",
    "ClientTls",
    "Closed",
    "Connection",
    "Established",
    "GroupToken",
    "Link",
    "LinkCounters",
    "LinkEvent",
    "LinkHandler",
    "LinkLimits",
    "LinkOptions",
    "Message",
    "MessageReceived",
    "Peers",
    "Server",
    "ServerTls",
    "Session",
    "SessionRegistry",
    "SessionReset",
    "SessionState",
    "SlowConsumerPolicy",
    "StoreMessage",
    "TcpAddress",
    "UnixAddress",
    "connect",
    "document_from_message",
    "document_to_message",
    "run",
    "serve",
]
