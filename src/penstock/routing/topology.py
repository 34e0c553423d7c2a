"""The shape of a tree of routers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from penstock.errors import error


@dataclass(frozen=True)
class TreeTopology:
    """Routers, and the links between them, which form a tree.

    Examples
    --------
    >>> tree = TreeTopology.of([("a", "b"), ("b", "c"), ("b", "d")])
    >>> tree.center, tree.levels, tree.hops_max, tree.hops_from("b")
    ('b', [['b'], ['a', 'c', 'd']], 2, 1)
    """

    neighbours: Mapping[str, Sequence[str]]
    """The neighbours of each router, sorted."""

    @classmethod
    def of(cls, links: Iterable[tuple[str, str]], routers: Iterable[str] = ()) -> TreeTopology:
        """The tree of these links; a tree of one router has none, so that it is named.

        Raises
        ------
        RoutingError
            ``routing.tree``: the links do not form a tree.
        """
        neighbours: dict[str, list[str]] = {name: [] for name in routers}
        pairs = list(links)
        for one, two in pairs:
            if one == two or two in neighbours.get(one, ()):
                raise error("routing.tree", f"a link from `{one}` to `{two}` closes a cycle")
            neighbours.setdefault(one, []).append(two)
            neighbours.setdefault(two, []).append(one)
        if not neighbours or not all(neighbours):
            raise error("routing.tree", "there is no router, or one without a name")
        tree = cls({name: sorted(neighbours[name]) for name in sorted(neighbours)})
        reached = tree.distances(next(iter(neighbours)))
        if len(reached) < len(neighbours) or len(pairs) != len(neighbours) - 1:
            missing = next((name for name in neighbours if name not in reached), None)
            reason = "they close a cycle" if missing is None else f"`{missing}` is not reached"
            raise error("routing.tree", f"the links do not form a tree: {reason}")
        return tree

    def distances(self, start: str) -> dict[str, int]:
        """The number of hops to each router, in order of distance."""
        distances = {start: 0}
        waiting = [start]
        for name in waiting:
            for neighbour in self.neighbours[name]:
                if neighbour not in distances:
                    distances[neighbour] = distances[name] + 1
                    waiting.append(neighbour)
        return distances

    def hops_from(self, start: str) -> int:
        """The greatest number of hops from a router to another."""
        return max(self.distances(start).values())

    @cached_property
    def _longest_path(self) -> list[str]:
        *_, end = self.distances(next(iter(self.neighbours)))
        distances = self.distances(end)
        *_, name = distances
        path = [name]
        while distances[name]:
            name = next(each for each in self.neighbours[name] if distances[each] < distances[name])
            path.append(name)
        return path

    @property
    def hops_max(self) -> int:
        """The greatest number of hops between two routers."""
        return len(self._longest_path) - 1

    @property
    def center(self) -> str:
        """A router from which the farthest one is as near as possible."""
        return self._longest_path[len(self._longest_path) // 2]

    @cached_property
    def levels(self) -> list[list[str]]:
        """The routers by distance from the center."""
        distances = self.distances(self.center)
        levels: list[list[str]] = [[] for _ in range(1 + max(distances.values()))]
        for name, distance in distances.items():
            levels[distance].append(name)
        return levels

    @cached_property
    def parents(self) -> Mapping[str, str]:
        """The neighbour of each router that is nearer to the center."""
        distances = self.distances(self.center)
        return {
            name: neighbour
            for name, neighbours in self.neighbours.items()
            for neighbour in neighbours
            if distances[neighbour] < distances[name]
        }
