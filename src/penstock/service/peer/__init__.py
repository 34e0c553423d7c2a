"""Peers of the overlay as processes.

The core of a peer is in :mod:`penstock.overlay`. :mod:`~penstock.service.peer.service` runs it on
links, and :mod:`~penstock.service.peer.process` until it is stopped by a signal.
"""

from penstock.extras import require_links_extra

require_links_extra("msgspec")

from penstock.service.peer.agent_service import AgentService
from penstock.service.peer.options import PeerServiceOptions
from penstock.service.peer.peer_names import address_of, peer_name
from penstock.service.peer.requests import ask_agent, ask_peer
from penstock.service.peer.service import PeerService

__all__ = [
    "AgentService",
    "PeerService",
    "PeerServiceOptions",
    "address_of",
    "ask_agent",
    "ask_peer",
    "peer_name",
]
