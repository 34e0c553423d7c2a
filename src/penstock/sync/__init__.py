"""Synchronisation: cached parts of a document, kept in step for clients that come and go."""

from penstock.sync.client import Client
from penstock.sync.client_state import ClientState
from penstock.sync.client_transitions import ClientStatus
from penstock.sync.document_tree import DocumentTree
from penstock.sync.reports import Outcome, Report
from penstock.sync.server import Server
from penstock.sync.server_state import StateChanges, StoredState
from penstock.sync.subscription import SubscriptionLanguage, SyncSubscription

__all__ = [
    "Client",
    "ClientState",
    "ClientStatus",
    "DocumentTree",
    "Outcome",
    "Report",
    "Server",
    "StateChanges",
    "StoredState",
    "SubscriptionLanguage",
    "SyncSubscription",
]
