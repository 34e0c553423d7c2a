"""The states of a client, and the transitions between them, in one table."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class ClientStatus(StrEnum):
    """What a client has."""

    NEW = "new"
    """No cache, and none is requested."""

    CLONING = "cloning"
    """A clone is requested. There may be an old cache, which can be changed."""

    CLONED = "cloned"
    """A cache."""


class ClientInput(StrEnum):
    """What can happen to a client."""

    CLONE = "clone"
    """The application wants a clone."""
    CLONE_ANSWER = "clone answer"
    """The answer to the latest clone request."""
    UPDATE_MESSAGE = "update message"
    """A message for the client's base."""
    STALE_MESSAGE = "stale message"
    """A message that does not fit the client's base: repeated, overtaken, or of another clone."""
    GAP = "gap"
    """A message for a later base: an earlier one was lost."""
    CLONE_AGAIN = "clone again"
    """The server cannot tell what is new."""


_S = ClientStatus
_I = ClientInput

CLIENT_TRANSITIONS: Final[dict[ClientStatus, dict[ClientInput, ClientStatus]]] = {
    _S.NEW: {
        _I.CLONE: _S.CLONING,
        _I.STALE_MESSAGE: _S.NEW,
    },
    _S.CLONING: {
        _I.CLONE: _S.CLONING,
        _I.CLONE_ANSWER: _S.CLONED,
        _I.STALE_MESSAGE: _S.CLONING,
    },
    _S.CLONED: {
        _I.CLONE: _S.CLONING,
        _I.UPDATE_MESSAGE: _S.CLONED,
        _I.STALE_MESSAGE: _S.CLONED,
        _I.GAP: _S.CLONED,
        _I.CLONE_AGAIN: _S.CLONING,
    },
}
"""Status to input to the next status."""
