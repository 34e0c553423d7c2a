"""A server that is restored from an older state than its clients have seen."""

from __future__ import annotations

from copy import deepcopy

from penstock.sync import Client, Outcome, Server, StoredState, SyncSubscription
from penstock.sync.messages import Message
from support.contracts.native_engines import needs_native

pytestmark = needs_native

DOCUMENT = b"<r><a>1</a><b>1</b></r>"


class _Backup:
    """A server whose stored state can be replaced by an older one."""

    def __init__(self, *names: str) -> None:
        self.server = Server.of_document(DOCUMENT, incarnation=1)
        checkpoint = self.server.take_changes().checkpoint
        assert checkpoint is not None
        self.state = StoredState(checkpoint)
        self.clients = {name: Client(name, SyncSubscription("/*")) for name in names}
        self.synchronise(*names)

    def synchronise(self, *names: str) -> None:
        """Lets clients synchronise until nothing is left to say."""
        for _ in range(4):
            for name in names:
                self.server.receive(self.clients[name].request())
            messages: list[Message] = self.server.round()
            self.state.write(self.server.take_changes())
            for message in messages:
                if message.client in names:
                    for request in self.clients[message.client].receive(message):
                        self.server.receive(request)

    def restore(self, state: StoredState) -> None:
        self.state = deepcopy(state)
        self.server = Server(self.state, incarnation=2)

    def caches(self) -> set[bytes]:
        return {each.canonical_xml() for each in self.clients.values()}


def test_a_client_with_a_lost_version_gets_what_the_server_has() -> None:
    """The restored server has decided as many statements meanwhile, other ones."""
    net = _Backup("one", "two")
    old = deepcopy(net.state)
    net.clients["one"].update("/r/a/*!update('lost')")
    net.synchronise("one")
    net.restore(old)
    net.clients["two"].update("/r/b/*!update('kept')")
    net.synchronise("two")
    assert net.clients["one"].version == net.server.version
    net.synchronise("one")
    assert net.caches() == {b"<r><a>1</a><b>kept</b></r>"}
    (report,) = net.clients["one"].take_reports()
    assert (report.outcome, report.statement) == (Outcome.LOST, 1)


def test_a_client_goes_on_after_its_server_was_restored() -> None:
    """What is pending is numbered as the restored server expects it."""
    net = _Backup("one", "two")
    net.clients["one"].update("/r/a/*!update('kept')")
    net.synchronise("one")
    old = deepcopy(net.state)
    for value in ("2", "3"):
        net.clients["one"].update(f"/r/a/*!update('{value}')")
        net.synchronise("one")
    net.restore(old)
    net.clients["one"].update("/r!insert(new)")
    net.synchronise("one", "two")
    assert not net.clients["one"].pending
    assert net.caches() == {b"<r><a>kept</a><b>1</b><new></new></r>"}
    assert [each.statement for each in net.clients["one"].take_reports()] == [2, 3]
    net.clients["one"].undo()
    net.synchronise("one", "two")
    assert net.caches() == {b"<r><a>kept</a><b>1</b></r>"}


def test_what_a_lost_version_knew_is_not_known() -> None:
    """A pending statement overwrites a value that its author has not seen, who is told."""
    net = _Backup("one", "two")
    old = deepcopy(net.state)
    net.clients["one"].update("/r/b/*!update('lost')")
    net.synchronise("one")
    net.clients["one"].update("/r/a/*!update('one')")
    net.restore(old)
    net.clients["two"].update("/r/a/*!update('two')")
    net.synchronise("two")
    net.synchronise("one")
    net.synchronise("two")
    assert net.caches() == {b"<r><a>one</a><b>1</b></r>"}
    (report,) = net.clients["two"].take_reports()
    assert (report.outcome, report.by) == (Outcome.OVERWRITTEN, "one")


def test_a_restarted_server_knows_its_clients() -> None:
    net = _Backup("one", "two")
    net.clients["one"].update("/r/a/*!update('kept')")
    net.synchronise("one")
    net.restore(net.state)
    net.server.receive(net.clients["one"].request())
    (message,) = net.server.round()
    assert net.clients["one"].receive(message) == []
    assert net.clients["one"].version == 1
    net.synchronise("one", "two")
    assert net.caches() == {b"<r><a>kept</a><b>1</b></r>"}
    assert net.clients["one"].take_reports() == []


def test_a_lost_clone_is_made_again() -> None:
    """The server ignored the requests of a client whose replica was later than it knew."""
    net = _Backup("one", "two")
    old = deepcopy(net.state)
    net.server.receive(net.clients["one"].clone())
    net.synchronise("one")
    net.restore(old)
    net.clients["one"].update("/r/a/*!update('kept')")
    net.synchronise("one", "two")
    assert net.caches() == {b"<r><a>kept</a><b>1</b></r>"}


def test_a_lost_subscription_is_requested_again() -> None:
    """The server's messages were about an earlier subscription, and the client ignored them."""
    net = _Backup("one", "two")
    old = deepcopy(net.state)
    net.clients["one"].subscribe(SyncSubscription("/r/a"))
    net.synchronise("one")
    net.restore(old)
    net.clients["two"].update("/r/a/*!update('new')")
    net.synchronise("two")
    net.synchronise("one")
    assert net.clients["one"].canonical_xml() == b"<r><a>new</a></r>"
    assert net.clients["one"].version == net.server.version


def test_identities_of_a_lost_clone_are_not_given_away() -> None:
    """What was pending for a node of the lost clone would have changed the node of another."""
    net = _Backup("one")
    old = deepcopy(net.state)
    net.clients["two"] = Client("two", SyncSubscription("/*"))
    net.synchronise("two")
    net.clients["two"].update("/r!insert(new)")
    net.clients["two"].update("/r/new!insert(@k/'two')")
    net.restore(old)
    net.clients["three"] = Client("three", SyncSubscription("/*"))
    net.synchronise("three")
    net.clients["three"].update("/r!insert(other)")
    net.synchronise("three")
    net.synchronise("two")
    net.synchronise("one", "two", "three")
    assert net.caches() == {b"<r><a>1</a><b>1</b><other></other></r>"}
    reports = net.clients["two"].take_reports()
    assert {each.outcome for each in reports} == {Outcome.REFUSED}
