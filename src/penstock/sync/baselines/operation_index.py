"""XSync's containment index over operations: which paths of a round overlap.

The nodes of the index form a trie of steps. A node has the identifiers of the operations whose path
ends at it (*oids*); one without is a dummy node. Two paths overlap if a document exists in which a
node that one selects is, or contains, a node that the other selects: some sequence of labels that
one accepts is a prefix of one that the other accepts. So a search goes down the trie and the
searched path together:

- *up*: the oids of every node that is reached on the way have a path at or above the searched one;
- *down*: where the searched path ends, the oids of the whole subtree have a path below it.

The index of clients (native, ``baselines/xsync``) has the same structure, but replaces ``//`` and
``*`` by the elements of a DTD. A round of operations has none, so both stay in this index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from penstock.language.xpath.ast import Axis, Kind, Path, Step


@dataclass(slots=True, eq=False)
class _IndexNode:
    """The end of a path; ``step`` is its last step."""

    step: Step | None = None
    children: dict[Step, _IndexNode] = field(default_factory=dict)
    open_children: list[_IndexNode] = field(default_factory=list)
    """Those with ``//`` or a wildcard, which may have a label in common with any step."""
    oids: set[int] = field(default_factory=set)

    def child(self, step: Step) -> _IndexNode:
        """The child at a step, which is made if it is missing."""
        child = self.children.get(step)
        if child is None:
            child = self.children[step] = _IndexNode(step)
            if _is_open(step):
                self.open_children.append(child)
        return child

    def candidates(self, step: Step) -> Iterable[_IndexNode]:
        """The children that may be reached by a label of a step."""
        if _is_open(step):
            return self.children.values()
        same = self.children.get(step)
        return self.open_children if same is None else (same, *self.open_children)


@dataclass(frozen=True, slots=True)
class _SearchState:
    """How far a sequence of labels leads into the trie and into the searched path."""

    node: _IndexNode
    step: int
    """The number of steps of the searched path that are done."""
    is_above: bool = False
    """Whether ``//`` skipped labels above the node, which is not reached yet."""


class OperationIndex:
    """The paths of operations, by oid.

    Examples
    --------
    >>> from penstock.language import parse
    >>> index = OperationIndex()
    >>> for oid, text in enumerate(["/a/b", "/a/c", "/a/b/c", "//c"]):
    ...     index.insert(oid, parse(text).branches)
    >>> sorted(index.overlapping(parse("/a/b").branches))
    [0, 2, 3]
    """

    def __init__(self) -> None:
        self._root = _IndexNode()

    def insert(self, oid: int, paths: Iterable[Path]) -> None:
        """Inserts the union of paths that an operation has."""
        for path in paths:
            node = self._root
            for step in path.steps:
                node = node.child(step)
            node.oids.add(oid)

    def overlapping(self, paths: Iterable[Path]) -> set[int]:
        """The oids whose paths overlap one of these."""
        found: set[int] = set()
        for path in paths:
            self._search(path.steps, found)
        return found

    def _search(self, steps: tuple[Step, ...], found: set[int]) -> None:
        start = _SearchState(self._root, 0)
        seen = {start}
        left = [start]
        while left:
            state = left.pop()
            if state.step == len(steps):
                _add_subtree(state.node, found)
                continue
            if not state.is_above:
                found |= state.node.oids
            for following in _following(state, steps[state.step]):
                if following not in seen:
                    seen.add(following)
                    left.append(following)


def _following(state: _SearchState, searched: Step) -> Iterator[_SearchState]:
    """The states after one more label."""
    nodes = (state.node,) if state.is_above else state.node.candidates(searched)
    for node in nodes:
        indexed = node.step
        assert indexed is not None
        if _have_common_label(indexed, searched):
            yield _SearchState(node, state.step + 1)
        # `//` of one path skips the elements that steps of the other select.
        if searched.axis is Axis.DESCENDANT and indexed.kind is Kind.ELEMENT:
            yield _SearchState(node, state.step)
        if indexed.axis is Axis.DESCENDANT and searched.kind is Kind.ELEMENT:
            yield _SearchState(node, state.step + 1, is_above=True)


def _is_open(step: Step) -> bool:
    """Whether a step has labels of more than one name."""
    return step.axis is Axis.DESCENDANT or step.test.uri is None or step.test.local is None


def _have_common_label(one: Step, other: Step) -> bool:
    return (
        one.kind is other.kind
        and _agree(one.test.uri, other.test.uri)
        and _agree(one.test.local, other.test.local)
    )


def _agree(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other


def _add_subtree(node: _IndexNode, found: set[int]) -> None:
    left = [node]
    while left:
        node = left.pop()
        found |= node.oids
        left += node.children.values()
