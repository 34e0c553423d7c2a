"""Collects the trees of a running overlay by asking its peers."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from penstock.errors import OverlayError
from penstock.links import Address
from penstock.overlay.tree_picture import PicturePeer, TreePicture, picture_of
from penstock.service.peer.limits import CRAWL_REQUESTS_MAX, CRAWLED_PEERS_MAX
from penstock.service.peer.options import PeerServiceOptions
from penstock.service.peer.peer_names import address_of
from penstock.service.peer.requests import ask_peer
from penstock.service.peer.status import PeerStatus, TreeStatus


class CrawledPeer(NamedTuple):
    """A peer of a tree."""

    name: str
    parent: str | None
    """Whose child it is: by the statement of the one who named it first."""

    status: PeerStatus | None
    """``None`` if it does not answer."""


class CrawledTree(NamedTuple):
    """A tree as its peers describe it. It may change while they are asked."""

    source: str
    peers: dict[str, CrawledPeer]
    """By name, parents before their children."""

    def status(self, name: str) -> TreeStatus | None:
        """What a peer says of itself in this tree."""
        status = self.peers[name].status
        return None if status is None else status.tree(self.source)

    def picture(self, title: str) -> TreePicture:
        """The tree as a picture."""
        return picture_of(
            title,
            (
                PicturePeer(name, peer.parent, status.overhead if status is not None else None)
                for name, peer in self.peers.items()
                for status in (self.status(name),)
            ),
        )


async def crawl(address: Address, options: PeerServiceOptions) -> list[CrawledTree]:
    """The trees of the peer at an address, each from its source down.

    Raises
    ------
    OverlayError
        ``overlay.unreachable``: the first peer does not answer.
    """
    first = await ask_peer(address, options)
    slots = asyncio.Semaphore(CRAWL_REQUESTS_MAX)
    known: dict[str, PeerStatus | None] = {first.name: first}

    async def ask(name: str) -> PeerStatus | None:
        if name not in known:
            async with slots:
                try:
                    known[name] = await ask_peer(address_of(name), options)
                except OverlayError:
                    known[name] = None
        return known[name]

    trees = []
    for tree in first.trees:
        peers: dict[str, CrawledPeer] = {}
        level: list[tuple[str, str | None]] = [(tree.source, None)]
        while level:
            asked = [each for each in dict(level).items() if each[0] not in peers]
            asked = asked[: CRAWLED_PEERS_MAX - len(peers)]
            answers = await asyncio.gather(*(ask(name) for name, _ in asked))
            level = []
            for (name, parent), status in zip(asked, answers, strict=True):
                peers[name] = CrawledPeer(name, parent, status)
                there = None if status is None else status.tree(tree.source)
                level += [(child, name) for child in (() if there is None else there.children)]
        trees.append(CrawledTree(tree.source, peers))
    return trees
