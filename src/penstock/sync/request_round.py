"""A round of a server for requests, each of which is answered or refused by itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from penstock.errors import PenstockError
from penstock.sync.affected_search import IndexedClients
from penstock.sync.messages import Message, Request
from penstock.sync.server import Server
from penstock.sync.subscription import SyncSubscription


@dataclass(slots=True)
class Round:
    """What a round results in."""

    answers: list[tuple[Message, ...] | PenstockError]
    """For each request, the messages to its client, or why it was refused."""
    pushed: list[Message] = field(default_factory=list)
    """Messages to connected clients that requested nothing in the round."""


def run_round(
    server: Server,
    requests: Sequence[Request],
    *,
    connected: Collection[str] = (),
    left: Collection[str] = (),
) -> Round:
    """Runs a round. Store the server's changes before its messages are sent.

    Parameters
    ----------
    server
        The server.
    requests
        Requests, in the order of their arrival.
    connected
        Clients that can be sent messages that they did not request.
    left
        Clients that cannot any more.
    """
    for client in left:
        server.disconnect(client)
    refused: dict[int, PenstockError] = {}
    for number, request in enumerate(requests):
        try:
            _receive(server, request)
        except PenstockError as refusal:
            refused[number] = refusal
    messages = server.round()
    by_client: dict[str, list[Message]] = {request.client: [] for request in requests}
    pushed: list[Message] = []
    for message in messages:
        by_client.get(message.client, pushed).append(message)
    for client in by_client.keys() - set(connected):
        server.disconnect(client)
    answers = [
        refused.get(number) or tuple(by_client[request.client])
        for number, request in enumerate(requests)
    ]
    return Round(answers, pushed)


def _receive(server: Server, request: Request) -> None:
    if request.subscription is not None:
        # Before the server records it.
        require_usable(request.subscription)
    server.receive(request)


def require_usable(subscription: SyncSubscription) -> None:
    """Raises if a subscription cannot be compiled or indexed."""
    _ = subscription.compiled
    IndexedClients().add("", subscription)
