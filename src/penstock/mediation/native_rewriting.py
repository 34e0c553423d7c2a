"""Mappings as the native core follows them, and matching through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from penstock.documents import Context, Fragment, Kind, Name, Span
from penstock.matching.engine import BatchOutcome, Buffer, Outcome
from penstock.matching.native_common import (
    BatchTuple,
    batch_outcome,
    context_of,
    document_error,
    outcome_of,
    summary_of,
)
from penstock.matching.native_engine import NativeMatcher
from penstock.matching.native_keywords import NativeKeywordMatcher
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
_Part: TypeAlias = tuple[
    Kind, tuple[str, str] | None, tuple[int, int, bool], Sequence[tuple[str, str]]
]

NAMELESS = Name("", "")
"""What the core calls the virtual node above the root."""


class NativeRewriting:
    """Rewrites documents between the native reader and the native matcher."""

    def __init__(self, paths: NativeMatcher, keywords: NativeKeywordMatcher | None = None) -> None:
        self._paths = paths.of_core
        self._keywords = None if keywords is None else keywords.of_core
        self._known: dict[int, tuple[SchemaMapping, NativeMapping]] = {}

    def match(self, document: Buffer, mapping: SchemaMapping) -> Outcome:
        """Match a document that is in memory, against path subscriptions only."""
        return outcome_of(*native.match_mapped(self._paths, document, self._compiled(mapping)))

    def match_batch(
        self, documents: pa.LargeBinaryArray, mappings: Sequence[SchemaMapping | None]
    ) -> BatchOutcome:
        """Match each document of an array without nulls, each with its mapping or as it is.

        Where there are keyword subscriptions too, each document is read once for both kinds.
        """
        numbers: dict[int, int] = {}
        compiled: list[NativeMapping] = []
        rows: list[int | None] = []
        for mapping in mappings:
            if mapping is None:
                rows.append(None)
                continue
            if id(mapping) not in numbers:
                numbers[id(mapping)] = len(compiled)
                compiled.append(self._compiled(mapping))
            rows.append(numbers[id(mapping)])

        def match(content: memoryview, offsets: memoryview) -> BatchTuple:
            return native.match_batch_mapped(
                self._paths, self._keywords, content, offsets, compiled, rows
            )

        return batch_outcome(documents, match)

    def select(
        self, document: Buffer, mapping: SchemaMapping, subscriptions: Sequence[str]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """What each of these subscriptions selects, as parts of the original."""
        selected, summary, refusal = native.select_mapped(
            self._paths, document, self._compiled(mapping), list(subscriptions)
        )
        if refusal is not None:
            raise document_error(refusal)
        assert summary is not None, "neither a summary nor a refusal"
        context = context_of(document, summary_of(summary))
        return {
            name: tuple(_fragment(document, context, part) for part in parts)
            for name, parts in zip(subscriptions, selected, strict=True)
        }

    def _compiled(self, mapping: SchemaMapping) -> NativeMapping:
        """The mapping for the core; looked up by identity, since to compare takes longer."""
        found = self._known.get(id(mapping))
        if found is None:
            if len(self._known) >= limits.COMPILED_MAX:
                self._known.clear()
            found = self._known[id(mapping)] = mapping, compiled(mapping)
        return found[1]


def _fragment(document: Buffer, context: Context, part: _Part) -> Fragment:
    kind, name, span, namespaces = part
    start, end, _ = span
    return Fragment(
        kind,
        (Span(*span),),
        (bytes(document[start:end]),),
        tuple(namespaces),
        context,
        None if name is None else Name(*name),
    )


def compiled(mapping: SchemaMapping) -> NativeMapping:
    """A mapping as the native core follows it."""
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
            [_plain(operator, numbers) for operator in by_node.get(path, ())],
        )
        for path in paths
    ]
    return native.Mapping(
        nodes, len(numbers) - len(nodes), limits.COPIES_MAX, limits.HELD_BYTES_MAX
    )


def _plain(operator: Operator, numbers: Mapping[Place, int]) -> tuple[Any, ...]:
    """An operator as a tuple, nodes by number."""
    match operator:
        case Rename(_, name, None):
            return "rename", name
        case Rename(_, name, attribute):
            return "rename-attribute", attribute, name
        case ToElement(node, attribute, name):
            return "to-element", attribute, name, numbers[Place(node, attribute)]
        case Insert(_, path, children):
            return "insert", list(path), _numbered(children, numbers)
        case Upgrade(_, children):
            return "upgrade", _numbered(children, numbers)
        case Downgrade(_, children, target):
            return "downgrade", _numbered(children, numbers), numbers[target]
        case Exchange(_, child):
            return "exchange", numbers[Place(child)]


def _numbered(children: frozenset[Place] | None, numbers: Mapping[Place, int]) -> list[int] | None:
    return None if children is None else sorted(numbers[each] for each in children)
