"""The system agent on real sockets, and peers that use it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator

import pytest

from penstock.errors import OverlayError
from penstock.links import Message, TcpAddress, connect, run
from penstock.overlay import AgentOptions, PatternModel, PeerOptions
from penstock.overlay.message_codec import OVERLAY_MESSAGE, MessageCodec
from penstock.overlay.peer_messages import SeedsRequest, SourceAnnouncement
from penstock.service.peer import AgentService, PeerServiceOptions, ask_agent, ask_peer
from penstock.service.peer.options import AGENT_LABEL
from penstock.service.peer.process import Listening, run_agent
from penstock.service.peer.status import agent_metrics_text, decode_agent_status
from support.service.running_peers import LOCAL, peer_options, running_peer, until


def agent_options(address: TcpAddress = LOCAL) -> PeerServiceOptions:
    return peer_options(AGENT_LABEL, listen=address)


@contextlib.asynccontextmanager
async def running_agent(
    policy: AgentOptions | None = None, address: TcpAddress = LOCAL
) -> AsyncIterator[AgentService]:
    async with AgentService(agent_options(address), policy) as agent:
        yield agent


def tcp(agent: AgentService) -> TcpAddress:
    assert isinstance(agent.address, TcpAddress)
    return agent.address


def test_peers_find_a_source_by_the_agent() -> None:
    async def main() -> None:
        async with contextlib.AsyncExitStack() as stack:
            agent = await stack.enter_async_context(running_agent(AgentOptions(extra_seeds=2)))
            known = {"agent": agent.address}
            early = await stack.enter_async_context(running_peer("early", **known))
            # Nobody knows a source yet: the peer asks again.
            joined = asyncio.create_task(early.join(None, "/a"))
            await until(lambda: agent.status().sources == ())
            source = await stack.enter_async_context(
                running_peer("source", is_source=True, fan_out=1, **known)
            )
            await joined
            late = await stack.enter_async_context(running_peer("late", **known))
            await late.join(None, "/a")
            assert agent.status().sources == (source.name,)
            assert agent.status().counters["seeds"] >= 2
            # The source has one place, so the seeds or the source led to the first peer.
            assert late.service.status().trees[0].parent == early.name
            await source.publish(b"<a/>", b"<b/>", b"<a n='2'/>")
            await until(lambda: [len(each.deliveries()) for each in (early, late)] == [2, 2])
            status = await ask_agent(agent.address, agent_options())
            assert status.name == agent.name == f"agent@{agent.address}"
            assert f"penstock_agent_sources {len(status.sources)}\n" in agent_metrics_text(status)

    run(main())


def test_the_agent_decides_who_moves() -> None:
    peer = PeerOptions(fan_out=1, reorganise_seconds=0.2, overhead_threshold=0.0)

    async def main() -> None:
        policy = AgentOptions(top=1, round_seconds=0.05, move_wait_seconds=3600.0)
        async with contextlib.AsyncExitStack() as stack:
            agent = await stack.enter_async_context(running_agent(policy))
            known = {"agent": agent.address, "peer": peer}
            source = await stack.enter_async_context(
                running_peer("source", is_source=True, **known)
            )
            one = await stack.enter_async_context(running_peer("one", **known))
            await one.join(source, "/a")
            other = await stack.enter_async_context(running_peer("other", **known))
            await other.join(source, "/b")
            await source.publish(*([b"<a/>", b"<b/>"] * 20))
            # The first request is granted; there is no better place, and further ones are too soon.
            await until(lambda: agent.status().counters["denied"])
            assert agent.status().counters["granted"] == 1
            assert other.service.status().trees[0].parent == one.name

    run(main())


def test_without_the_agent_known_seeds_are_used() -> None:
    async def main() -> None:
        async with contextlib.AsyncExitStack() as stack:
            async with running_agent() as agent:
                address = tcp(agent)
            known = {
                "agent": address,
                "peer": PeerOptions(heartbeat_seconds=0.2, silence_seconds=30.0),
            }
            source = await stack.enter_async_context(
                running_peer("source", is_source=True, **known)
            )
            one = await stack.enter_async_context(running_peer("one", **known))
            await one.join(source, "/a")
            # The agent starts again, without anything that it knew: the source announces itself.
            again = await stack.enter_async_context(running_agent(address=address))
            await until(lambda: again.status().sources == (source.name,))
            other = await stack.enter_async_context(running_peer("other", **known))
            await other.join(None, "/a")
            await source.publish(b"<a/>")
            await until(lambda: [len(each.deliveries()) for each in (one, other)] == [1, 1])

    run(main())


def test_agents_and_peers_are_told_apart() -> None:
    async def main() -> None:
        async with running_agent() as agent, running_peer("peer") as peer:
            with pytest.raises(OverlayError, match="a peer listens on"):
                await ask_agent(peer.service.address, agent_options())
            with pytest.raises(OverlayError, match="the system agent listens on"):
                await ask_peer(agent.address, agent_options())
            with pytest.raises(OverlayError, match="is reached as") as problem:
                await ask_agent(TcpAddress("localhost", tcp(agent).port), agent_options())
            assert problem.value.code == "overlay.unreachable"

    run(main())


def test_malformed_messages_are_counted_and_ignored() -> None:
    async def main() -> None:
        codec = MessageCodec(PatternModel())
        async with running_agent() as agent:
            for name in ("client-1", "mallory@127.0.0.1:9"):
                link = await connect(
                    agent.address, peer="", options=agent_options().link_options(name)
                )
                for message in (
                    Message(body=b"nothing", kind=OVERLAY_MESSAGE),
                    Message(body=b"", kind=99),
                    codec.encode(SourceAnnouncement("other@127.0.0.1:8")),
                    codec.encode(SeedsRequest("source")),
                ):
                    assert link.try_send(message)
                await link.drain()
                await link.close()
            counters = agent.status().counters
            assert counters["malformed"] == 4 + 2
            assert counters["received"] == 2
            assert counters["seeds"] == 1
            # A source is announced by itself only.
            assert agent.status().sources == ()

    run(main())


@pytest.mark.parametrize("encoded", [b"", b"{}", b'{"name":"","sources":[],"counters":{}}'])
def test_a_malformed_status_is_refused(encoded: bytes) -> None:
    with pytest.raises(OverlayError) as problem:
        decode_agent_status(encoded)
    assert problem.value.code == "overlay.message"


def test_a_process_ends_by_a_signal() -> None:
    reports: list[Listening] = []

    def listening(report: Listening) -> None:
        reports.append(report)
        os.kill(os.getpid(), signal.SIGTERM)

    run(run_agent(agent_options(), AgentOptions(), listening))
    [report] = reports
    assert report.name == f"agent@{report.address}"
