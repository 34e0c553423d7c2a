"""Versions of a tree of routers: immutable files named by their digest.

The subscriptions of a router are one file, and so is the interest that a router announces to a
neighbour. A file of the whole tree names them. A change of some subscriptions therefore changes
only the files of the links that it affects, and a process opens only the files of its routers.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Final

from penstock.errors import error
from penstock.routing import (
    LocalSubscription,
    NeighbourState,
    Pattern,
    RouterState,
    StoredInterest,
    TreeTopology,
)
from penstock.routing.subscription_text import subscription_from_text, subscription_to_text
from penstock.workspace.content_files import read_content, write_content
from penstock.workspace.file_store import FileStore

TREE_SUFFIX: Final = ".routers"
SUBSCRIPTIONS_SUFFIX: Final = ".subscriptions"
INTEREST_SUFFIX: Final = ".interest"
TREE_VERSION: Final = 1
"""Version of the file of a tree."""


@dataclass(frozen=True, slots=True)
class RouterFiles:
    """The names of a router's files."""

    subscriptions: str = ""
    """Its local subscriptions; empty if it has none."""

    interests: Mapping[str, str] | None = None
    """The interest of each neighbour, as that neighbour announces it."""

    announced: Mapping[str, str] | None = None
    """What is announced to each neighbour."""


@dataclass(frozen=True)
class StoredTree:
    """A version of a tree of routers."""

    folder: str
    """Where its files are."""

    routers: Mapping[str, RouterFiles]

    @cached_property
    def topology(self) -> TreeTopology:
        """The links of the routers."""
        links = {
            (min(name, other), max(name, other))
            for name, files in self.routers.items()
            for other in files.interests or ()
        }
        return TreeTopology.of(sorted(links), self.routers)

    def write(self) -> str:
        """Write the file of the tree; returns its URI."""
        stored = {
            "version": TREE_VERSION,
            "routers": {name: asdict(files) for name, files in self.routers.items()},
        }
        content = _packed(json.dumps(stored, sort_keys=True).encode())
        name = write_content(self.folder, content, TREE_SUFFIX)
        return f"{FileStore.at(self.folder).uri.rstrip('/')}/{name}"

    @classmethod
    def read(cls, uri: str) -> StoredTree:
        """Read the file of a tree.

        Raises
        ------
        IndexFileError
            ``index.missing``, ``index.damaged``, ``index.not-an-index`` or ``index.too-new``.
        """
        folder, _, name = uri.rpartition("/")
        if not folder or not name.endswith(TREE_SUFFIX):
            raise error("index.not-an-index", f"{uri} is not the URI of a tree of routers")
        stored = json.loads(_unpacked(read_content(folder, name), uri))
        if stored["version"] > TREE_VERSION:
            raise error("index.too-new", f"{uri} has version {stored['version']}")
        routers = {name: RouterFiles(**files) for name, files in stored["routers"].items()}
        return cls(folder, routers)

    def router_state(self, name: str) -> tuple[RouterState, dict[str, StoredInterest]]:
        """The state of a router, and what it announces to its neighbours.

        Raises
        ------
        RoutingError
            ``routing.tree``: there is no such router; ``routing.state``.
        IndexFileError
            ``index.missing`` or ``index.damaged``.
        """
        if name not in self.routers:
            raise error("routing.tree", f"the tree has no router `{name}`")
        files = self.routers[name]
        neighbours = tuple(
            NeighbourState(
                name=neighbour,
                patterns=tuple(each.key for each in read_interest(self.folder, file).patterns),
            )
            for neighbour, file in (files.interests or {}).items()
        )
        announced = {
            neighbour: read_interest(self.folder, file)
            for neighbour, file in (files.announced or {}).items()
        }
        subscriptions = read_subscriptions(self.folder, files.subscriptions)
        state = RouterState(name=name, subscriptions=subscriptions, neighbours=neighbours)
        return state, announced


def write_subscriptions(folder: str, subscriptions: Iterable[LocalSubscription]) -> str:
    """Write the subscriptions of a router; returns the name of the file."""
    ordered = sorted(subscriptions, key=lambda each: each.id)
    lines = "\n".join(subscription_to_text(each) for each in ordered)
    return write_content(folder, _packed(lines.encode()), SUBSCRIPTIONS_SUFFIX)


def read_subscriptions(folder: str, name: str) -> tuple[LocalSubscription, ...]:
    """The subscriptions of a router; none if there is no file.

    Raises
    ------
    IndexFileError
        ``index.missing`` or ``index.damaged``.
    """
    if not name:
        return ()
    text = _unpacked(read_content(folder, name), name).decode()
    # Not `splitlines`: JSON leaves separators of other kinds in strings as they are.
    return tuple(subscription_from_text(line) for line in text.split("\n") if line)


def write_interest(folder: str, interest: StoredInterest) -> str:
    """Write an announced interest; returns the name of the file."""
    return write_content(folder, _packed(interest.to_bytes()), INTEREST_SUFFIX)


def read_interest(folder: str, name: str) -> StoredInterest:
    """An announced interest.

    Raises
    ------
    IndexFileError
        ``index.missing`` or ``index.damaged``.
    RoutingError
        ``routing.state`` or ``routing.pattern``
    """
    return StoredInterest.from_bytes(_unpacked(read_content(folder, name), name))


def local_patterns(subscriptions: Iterable[LocalSubscription]) -> dict[str, Pattern]:
    """The patterns of local subscriptions by id."""
    return {each.id: each.pattern() for each in subscriptions}


def _packed(content: bytes) -> bytes:
    return zlib.compress(content, level=1)


def _unpacked(packed: bytes, name: str) -> bytes:
    try:
        return zlib.decompress(packed)
    except zlib.error as problem:
        raise error("index.damaged", f"{name} cannot be decompressed: {problem}") from None
