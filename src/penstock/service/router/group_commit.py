"""Runs jobs of a router engine in its thread, several in one transaction."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from penstock.service.router.engine import Effect, Job, RouterEngine
from penstock.service.router.limits import INPUT_BYTES_AT_ONCE_MAX, INPUTS_AT_ONCE_MAX

_T = TypeVar("_T")


class GroupCommit:
    """Takes jobs while others are being executed, and executes them together.

    So the number of transactions depends on the speed of the disk, and not on that of the inputs.
    """

    def __init__(self, engine: RouterEngine, on_effect: Callable[[Effect], None]) -> None:
        self._engine = engine
        self._on_effect = on_effect
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="penstock-router")
        self._jobs: deque[tuple[Job, int, asyncio.Future[Any]]] = deque()
        self._wake = asyncio.Event()
        self._is_closing = False

    def submit(self, job: Job, size: int = 0) -> asyncio.Future[Any]:
        """Adds a job; its future has the result once its effects are committed.

        Jobs are executed in the order of their submission. ``size`` is the number of bytes of its
        input.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        # Many callers do not wait for the result.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._jobs.append((job, size, future))
        self._wake.set()
        return future

    async def read(self, function: Callable[[RouterEngine], _T]) -> _T:
        """Calls a function in the thread of the engine, between two transactions."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, function, self._engine)

    async def run(self) -> None:
        """Executes jobs until :meth:`close`; raises if a transaction fails."""
        loop = asyncio.get_running_loop()
        while self._jobs or not self._is_closing:
            if not self._jobs:
                self._wake.clear()
                await self._wake.wait()
                continue
            taken = self._take()
            jobs = [job for job, _ in taken]
            results, effects = await loop.run_in_executor(self._executor, self._engine.run, jobs)
            for effect in effects:
                self._on_effect(effect)
            for (_, future), result in zip(taken, results, strict=True):
                if future.cancelled():
                    continue
                if result.failure is not None:
                    future.set_exception(result.failure)
                else:
                    future.set_result(result.value)

    def close(self) -> None:
        """Lets :meth:`run` end when the jobs so far are executed."""
        self._is_closing = True
        self._wake.set()

    def shut_down(self) -> None:
        """Ends the thread."""
        self._executor.shutdown()

    def _take(self) -> list[tuple[Job, asyncio.Future[Any]]]:
        taken: list[tuple[Job, asyncio.Future[Any]]] = []
        total = 0
        while self._jobs and len(taken) < INPUTS_AT_ONCE_MAX:
            total += self._jobs[0][1]
            if taken and total > INPUT_BYTES_AT_ONCE_MAX:
                break
            job, _, future = self._jobs.popleft()
            taken.append((job, future))
        return taken
