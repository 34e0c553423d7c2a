"""Compiles mappings for the native core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.documents import Name
from penstock.mediation import limits
from penstock.mediation.mapping import Mapping as SchemaMapping
from penstock.mediation.operators import (
    Downgrade,
    Exchange,
    Insert,
    Operator,
    Rename,
    ToElement,
    Upgrade,
)
from penstock.native import native
from penstock.schema import NodePath, Place

if TYPE_CHECKING:
    from penstock._native import Mapping as NativeMapping

_Node: TypeAlias = tuple[int, Name, bool, list[tuple[Any, ...]]]

NAMELESS = Name("", "")
"""The number of the virtual node above the root."""


class CompiledMappings:
    """Compiles mappings and caches them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[SchemaMapping, NativeMapping]] = {}

    def of(self, mapping: SchemaMapping) -> NativeMapping:
        """The compiled mapping; cached by identity, since comparing mappings is slow."""
        found = self._known.get(id(mapping))
        if found is None:
            if len(self._known) >= limits.COMPILED_MAX:
                self._known.clear()
            # The mapping is kept alive, so that its identity is not reused.
            found = self._known[id(mapping)] = mapping, compiled(mapping)
        return found[1]


def compiled(mapping: SchemaMapping) -> NativeMapping:
    """Compiles a mapping for the native core."""
    paths: list[NodePath] = [(), *mapping.local.nodes()]
    numbers = {Place(path): number for number, path in enumerate(paths)}
    for operator in mapping.operators:
        if isinstance(operator, ToElement):
            numbers[Place(operator.node, operator.attribute)] = len(numbers)
    by_node: dict[NodePath, list[Operator]] = {}
    for operator in mapping.operators:
        by_node.setdefault(operator.node, []).append(operator)
    schema = mapping.local.nodes()
    nodes: list[_Node] = [
        (
            numbers[Place(path[:-1])],
            path[-1] if path else NAMELESS,
            bool(path) and schema[path].text,
            [_operator_tuple(operator, numbers) for operator in by_node.get(path, ())],
        )
        for path in paths
    ]
    return native.Mapping(
        nodes, len(numbers) - len(nodes), limits.COPIES_MAX, limits.HELD_BYTES_MAX
    )


def _operator_tuple(operator: Operator, numbers: Mapping[Place, int]) -> tuple[Any, ...]:
    """An operator as a tuple with node numbers."""
    match operator:
        case Rename(_, name, None):
            return "rename", name
        case Rename(_, name, attribute):
            return "rename-attribute", attribute, name
        case ToElement(node, attribute, name):
            return "to-element", attribute, name, numbers[Place(node, attribute)]
        case Insert(_, path, children, shared):
            return "insert", list(path), shared, _numbered(children, numbers)
        case Upgrade(_, children):
            return "upgrade", _numbered(children, numbers)
        case Downgrade(_, children, target):
            return "downgrade", _numbered(children, numbers), numbers[target]
        case Exchange(_, child):
            return "exchange", numbers[Place(child)]


def _numbered(children: frozenset[Place] | None, numbers: Mapping[Place, int]) -> list[int] | None:
    return None if children is None else sorted(numbers[each] for each in children)
