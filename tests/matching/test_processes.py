"""Matchers survive forks and threads of several processes."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading

import pytest

from penstock import Matcher, SubscriptionIndex
from support.contracts.matching_cases import NEWS
from support.contracts.native_engines import native_engines

ENGINES = ["reference", *native_engines]


def matcher_of(engine: str) -> Matcher:
    index = SubscriptionIndex(engine=engine)
    index.add_many(
        [f"s{number}" for number in range(100)],
        [f"/news/item[price < {number}]" for number in range(100)],
    )
    return index.matcher()


def expected() -> set[str]:
    return {f"s{number}" for number in range(8, 100)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_matcher_works_in_a_forked_child(engine: str) -> None:
    matcher = matcher_of(engine)
    assert set(matcher.match(NEWS)) == expected()
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    stop = threading.Event()
    # The parent is matching while it forks: a lock held then would be held for ever in the child.
    busy = threading.Thread(target=lambda: [matcher.match(NEWS) for _ in iter(stop.is_set, True)])
    busy.start()
    children = [
        context.Process(target=lambda: answers.put(set(matcher.match(NEWS)))) for _ in range(3)
    ]
    for child in children:
        child.start()
    received = [answers.get(timeout=60) for _ in children]
    stop.set()
    busy.join()
    for child in children:
        child.join(timeout=60)
        assert child.exitcode == 0
    assert received == [expected()] * 3
    assert set(matcher.match(NEWS)) == expected()


def test_the_package_is_cheap_to_import() -> None:
    code = (
        "import sys, penstock; "
        "heavy = {'lxml', 'pyarrow', 'penstock.matching', 'penstock._native'} & set(sys.modules); "
        "sys.exit(', '.join(heavy) or 0)"
    )
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]) == 0


def test_every_public_name_exists() -> None:
    import penstock

    for name in penstock.__all__:
        assert getattr(penstock, name).__name__ == name
    assert set(penstock.__all__) <= set(dir(penstock))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        penstock.nothing_of_the_kind  # noqa: B018
