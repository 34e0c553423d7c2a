"""Runs the work of a command in a background thread, so that signals can stop it at any time.

Python runs signal handlers in the main thread, and only between two of its own instructions. While
that thread waits for Spark it would react late, and an exception raised there would interrupt
Spark's client in the middle of a message. The main thread therefore only waits.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Final, Generic, Self, TypeVar

T = TypeVar("T")

STOP_SECONDS_MAX: Final = 60
"""Seconds that the work has to end after the first signal; then it is abandoned."""

POLL_SECONDS: Final = 0.1

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Records SIGINT (Ctrl-C) and SIGTERM (from service managers) instead of raising exceptions."""

    def __init__(self) -> None:
        self.requested = threading.Event()
        """Set by the first signal."""
        self.count = 0
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._record)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _record(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        self.requested.set()


class BackgroundWork(Generic[T]):
    """A function that runs in a daemon thread."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._result: list[T] = []
        self._failure: BaseException | None = None
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="penstock-run", daemon=True).start()

    def _run(self) -> None:
        try:
            self._result.append(self._function())
        except BaseException as failure:
            self._failure = failure
        finally:
            self._ended.set()

    def wait(self, stop: StopSignals, *, is_stoppable: Callable[[], bool]) -> bool:
        """Wait for the end; whether it came.

        After the first signal the work has :data:`STOP_SECONDS_MAX` to end, if it is stoppable; a
        second signal ends the waiting at once.
        """
        left = float(STOP_SECONDS_MAX)
        while not self._ended.wait(POLL_SECONDS):
            if stop.requested.is_set():
                left -= POLL_SECONDS
                if stop.count > 1 or left < 0 or not is_stoppable():
                    return False
        return True

    def result(self) -> T:
        """The function's result; raises what it raised."""
        if self._failure is not None:
            raise self._failure
        return self._result[0]


def exit_at_once(code: int) -> None:
    """End the process without waiting for threads that cannot be interrupted."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)
