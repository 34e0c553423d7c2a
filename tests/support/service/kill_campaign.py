"""Kills routers and subscribers and breaks links while documents are published.

Everything that is random follows from a seed, except the speed of the processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from penstock.documents import Document, Header
from penstock.routing import LocalSubscription
from penstock.service.router import Receipt, RouterClient
from penstock.service.router.status import FILE as STATUS_FILE
from support.links.faulty_proxy import FaultyProxy
from support.service.router_processes import RouterProcess, SubscriberProcess, Tokens

SILENT_SECONDS_MAX = 90.0
QUERIES = {"all": "/news", "even": "/news[@parity = 'even']", "odd": "//news[@parity = 'odd']/item"}


@dataclass(frozen=True, kw_only=True)
class CampaignOptions:
    """What is started, and what is done to it."""

    seed: int = 1
    edges: tuple[tuple[str, str], ...] = (("a", "b"), ("b", "c"))
    """The first of a pair listens, the second connects to it, through a proxy."""
    publishers: tuple[str, ...] = ("a", "c")
    """Routers with a publisher."""
    documents: int = 100
    """Documents of each publisher, at least: it goes on as long as there are faults."""
    kills: int = 4
    cuts: bool = True
    """Whether proxies cut connections at random bytes."""
    partitions: int = 1
    secured: bool = True
    document_seconds: float = 0.05
    """Time between two documents of a publisher."""


@dataclass
class CampaignResult:
    """What happened."""

    kills: Counter[str] = field(default_factory=Counter)
    cuts: int = 0
    deliveries: int = 0
    resets: int = 0
    seconds: float = 0.0


class KillCampaign:
    """Runs routers, publishers and subscribers, and checks what the subscribers got."""

    def __init__(self, folder: Path, options: CampaignOptions) -> None:
        self._options = options
        self._folder = folder
        self._chance = random.Random(options.seed)
        self._tokens = Tokens(folder)
        self._proxies: dict[tuple[str, str], FaultyProxy] = {}
        self._routers: dict[str, RouterProcess] = {}
        self._subscribers: list[SubscriberProcess] = []
        self._published: dict[str, list[Document]] = {}
        self._is_over = False
        """Whether there are no more faults."""
        self.result = CampaignResult()

    async def run(self) -> CampaignResult:
        """Runs the campaign; raises AssertionError if a promise is broken."""
        started = time.monotonic()
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self._end)
            await self._start(stack)
            await self._subscribe()
            await self._until_interests_are_known()
            publishing = [
                asyncio.create_task(self._publish(router)) for router in self._options.publishers
            ]
            await self._break()
            self._is_over = True
            await asyncio.gather(*publishing)
            await self._repair()
            await self._settle()
            for each in self._routers.values():
                await each.stop()
        self._check()
        self.result.cuts = sum(proxy.cuts for proxy in self._proxies.values())
        self.result.seconds = time.monotonic() - started
        return self.result

    # Starting

    async def _start(self, stack: contextlib.AsyncExitStack) -> None:
        options = self._options
        names = sorted(set(itertools.chain(*options.edges)))
        for one, two in options.edges:
            self._tokens.add(one, two, role_of_two="router")
        for name in names:
            self._tokens.add(name, f"sub-{name}", role_of_two="client")
        for name in options.publishers:
            self._tokens.add(name, f"pub-{name}", role_of_two="client")
        for name in names:
            path = self._tokens.write(name) if options.secured else None
            self._routers[name] = RouterProcess(name, self._folder / name, token_file=path)
        for server, client in options.edges:
            if not self._routers[server].is_running:
                await self._routers[server].start()
            proxy = await stack.enter_async_context(
                FaultyProxy(self._routers[server].address, random.Random(self._chance.random()))
            )
            self._proxies[server, client] = proxy
            self._routers[client].neighbours[server] = proxy.address
        for router in self._routers.values():
            if not router.is_running:
                await router.start()

    async def _subscribe(self) -> None:
        for name, router in self._routers.items():
            token = self._client_token(name, f"sub-{name}")
            async with self._client(router, f"sub-{name}", token) as client:
                wanted = [
                    LocalSubscription(id=id_, subscriber="-", query=query)
                    for id_, query in QUERIES.items()
                ]
                assert await client.subscribe(wanted) == len(wanted)
            subscriber = SubscriberProcess(
                f"sub-{name}", router.address, self._folder / f"sub-{name}.jsonl", token
            )
            await subscriber.start()
            self._subscribers.append(subscriber)

    async def _until_interests_are_known(self) -> None:
        """What is published before may be lost: it is unknown that somebody wants it."""
        async with asyncio.timeout(SILENT_SECONDS_MAX):
            for router in self._routers.values():
                while not self._knows_its_neighbours(router):
                    await asyncio.sleep(0.2)

    def _knows_its_neighbours(self, router: RouterProcess) -> bool:
        path = router.folder / STATUS_FILE
        if not path.exists():
            return False
        neighbours = json.loads(path.read_text())["neighbours"]
        count = sum(router.name in edge for edge in self._options.edges)
        # One pattern may be `/*`, the interest of a router that does not know its neighbours'.
        return len(neighbours) == count and all(
            each["status"] == "in step" and each["patterns"] > 1 for each in neighbours.values()
        )

    def _client_token(self, router: str, name: str) -> bytes | None:
        if not self._options.secured:
            return None
        path = self._tokens.write(name)
        return bytes.fromhex(path.read_text().split()[2])

    @contextlib.asynccontextmanager
    async def _client(
        self, router: RouterProcess, name: str, token: bytes | None
    ) -> AsyncIterator[RouterClient]:
        client = RouterClient(
            router.address,
            name=name,
            token=token,
            heartbeat_seconds=1.0,
            heartbeat_timeout_seconds=5.0,
            reconnect_seconds_max=0.5,
        )
        async with client:
            yield client

    # Traffic and faults

    async def _publish(self, name: str) -> None:
        chance = random.Random(f"{self._options.seed} {name}")
        documents = self._published[name] = []
        receipts: list[asyncio.Future[Receipt]] = []
        token = self._client_token(name, f"pub-{name}")
        async with self._client(self._routers[name], f"pub-{name}", token) as client:
            for number in itertools.count():
                if self._is_over and number >= self._options.documents:
                    break
                parity = "even" if number % 2 == 0 else "odd"
                padding = "x" * chance.choice([0, 100, 5_000, 100_000])
                content = f"<news parity='{parity}'><item>{number}{padding}</item></news>"
                header = Header(publisher=f"pub-{name}", id=str(number))
                documents.append(Document(content.encode(), header))
                receipts.append(await client.publish(documents[-1]))
                await asyncio.sleep(chance.random() * 2 * self._options.document_seconds)
            outcomes = Counter([(await each).outcome for each in receipts])
        assert set(outcomes) <= {"accepted", "duplicate"}, outcomes

    async def _break(self) -> None:
        if self._options.cuts:
            for proxy in self._proxies.values():
                proxy.cut_after_bytes = 400_000
        faults = ["kill"] * self._options.kills + ["partition"] * self._options.partitions
        self._chance.shuffle(faults)
        for fault in faults:
            await asyncio.sleep(self._chance.uniform(0.1, 0.8))
            if fault == "kill":
                await self._kill()
            else:
                proxy = self._chance.choice(list(self._proxies.values()))
                proxy.silent = True
                await asyncio.sleep(self._chance.uniform(0.2, 1.0))
                proxy.silent = False
                proxy.cut_all()

    async def _kill(self) -> None:
        if self._chance.random() < 0.25:
            subscriber = self._chance.choice(self._subscribers)
            self.result.kills["subscriber"] += 1
            await subscriber.kill()
            await subscriber.start()
            return
        router = self._chance.choice(list(self._routers.values()))
        self.result.kills[router.name] += 1
        await router.kill()
        await asyncio.sleep(self._chance.choice([0.0, 0.5]))
        await router.start()

    async def _repair(self) -> None:
        for proxy in self._proxies.values():
            proxy.cut_after_bytes = 0
            proxy.silent = False
            proxy.cut_all()

    # Checking

    def _expected(self) -> dict[str, set[str]]:
        """Identities by subscription."""
        found: dict[str, set[str]] = defaultdict(set)
        for documents in self._published.values():
            for document in documents:
                parity = "even" if b"'even'" in document.content else "odd"
                found["all"].add(document.identity)
                found[parity].add(document.identity)
        return found

    async def _settle(self) -> None:
        """Waits until every subscriber has what is expected, or nothing happens any more."""
        expected = len(self._subscribers) * sum(map(len, self._expected().values()))
        last, last_at = 0, time.monotonic()
        while last < expected and time.monotonic() < last_at + SILENT_SECONDS_MAX:
            await asyncio.sleep(0.2)
            count = sum(len(each.deliveries()) for each in self._subscribers)
            if count > last:
                last, last_at = count, time.monotonic()
        # What is delivered twice would come now.
        await asyncio.sleep(0.5)

    def _check(self) -> None:
        expected = self._expected()
        for subscriber in self._subscribers:
            lines = subscriber.deliveries()
            self.result.deliveries += len(lines)
            got: dict[str, list[str]] = defaultdict(list)
            for line in lines:
                got[line.subscription].append(line.identity)
            for subscription, identities in expected.items():
                received = got[subscription]
                where = f"{subscription} of {subscriber.name}, seed {self._options.seed}"
                assert len(received) == len(set(received)), f"delivered twice: {where}"
                missing = identities - set(received)
                assert not missing, f"{len(missing)} are missing: {where}: {sorted(missing)[:5]}"
                assert set(received) <= identities, f"delivered without a match: {where}"
                self._check_order(received, where)

    def _check_order(self, received: list[str], where: str) -> None:
        numbers: dict[str, list[int]] = defaultdict(list)
        for identity in received:
            publisher, _, number = identity.partition("/")
            numbers[publisher].append(int(number))
        for publisher, each in numbers.items():
            assert each == sorted(each), f"not in the order of {publisher}: {where}"

    async def _end(self) -> None:
        for subscriber in self._subscribers:
            await subscriber.kill()
        for router in self._routers.values():
            if router.is_running:
                await router.kill()
