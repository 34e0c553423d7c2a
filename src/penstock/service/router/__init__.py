"""Routers as processes: the router core with its store, links, clients and a workspace."""

from penstock.extras import require_links_extra

require_links_extra("msgspec")

from penstock.service.router.addresses import parse_address
from penstock.service.router.clients import RouterClient
from penstock.service.router.engine import RouterEngine
from penstock.service.router.options import RouterOptions
from penstock.service.router.service import RouterService
from penstock.service.router.tokens import PeerToken, Role, read_tokens
from penstock.service.router.wire_messages import DeliveredDocument, Receipt

__all__ = [
    "DeliveredDocument",
    "PeerToken",
    "Receipt",
    "Role",
    "RouterClient",
    "RouterEngine",
    "RouterOptions",
    "RouterService",
    "parse_address",
    "read_tokens",
]
