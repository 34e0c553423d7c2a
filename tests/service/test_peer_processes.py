"""Peers as processes: a third is killed, others leave, and the survivors miss nothing."""

from __future__ import annotations

import signal
from pathlib import Path

from support.service.peer_swarm import SOURCE, PeerSwarm

PEERS = 24


def document(number: int) -> str:
    """The document of a sequence number."""
    return f"<a n='{number}'><b>{number % 3}</b></a>"


def expected(query: str, count: int) -> list[int]:
    """The sequence numbers of the documents that match."""
    return [n for n in range(1, count + 1) if query in {"/a", f"/a[b = {n % 3}]"}]


def publish(swarm: PeerSwarm, count: int) -> None:
    """Publishes further documents, and waits until the source has them."""
    first = swarm.published + 1
    swarm.publish([document(number) for number in range(first, first + count)])
    swarm.wait(
        "publication",
        lambda: (
            sum(each["type"] == "Published" for each in swarm.reports(SOURCE)) == swarm.published
        ),
    )


def check_deliveries(swarm: PeerSwarm, names: list[str]) -> None:
    """Waits until some peers have as many documents as they should, and compares them."""
    wanted = {name: expected(swarm.queries[name], swarm.published) for name in names}
    swarm.wait(
        "delivery",
        lambda: all(len(swarm.deliveries(name)) >= len(wanted[name]) for name in names),
    )
    for name in names:
        assert swarm.deliveries(name) == wanted[name], name


def test_survivors_get_every_document_once_and_in_order(tmp_path: Path) -> None:
    queries = ["/a" if number % 2 else f"/a[b = {number % 3}]" for number in range(PEERS)]
    with PeerSwarm(tmp_path, queries, fan_out=3, secured=True, reorganise_seconds=2.0) as swarm:
        swarm.wait(
            "joining", lambda: all(swarm.has_reported(each, "Connected") for each in swarm.queries)
        )
        # There are statistics from now on, so peers may move while others are killed or leave.
        publish(swarm, 40)
        # Among them are the first to join, which are close to the source.
        killed = [f"p{number}" for number in range(0, PEERS, 3)]
        for name in killed:
            swarm.signal(name, signal.SIGKILL)
        publish(swarm, 20)
        survivors = [name for name in swarm.queries if name not in killed]
        check_deliveries(swarm, survivors)

        leaving = survivors[::4]
        for name in leaving:
            swarm.signal(name, signal.SIGTERM)
        publish(swarm, 10)
        check_deliveries(swarm, [name for name in survivors if name not in leaving])
        for name in leaving:
            got = swarm.deliveries(name)
            assert got == expected(swarm.queries[name], swarm.published)[: len(got)]
        assert not any(swarm.has_reported(name, "GapReported") for name in survivors)

        for name in survivors:
            if name not in leaving:
                swarm.signal(name, signal.SIGTERM)
        swarm.wait("leaving", lambda: all(swarm.has_reported(name, "Left") for name in survivors))
        swarm.end()
