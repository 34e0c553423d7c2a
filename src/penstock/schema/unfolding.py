"""Unfolds declarations to a tree: shared declarations are copied, recursion is bounded.

The tree of a recursive schema is infinite, so unfolding stops at limits, and the tree names the
limits it reached.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from penstock.documents import Name
from penstock.language.relations.path_universe import Occurs
from penstock.schema.limits import UnfoldLimits
from penstock.schema.tree import ONCE, SchemaAttribute, SchemaNode, SchemaTree

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Declared(Generic[Key]):
    """The declaration of one element; children are identified by the schema's own keys."""

    name: Name
    text: bool
    attributes: tuple[SchemaAttribute, ...]
    children: Mapping[Key, Occurs]


@dataclass(slots=True)
class _Draft(Generic[Key]):
    declared: Declared[Key]
    occurs: Occurs
    path: tuple[Key, ...]
    children: list[_Draft[Key]] = field(default_factory=list)
    cut: bool = False


def unfold(
    declared: Callable[[Key], Declared[Key]],
    root: Key,
    limits: UnfoldLimits,
    remarks: tuple[str, ...] = (),
) -> SchemaTree:
    """Unfolds breadth-first, so that truncation omits the deepest nodes.

    Each declaration is read once, although it may occur in the tree any number of times.
    """
    known: dict[Key, Declared[Key]] = {root: declared(root)}
    top = _Draft(known[root], ONCE, (root,))
    drafts = [top]
    cut_at: set[str] = set()
    waiting = deque(drafts)
    while waiting:
        draft = waiting.popleft()
        if draft.declared.children and len(draft.path) >= limits.depth_max:
            cut_at.add("depth_max")
            draft.cut = True
            continue
        for key, occurs in draft.declared.children.items():
            if draft.path.count(key) >= limits.recursion_max:
                cut_at.add("recursion_max")
                draft.cut = True
                continue
            if len(drafts) >= limits.size_max:
                cut_at.add("size_max")
                draft.cut = True
                break  # nor is there room for the other children
            if key not in known:
                known[key] = declared(key)
            child = _Draft(known[key], occurs, (*draft.path, key))
            draft.children.append(child)
            drafts.append(child)
            waiting.append(child)
    return SchemaTree(_finished(drafts), frozenset(cut_at), remarks)


def _finished(drafts: list[_Draft[Key]]) -> SchemaNode:
    """Converts drafts to the root node; children follow their parents in ``drafts``."""
    nodes: dict[int, SchemaNode] = {}
    for draft in reversed(drafts):
        nodes[id(draft)] = SchemaNode(
            name=draft.declared.name,
            occurs=draft.occurs,
            text=draft.declared.text,
            attributes=draft.declared.attributes,
            children=tuple(nodes.pop(id(child)) for child in draft.children),
            cut=draft.cut,
        )
    return nodes[id(drafts[0])]
