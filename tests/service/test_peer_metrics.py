"""Counters of a peer that show when it is at its limits."""

from __future__ import annotations

from penstock.links import run
from penstock.overlay import MessageCodec
from penstock.overlay.peer_messages import AnyPeerMessage, AttachRequest, Attempt
from penstock.service.peer.status import metrics_text
from support.service.running_peers import RunningPeer, running_peer, until


def refused(peer: RunningPeer) -> int:
    return peer.service.status().counters["refused"]


def test_refused_requests_are_counted() -> None:
    async def main() -> None:
        async with (
            running_peer("source", is_source=True, fan_out=1) as source,
            running_peer("one", fan_out=0) as one,
            running_peer("two") as two,
        ):
            await one.join(source, "/a")
            assert refused(source) == 0

            async def asked(message: AnyPeerMessage) -> None:
                before = refused(source)
                two.service.links.send(source.name, MessageCodec(two.service.model).encode(message))
                await until(lambda: refused(source) > before)

            attempt = Attempt(two.name, 1, 1)
            wanted = two.service.model.interest(xpath=["/b"])
            # The fan-out is used up; then a tree that the peer is not in.
            for tree in (source.name, one.name):
                await asked(AttachRequest(tree, attempt, None, wanted, 1, None, (two.name,)))
            assert refused(source) == 2
            assert refused(one) == 0
            text = metrics_text(source.service.status())
            assert "\npenstock_peer_refused_total 2\n" in text

    run(main())
