"""Synchronisation over HTTP: a server of documents, and clones in working directories.

This package itself needs no workspace, so that a client can do without the extra ``spark``: the
server is in :mod:`~penstock.service.sync.process`.
"""

from penstock.extras import require_sync_extra

require_sync_extra("httpx", "msgspec")

from penstock.service.sync.http_client import SyncConnection
from penstock.service.sync.server_url import DocumentUrl, parse_url
from penstock.service.sync.synchronisation import Synchronisation, synchronise
from penstock.service.sync.working_directory import WorkingDirectory

__all__ = [
    "DocumentUrl",
    "SyncConnection",
    "Synchronisation",
    "WorkingDirectory",
    "parse_url",
    "synchronise",
]
