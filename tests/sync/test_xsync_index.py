"""The binding of XSync's containment index."""

from __future__ import annotations

import pytest

from penstock.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the native core is not built")


def clients(cids: bytes) -> list[int]:
    """The client identifiers, ascending."""
    return sorted(memoryview(cids).cast("I"))


def test_clients_are_inserted_searched_and_removed() -> None:
    # a contains b and c, which contains a.
    index = native.XSyncIndex(["a", "b", "c"], [0], [[1, 2], [], [0]], 10, 1_000, False)
    index.insert_all(0, ["/a", "/a/b", "/a/c", "//b", "/a/*"])
    assert len(index) == 5
    found, (nodes, cids, comparisons) = index.search(0, "/b", False)
    assert clients(found) == [0, 1, 3, 4]
    assert nodes > 0
    assert cids >= len(clients(found))
    assert comparisons > 0
    everybody, (_, _, none_compared) = index.search(0, "/b", True)
    assert clients(everybody) == [0, 1, 2, 3, 4]
    assert none_compared == 0
    assert index.search_by_load(0, "/b", (1.0, 0.5))[0] == everybody
    assert clients(index.search_by_load(0, "/b", (0.5, 1.0))[0]) == clients(found)
    assert clients(index.search_path("/a/c")[0]) == [0, 2, 3, 4]
    assert index.remove(4)
    assert not index.remove(4)
    assert clients(index.search(0, "/b", False)[0]) == [0, 1, 3]
    nodes, dummies, unexpanded = index.sizes()
    assert nodes > dummies
    assert unexpanded == 0


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="an element is unknown"):
        native.XSyncIndex(["a"], [1], [[]], 10, 10, False)
    index = native.XSyncIndex(["a"], [0], [[]], 10, 10, False)
    with pytest.raises(ValueError, match="no path expression"):
        index.insert_all(0, ["/z"])
    with pytest.raises(ValueError, match="unknown client"):
        index.search(0, "/", False)
