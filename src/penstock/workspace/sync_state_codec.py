"""The stored form of a synchronisation server's log entries and client records."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Final, TypeVar

from penstock.language.updates.ast import Name
from penstock.sync import SubscriptionLanguage, SyncSubscription
from penstock.sync.document_tree import NewNode, NodeKind, Place
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
from penstock.sync.reports import Outcome, Report
from penstock.sync.server_state import ClientRecord
from penstock.sync.update_log import AddressedReport, LogEntry

_T = TypeVar("_T")

_TYPES: Final[dict[str, Any]] = {
    each.__name__: each
    for each in (
        *(Insert, Delete, Restore, Move, Copy, SetValue, Rename, SetAttribute, CopyAttribute),
        *(Name, NewNode, NodeKind, Place, Outcome, Report, AddressedReport, LogEntry),
        *(ClientRecord, SyncSubscription, SubscriptionLanguage),
    )
}


def encode_stored(value: object) -> str:
    """A record or an entry of the log as JSON in ASCII, without line breaks."""
    return json.dumps(_plain(value), separators=(",", ":"))


def _plain(value: object) -> object:
    """A value in terms of JSON: an object of Penstock is its type and fields."""
    if isinstance(value, NodeKind | Outcome | SubscriptionLanguage):
        return {"type": type(value).__name__, "fields": [value.value]}
    if dataclasses.is_dataclass(value):
        fields = [_plain(getattr(value, each.name)) for each in dataclasses.fields(value)]
        return {"type": type(value).__name__, "fields": fields}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def decode_stored(text: str, expected: type[_T]) -> _T:
    """What was encoded; raises ``ValueError``, ``KeyError``, ``TypeError`` or ``AssertionError`` if
    the text is something else."""
    value = json.loads(text, object_hook=_object)
    assert isinstance(value, expected)
    return value


def _object(plain: dict[str, Any]) -> object:
    return _TYPES[plain["type"]](*map(_frozen, plain["fields"]))


def _frozen(value: object) -> object:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
