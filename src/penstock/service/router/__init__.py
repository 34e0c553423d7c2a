"""Routers as processes, and their clients.

This package itself needs no workspace, so that a client can do without the extra ``spark``: the
router is in :mod:`~penstock.service.router.service`, and what runs it in
:mod:`~penstock.service.router.process`.
"""

from penstock.extras import require_links_extra

require_links_extra("msgspec")

from penstock.service.addresses import parse_address
from penstock.service.router.clients import RouterClient
from penstock.service.router.options import RouterOptions
from penstock.service.router.tokens import PeerToken, Role, read_tokens
from penstock.service.router.wire_messages import DeliveredDocument, Receipt

__all__ = [
    "DeliveredDocument",
    "PeerToken",
    "Receipt",
    "Role",
    "RouterClient",
    "RouterOptions",
    "parse_address",
    "read_tokens",
]
