"""The messages and bytes that merging saves."""

from __future__ import annotations

import random
from dataclasses import replace

from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import Cell, Chart, ResultTable
from penstock.lab.xsync.scale import Scale
from penstock.sync import Client, Server, SyncSubscription
from penstock.sync.message_codec import encode_messages
from penstock.sync.messages import Message, Request, SyncRequest

CATEGORIES = 20
PRODUCTS = 10
"""In each category."""
READERS = 3
"""Connected clients for each category."""
AUTHORS = 2
ROUNDS = 5

METHODS = ("merged", "client-centric", "broadcast")


class _Readers:
    """The readers of a server, and what it sends them."""

    def __init__(self, document: bytes) -> None:
        self.server = Server.of_document(document)
        self._clients = {
            client.name: client
            for client in (
                Client(
                    f"reader {category}.{number}",
                    SyncSubscription(f"/shop/category[@id = 'c{category}']"),
                )
                for category in range(CATEGORIES)
                for number in range(READERS)
            )
        }
        for client in self._clients.values():
            self.server.receive(client.request())
        self._deliver(self.server.round())
        self.messages = self.bytes = 0

    def _deliver(self, messages: list[Message]) -> list[Message]:
        """Delivers the messages to readers; returns the others."""
        others: list[Message] = []
        for message in messages:
            reader = self._clients.get(message.client)
            if reader is None:
                others.append(message)
            else:
                reader.receive(message)
        return others

    def round(self, *requests: Request) -> list[Message]:
        """Runs a round; returns the messages to authors."""
        for request in requests:
            self.server.receive(request)
        messages = self.server.round()
        others = self._deliver(messages)
        sent = [message for message in messages if message not in others]
        self.messages += len(sent)
        self.bytes += sum(len(encode_messages((message,))) for message in sent)
        return others

    def assert_converged(self) -> None:
        """Each cache is the restriction of the document."""
        for client in self._clients.values():
            tree = self.server.tree
            view = tree.view(client.subscription.compiled)
            assert client.canonical_xml() == tree.restricted(view).canonical_xml()


def merging(scale: Scale, progress: Progress) -> ResultTable:
    """Count what is sent for the same statements, merged and not."""
    progress("lab xsync: merging")
    measured = {statements: _sent(statements) for statements in scale.merged_statements}
    rows: list[tuple[Cell, ...]] = [
        (measure, statements, *(sent[method][at] for method in METHODS))
        for at, measure in enumerate(("messages", "bytes"))
        for statements, sent in measured.items()
    ]
    return ResultTable(
        "merging",
        "What is sent to readers in a round",
        ("measure", "statements a round", *METHODS),
        tuple(rows),
        (
            f"Means of {ROUNDS} rounds. {CATEGORIES * READERS} connected readers, each with one of"
            f" {CATEGORIES} categories; {AUTHORS} authors of the whole catalogue set prices, insert"
            " notes and move products at random. Merged: a message for each reader that a round"
            " affects. Client-centric: a message for each reader and each statement that affects"
            " it. Broadcast: each statement, as text, to each reader, who filters it.",
        ),
        Chart("measure", "statements a round", METHODS, "a round", logarithmic=True),
    )


def _sent(statements: int) -> dict[str, tuple[float, float]]:
    """Messages and bytes of each method."""
    rng = random.Random(statements)
    products = "".join(f"<product><price>{at}</price></product>" for at in range(PRODUCTS))
    categories = "".join(f"<category id='c{at}'>{products}</category>" for at in range(CATEGORIES))
    document = f"<shop>{categories}</shop>".encode()
    merged, separate = _Readers(document), _Readers(document)
    authors = [Client(f"author {at}", SyncSubscription("/*")) for at in range(AUTHORS)]
    by_name = {author.name: author for author in authors}
    for author in authors:
        request = author.request()
        for readers in (merged, separate):
            readers.server.receive(request)
    for message in merged.round():
        by_name[message.client].receive(message)
    separate.round()
    text_bytes = 0
    for _ in range(ROUNDS):
        for at in range(statements):
            author = authors[at % AUTHORS]
            text = _statement(rng)
            author.update(text)
            text_bytes += len(text.encode())
        requests = [author.request() for author in authors]
        for request in requests:
            assert isinstance(request, SyncRequest)
            for statement in request.statements:
                separate.round(replace(request, statements=(statement,)))
        for message in merged.round(*requests):
            by_name[message.client].receive(message)
    for readers in (merged, separate):
        readers.assert_converged()
    assert merged.server.tree.canonical_xml() == separate.server.tree.canonical_xml()
    clients = CATEGORIES * READERS
    totals = {
        "merged": (merged.messages, merged.bytes),
        "client-centric": (separate.messages, separate.bytes),
        "broadcast": (statements * ROUNDS * clients, text_bytes * clients),
    }
    return {name: (count / ROUNDS, size / ROUNDS) for name, (count, size) in totals.items()}


def _statement(rng: random.Random) -> str:
    category = f"/shop/category[{rng.randrange(CATEGORIES)}]"
    one, other = rng.sample(range(PRODUCTS), 2)
    kind = rng.random()
    if kind < 0.7:
        return f"{category}/product[{one}]/price/*!update('{rng.randrange(1_000)}')"
    if kind < 0.9:
        return f"{category}/product[{one}]!insert(note/'on sale from {rng.randrange(1_000)}')"
    return f"{category}/product[{one}]!moveAfter({category}/product[{other}])"
