"""The states of a connection and every transition between them, as data.

A frame that the table does not allow in a state is a violation by the peer. The figure in the
documentation is generated from this table, and a test walks every pair of state and input.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = ["FRAME_INPUTS", "INITIAL_STATES", "TRANSITIONS", "Input", "Role", "State"]


class Role(Enum):
    """Which side of a connection this is."""

    INITIATOR = "initiator"
    RESPONDER = "responder"


class State(Enum):
    """State of a connection."""

    # Members are singletons; the hash of Enum is slower, and the table is read for every frame.
    __hash__ = object.__hash__

    AWAIT_HELLO = "await hello"
    AWAIT_CHALLENGE = "await challenge"
    AWAIT_PROOF = "await proof"
    AWAIT_WELCOME = "await welcome"
    AWAIT_CONFIRMATION = "await confirmation"
    ESTABLISHED = "established"
    RECEIVING_BODY = "receiving body"
    CLOSING = "closing"
    CLOSED = "closed"


class Input(Enum):
    """What can happen to a connection: a frame arrives, or something on this side."""

    __hash__ = object.__hash__

    HELLO = "hello"
    CHALLENGE = "challenge"
    PROOF = "proof"
    WELCOME = "welcome"
    MESSAGE = "message, body follows"
    MESSAGE_WITHOUT_BODY = "message without body"
    BODY = "body, more follows"
    LAST_BODY = "last of body"
    ACKNOWLEDGE = "acknowledge"
    HEARTBEAT = "heartbeat"
    HEARTBEAT_REPLY = "heartbeat reply"
    CLOSE = "close"

    CLOSE_REQUEST = "close request"
    TIME_OUT = "time-out"
    VIOLATION = "violation"
    SUPERSEDED = "superseded"
    CONNECTION_LOST = "connection lost"


FRAME_INPUTS: Final = frozenset(
    {
        Input.HELLO,
        Input.CHALLENGE,
        Input.PROOF,
        Input.WELCOME,
        Input.MESSAGE,
        Input.MESSAGE_WITHOUT_BODY,
        Input.BODY,
        Input.LAST_BODY,
        Input.ACKNOWLEDGE,
        Input.HEARTBEAT,
        Input.HEARTBEAT_REPLY,
        Input.CLOSE,
    }
)
"""Inputs that are frames of the peer."""

INITIAL_STATES: Final = {
    Role.INITIATOR: State.AWAIT_CHALLENGE,
    Role.RESPONDER: State.AWAIT_HELLO,
}

_ALWAYS: Final = {
    Input.CLOSE: State.CLOSED,
    Input.CLOSE_REQUEST: State.CLOSED,
    Input.TIME_OUT: State.CLOSED,
    Input.VIOLATION: State.CLOSED,
    Input.SUPERSEDED: State.CLOSED,
    Input.CONNECTION_LOST: State.CLOSED,
}
"""What ends a connection in every state, unless the state says otherwise."""

TRANSITIONS: Final[dict[State, dict[Input, State]]] = {
    State.AWAIT_HELLO: {**_ALWAYS, Input.HELLO: State.AWAIT_PROOF},
    State.AWAIT_CHALLENGE: {**_ALWAYS, Input.CHALLENGE: State.AWAIT_WELCOME},
    State.AWAIT_PROOF: {**_ALWAYS, Input.PROOF: State.AWAIT_CONFIRMATION},
    State.AWAIT_WELCOME: {**_ALWAYS, Input.WELCOME: State.ESTABLISHED},
    State.AWAIT_CONFIRMATION: {**_ALWAYS, Input.ACKNOWLEDGE: State.ESTABLISHED},
    State.ESTABLISHED: {
        **_ALWAYS,
        Input.MESSAGE: State.RECEIVING_BODY,
        Input.MESSAGE_WITHOUT_BODY: State.ESTABLISHED,
        Input.ACKNOWLEDGE: State.ESTABLISHED,
        Input.HEARTBEAT: State.ESTABLISHED,
        Input.HEARTBEAT_REPLY: State.ESTABLISHED,
        Input.CLOSE_REQUEST: State.CLOSING,
    },
    State.RECEIVING_BODY: {
        **_ALWAYS,
        Input.BODY: State.RECEIVING_BODY,
        Input.LAST_BODY: State.ESTABLISHED,
        Input.ACKNOWLEDGE: State.RECEIVING_BODY,
        Input.HEARTBEAT: State.RECEIVING_BODY,
        Input.HEARTBEAT_REPLY: State.RECEIVING_BODY,
        Input.CLOSE_REQUEST: State.CLOSING,
    },
    # Messages that arrive after this side has closed are ignored: they are sent again when the
    # session is resumed. Acknowledgements still count.
    State.CLOSING: {
        **_ALWAYS,
        Input.MESSAGE: State.CLOSING,
        Input.MESSAGE_WITHOUT_BODY: State.CLOSING,
        Input.BODY: State.CLOSING,
        Input.LAST_BODY: State.CLOSING,
        Input.ACKNOWLEDGE: State.CLOSING,
        Input.HEARTBEAT: State.CLOSING,
        Input.HEARTBEAT_REPLY: State.CLOSING,
        Input.CLOSE_REQUEST: State.CLOSING,
    },
    # Whatever still arrives is ignored.
    State.CLOSED: dict.fromkeys(Input, State.CLOSED),
}
"""State and input to the next state; a pair that is missing is a violation by the peer."""
