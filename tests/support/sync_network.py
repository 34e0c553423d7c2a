"""A server and clients without a network between them, for tests."""

from __future__ import annotations

from penstock.sync import Client, Report, Server, SyncSubscription
from penstock.sync.messages import Message
from penstock.sync.reference.restriction import restrict_to_subscription


class Neighbourhood:
    """A server and its clients, which have cloned."""

    def __init__(self, document: bytes, **queries: str) -> None:
        self.server = Server.of_document(document)
        self.server.take_changes()
        self.clients = {
            name: Client(name, SyncSubscription(query)) for name, query in queries.items()
        }
        for client in self.clients.values():
            self.server.receive(client.clone())
        self.deliver(self.server.round())

    def __getitem__(self, name: str) -> Client:
        return self.clients[name]

    def deliver(self, messages: list[Message]) -> None:
        """Gives messages to their clients, and what these send to the server."""
        for message in messages:
            for request in self.clients[message.client].receive(message):
                self.server.receive(request)

    def push(self, *names: str) -> list[Message]:
        """Clients synchronise, in this order, in one round; returns the messages."""
        for name in names or self.clients:
            self.server.receive(self.clients[name].request())
        messages = self.server.round()
        self.deliver(messages)
        return messages

    def reports(self, name: str) -> list[Report]:
        """What a client was told."""
        return self.clients[name].take_reports()

    @property
    def document(self) -> bytes:
        """The server's document."""
        return self.server.tree.canonical_xml()

    def check(self) -> None:
        """Compares each cache with the restriction of the document, by the reference."""
        for client in self.clients.values():
            expected = restrict_to_subscription(self.document, client.subscription)
            assert client.base_xml() == expected.canonical_xml()
