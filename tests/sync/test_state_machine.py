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
from penstock.sync.message_codec import decode_state, encode_state
from penstock.sync.messages import CloneAnswer, Message, Request
from penstock.sync.reference.restriction import restrict_to_subscription
from penstock.sync.simulation.report_checker import ReportChecker
from support.contracts.native_engines import needs_native

LEAVES = st.sampled_from(["1", "x", " ", "<!--n-->", "<?i d?>", "<a/>", "<b k='1'/>"])


def elements(content: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda name, attribute, inner: f"<{name}{attribute}>{''.join(inner)}</{name}>",
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["", "", " k='1'", " k='2'"]),
        st.lists(content, max_size=4),
    )


DOCUMENTS = st.lists(st.recursive(LEAVES, elements, max_leaves=8), max_size=4).map(
    lambda content: f"<r>{''.join(content)}</r>".encode()
)
QUERIES = st.sampled_from(
    ["/*", "/r/a", "//b", "//a[b]", "//text()", "//a/@k", "//a[@k = '1']/b", "//a[1]", "//c | //b"]
)
PATHS = st.sampled_from(
    [
        *("/r", "/r/a", "/r/*[0]", "/r/*[-1]", "//a", "//b", "//c", "//text()", "//a/@k"),
        *("//(a)[0]/*", "//comment()", "//(comment())[0]", "//pi()", "/r/pi()[-1]", "//a[b]"),
    ]
)
PLACES = ("", "Before", "After")
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
    st.builds("{}!insert{}({})".format, PATHS, st.sampled_from(PLACES), ARGUMENTS),
    st.builds("{}!copy{}({})".format, PATHS, st.sampled_from(PLACES), PATHS),
    st.builds("{}!move{}({})".format, PATHS, st.sampled_from(PLACES), PATHS),
)


class Synchronisation(RuleBasedStateMachine):
    """A server, clients and the messages between them, which may be lost, repeated, reordered."""

    clients: Bundle[str] = Bundle("clients")
    """Names: a client that restarts is another object."""
    requests: Bundle[Request] = Bundle("requests")
    messages: Bundle[Message] = Bundle("messages")

    @initialize(document=DOCUMENTS)
    def start(self, document: bytes) -> None:
        self.server = Server.of_document(document, horizon=8)
        checkpoint = self.server.take_changes().checkpoint
        assert checkpoint is not None
        self.store = StoredState(checkpoint)
        self.all: dict[str, Client] = {}
        self.report_checker = ReportChecker()

    @rule(target=clients, subscription=SUBSCRIPTIONS)
    def join(self, subscription: SyncSubscription) -> str:
        client = Client(f"client{len(self.all)}", subscription)
        self.all[client.name] = client
        self.server.receive(client.clone())
        self.end_round(deliver=True)
        return client.name

    @rule(name=clients, statement=STATEMENTS)
    def update(self, name: str, statement: str) -> None:
        with suppress(PenstockError):
            self.all[name].update(statement)

    @rule(name=clients, redo=st.booleans())
    def undo(self, name: str, redo: bool) -> None:
        with suppress(PenstockError):
            if redo:
                self.all[name].redo()
            else:
                self.all[name].undo()

    @rule(name=clients, subscription=SUBSCRIPTIONS)
    def subscribe(self, name: str, subscription: SyncSubscription) -> None:
        self.all[name].subscribe(subscription)

    @rule(target=requests, name=clients)
    def send(self, name: str) -> Request:
        return self.all[name].request()

    @rule(target=requests, name=clients)
    def clone(self, name: str) -> Request:
        return self.all[name].clone()

    @rule(name=clients)
    def restart(self, name: str) -> None:
        """A client stops, and is restored from what it stored."""
        stopped = self.all[name]
        restored = Client.restore(decode_state(encode_state(stopped.state())))
        assert restored.canonical_xml() == stopped.canonical_xml()
        assert restored.pending == stopped.pending
        self.all[name] = restored

    @rule(request=requests)
    def arrive(self, request: Request) -> None:
        self.server.receive(request)

    @rule(target=messages)
    def round(self) -> MultipleResults[Message]:
        return multiple(*self.end_round(deliver=False))

    @rule(message=messages)
    def deliver(self, message: Message) -> None:
        client = self.all[message.client]
        before = client.status, client.version, client.pending
        for request in client.receive(message):
            self.server.receive(request)
        if before[0] is ClientStatus.CLONING and client.status is ClientStatus.CLONED:
            assert isinstance(message, CloneAnswer)
            self.report_checker.cloned(message, *before[1:])
        for report in client.take_reports():
            self.report_checker.delivered(client.name, report)

    @rule()
    def kill(self) -> None:
        self.server = Server(self.store, horizon=8)

    def end_round(self, *, deliver: bool) -> list[Message]:
        log_start = self.server.log.start
        messages = self.server.round()
        changes = self.server.take_changes()
        self.report_checker.decided(changes.entries, messages, log_start)
        self.store.write(changes)
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
        assert self.report_checker.problem() is None


def restricted(document: bytes, client: Client) -> bytes:
    return restrict_to_subscription(document, client.subscription).canonical_xml()


TestSynchronisation = needs_native(Synchronisation.TestCase)
Synchronisation.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
