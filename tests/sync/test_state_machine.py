"""Hypothesis chooses documents, subscriptions and interleavings; a failure is shrunk."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)

from penstock.errors import PenstockError
from penstock.sync import (
    Client,
    ClientStatus,
    Server,
    StoredState,
    SubscriptionLanguage,
    SyncSubscription,
)
from penstock.sync.messages import Message, Request
from penstock.sync.reference.restriction import restrict_to_subscription
from support.contracts.native_engines import needs_native

DOCUMENTS = st.sampled_from(
    [
        b"<r><a><b>1</b><c/></a><a k='1'>x<b/>y</a></r>",
        b"<r>1<a/>2<!--n--><b><a><c>1</c></a></b></r>",
        b"<r/>",
    ]
)
QUERIES = st.sampled_from(
    ["/*", "/r/a", "//b", "//a[b]", "//text()", "//a/@k", "//a[@k = '1']/b", "//a[1]", "//c | //b"]
)
PATHS = st.sampled_from(
    ["/r", "/r/a", "/r/*[0]", "/r/*[-1]", "//a", "//b", "//c", "//text()", "//a/@k", "//(a)[0]/*"]
)
ARGUMENTS = st.sampled_from(["a", "b/'1'", "'2'", "@k/'1'", "a/@k/'2'"])
SUBSCRIPTIONS = st.one_of(
    QUERIES.map(SyncSubscription),
    st.builds(
        SyncSubscription,
        st.sampled_from(["//a/*", "//(a/b)[0]/*", "//(b)[-1]", "/r/(*)[1]", "//a[0] | //(@k)[0]"]),
        language=st.just(SubscriptionLanguage.XQL),
    ),
)
STATEMENTS = st.one_of(
    st.builds("{}!delete()".format, PATHS),
    st.builds("{}!update('{}')".format, PATHS, st.sampled_from(["a", "b", "1"])),
    st.builds("{}!{}({})".format, PATHS, st.sampled_from(["insert", "insertBefore"]), ARGUMENTS),
    st.builds("{}!{}({})".format, PATHS, st.sampled_from(["copy", "copyAfter"]), PATHS),
    st.builds("{}!{}({})".format, PATHS, st.sampled_from(["move", "moveBefore"]), PATHS),
)


class Synchronisation(RuleBasedStateMachine):
    """A server, clients and the messages between them, which may be lost, repeated, reordered."""

    clients: Bundle[Client] = Bundle("clients")
    requests: Bundle[Request] = Bundle("requests")
    messages: Bundle[Message] = Bundle("messages")

    @initialize(document=DOCUMENTS)
    def start(self, document: bytes) -> None:
        self.server = Server.of_document(document, horizon=8)
        checkpoint = self.server.take_changes().checkpoint
        assert checkpoint is not None
        self.store = StoredState(checkpoint)
        self.all: dict[str, Client] = {}

    @rule(target=clients, subscription=SUBSCRIPTIONS)
    def join(self, subscription: SyncSubscription) -> Client:
        client = Client(f"client{len(self.all)}", subscription)
        self.all[client.name] = client
        self.server.receive(client.clone())
        self.end_round(deliver=True)
        return client

    @rule(client=clients, statement=STATEMENTS)
    def update(self, client: Client, statement: str) -> None:
        with suppress(PenstockError):
            client.update(statement)

    @rule(client=clients, redo=st.booleans())
    def undo(self, client: Client, redo: bool) -> None:
        with suppress(PenstockError):
            if redo:
                client.redo()
            else:
                client.undo()

    @rule(client=clients, subscription=SUBSCRIPTIONS)
    def subscribe(self, client: Client, subscription: SyncSubscription) -> None:
        client.subscribe(subscription)

    @rule(target=requests, client=clients)
    def send(self, client: Client) -> Request:
        return client.request()

    @rule(request=requests)
    def arrive(self, request: Request) -> None:
        self.server.receive(request)

    @rule(target=messages)
    def round(self) -> MultipleResults[Message]:
        return multiple(*self.end_round(deliver=False))

    @rule(message=messages)
    def deliver(self, message: Message) -> None:
        for request in self.all[message.client].receive(message):
            self.server.receive(request)

    @rule()
    def kill(self) -> None:
        self.server = Server(self.store, horizon=8)

    def end_round(self, *, deliver: bool) -> list[Message]:
        messages = self.server.round()
        self.store.write(self.server.take_changes())
        for message in messages if deliver else []:
            self.deliver(message)
        return messages

    @invariant()
    def bases_are_restrictions(self) -> None:
        for client in self.all.values():
            is_known = self.server.log.start <= client.version <= self.server.version
            if client.status is ClientStatus.CLONED and is_known:
                with self.server.tree.at_version(client.version):
                    document = self.server.tree.canonical_xml()
                expected = restricted(document, client)
                assert client.base_xml() == expected

    def teardown(self) -> None:
        for _ in range(6):
            for client in self.all.values():
                self.server.receive(client.request())
            self.end_round(deliver=True)
        document = self.server.tree.canonical_xml()
        for client in self.all.values():
            assert not client.pending
            assert client.version == self.server.version
            assert client.canonical_xml() == restricted(document, client)


def restricted(document: bytes, client: Client) -> bytes:
    return restrict_to_subscription(document, client.subscription).canonical_xml()


TestSynchronisation = needs_native(Synchronisation.TestCase)
Synchronisation.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
