"""The trees of an overlay, collected from its peers, of which some lie or do not answer."""

from __future__ import annotations

import pytest

from penstock.errors import error
from penstock.links import Address, TcpAddress, run
from penstock.service.peer import PeerServiceOptions, address_of, tree_crawl
from penstock.service.peer.status import PeerStatus, TreeStatus, new_counters
from penstock.service.peer.tree_crawl import CrawledTree, crawl
from support.service.running_peers import peer_options, running_peer


def test_a_tree_is_collected_from_any_of_its_peers() -> None:
    async def main() -> None:
        async with (
            running_peer("source", is_source=True, fan_out=1) as source,
            running_peer("one", fan_out=2) as one,
            running_peer("two") as two,
            running_peer("three") as three,
        ):
            for peer in (one, two, three):
                await peer.join(source, "/a")
            [tree] = await crawl(three.service.address, peer_options("client"))
            assert tree.source == source.name
            parents = {name: peer.parent for name, peer in tree.peers.items()}
            assert parents == {
                source.name: None,
                one.name: source.name,
                two.name: one.name,
                three.name: one.name,
            }
            assert len(tree.picture("t").depths()) == 4

    run(main())


SOURCE = "s@127.0.0.1:1"


def status(name: str, *children: str) -> PeerStatus:
    """A peer that claims to have children."""
    tree = TreeStatus(
        source=SOURCE,
        state="connected",
        parent=None,
        path=(),
        children=children,
        epoch=1,
        position=0,
        missing=0,
        overhead=0.5,
        patterns=1,
    )
    return PeerStatus(name=name, fan_out=6, trees=(tree,), counters=new_counters())


def crawled(monkeypatch: pytest.MonkeyPatch, *peers: PeerStatus) -> CrawledTree:
    """The tree of peers that say what they are given."""
    known = {str(address_of(each.name)): each for each in peers}

    async def ask(address: Address, options: PeerServiceOptions) -> PeerStatus:
        if str(address) not in known:
            raise error("overlay.unreachable", f"{address}")
        return known[str(address)]

    monkeypatch.setattr(tree_crawl, "ask_peer", ask)
    [tree] = run(crawl(TcpAddress("127.0.0.1", 1), peer_options("client")))
    return tree


def test_peers_that_claim_each_other_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = "a@127.0.0.1:2", "b@127.0.0.1:3"
    tree = crawled(monkeypatch, status(SOURCE, a, a), status(a, b, SOURCE, a), status(b, a))
    assert {name: peer.parent for name, peer in tree.peers.items()} == {
        SOURCE: None,
        a: SOURCE,
        b: a,
    }


def test_peers_that_do_not_answer_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    gone, nameless = "gone@127.0.0.1:2", "nobody"
    tree = crawled(monkeypatch, status(SOURCE, gone, nameless))
    assert tree.status(gone) is None
    assert tree.status(nameless) is None
    assert tree.picture("t").peers[0].overhead is None


def test_the_number_of_peers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_crawl, "CRAWLED_PEERS_MAX", 5)
    tree = crawled(monkeypatch, status(SOURCE, *(f"p@127.0.0.1:{10 + n}" for n in range(50))))
    assert len(tree.peers) == 5
