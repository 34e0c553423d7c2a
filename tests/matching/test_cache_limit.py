"""The limit of cached automaton states holds for all matchers and threads of a process together."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from penstock import Matcher, SubscriptionIndex
from penstock.matching import native_path_engine, process_cache_bytes
from support.contracts.native_engines import needs_native

pytestmark = needs_native

LIMIT = 1 << 20
THREADS = 8


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    gc.collect()
    monkeypatch.setattr(native_path_engine, "CACHE_BYTES_MAX", LIMIT)
    yield
    monkeypatch.undo()
    # Creating a matcher sets the limit of the process again.
    SubscriptionIndex().matcher()


def new_matcher() -> Matcher:
    index = SubscriptionIndex()
    index.add_many(
        [str(number) for number in range(200)],
        [f"//a{number}//b{number % 7}[@k = '{number}']" for number in range(200)],
    )
    return index.matcher()


def document(seed: int) -> bytes:
    """A document of some hundred label paths, which few other seeds have."""
    outer, inner = seed % 200, seed // 7 % 200
    rows = b"".join(b"<a%d><b%d k='%d'/></a%d>" % (n, n % 7, n, n) for n in range(200))
    return b"<a%d><a%d>%s</a%d></a%d>" % (outer, inner, rows, inner, outer)


def test_threads_share_the_limit() -> None:
    matchers = [new_matcher() for _ in range(2)]
    peaks: list[int] = []
    found: list[int] = []

    def match(thread: int) -> None:
        for step in range(40):
            matches = matchers[step % 2].match(document(thread * 1_000 + step))
            found.append(len(matches))
            peaks.append(process_cache_bytes())

    threads = [threading.Thread(target=match, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {200}
    # A thread may exceed the limit by a sixteenth while it matches a document.
    assert max(peaks) <= LIMIT + THREADS * (LIMIT // 8)
    assert max(peaks) > LIMIT // 2


def test_idle_caches_give_way_to_the_one_in_use() -> None:
    idle, used = new_matcher(), new_matcher()
    for seed in range(100):
        idle.match(document(seed))
        if process_cache_bytes() > LIMIT * 3 // 4:
            break
    assert process_cache_bytes() > LIMIT // 2
    dropped = sum(used.match(document(7)).counters.work.caches_dropped for _ in range(20))
    assert dropped <= 2
    assert used.match(document(7)).counters.work.states_made == 0
    assert process_cache_bytes() <= LIMIT


def test_the_caches_of_a_discarded_index_are_no_longer_counted() -> None:
    gc.collect()
    before = process_cache_bytes()
    matcher = new_matcher()
    matcher.match(document(1))
    assert process_cache_bytes() > before
    del matcher
    gc.collect()
    assert process_cache_bytes() <= before
