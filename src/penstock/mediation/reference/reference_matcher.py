"""Matches with the reference rewriting: builds, serialises and matches the global document.

The oracle of the native strategies, and the fallback without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from penstock.documents import (
    Context,
    EndElement,
    Event,
    Fragment,
    Kind,
    Span,
    StartElement,
    Text,
    read_events,
    read_summary,
    write,
)
from penstock.errors import error
from penstock.matching.engine import Buffer
from penstock.matching.results import Work
from penstock.mediation.global_document import GlobalDocument, GlobalElement, GlobalText
from penstock.mediation.mapping import Mapping as SchemaMapping
from penstock.mediation.provenance import Provenance, Scopes, fragments_of
from penstock.mediation.reference.rewriting import rewrite
from penstock.mediation.tree_matching import ProvenanceTable, TreeMatching, Written


class ReferenceRewriting(TreeMatching):
    """Rewrites documents with the reference, for any path engine."""

    def written(self, document: Buffer, mapping: SchemaMapping) -> Written:
        """The global document."""
        events = self._read(document)
        rewritten = self._rewritten(events, mapping)
        work = Work(
            bytes_read=len(memoryview(document)),
            elements=sum(isinstance(event, StartElement) for event in events),
            unknown=rewritten.unknown,
        )
        return Written(tuple(tree for _, tree in _trees(rewritten)), work)

    def _provenance(
        self, document: Buffer, mapping: SchemaMapping
    ) -> Iterator[tuple[bytes, ProvenanceTable]]:
        for tree, content in _trees(self._rewritten(self._read(document), mapping)):
            written = read_events(content, limits=self._of_trees.limits)
            yield content, dict(_provenance_in(tree, written))

    def _cut(
        self, document: Buffer, wanted: Mapping[str, Sequence[Provenance]]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        original = bytes(document)
        context = Context.of(original, read_summary(original, limits=self._paths.limits))
        scopes = Scopes.of(self._read(original))
        return {
            name: fragments_of(original, context, scopes, provenance)
            for name, provenance in wanted.items()
        }

    def _read(self, document: Buffer) -> list[Event]:
        return read_events(bytes(document), limits=self._paths.limits)

    def _rewritten(self, events: Iterable[Event], mapping: SchemaMapping) -> GlobalDocument:
        rewritten = rewrite(mapping, events)
        depth_max = self._paths.limits.depth
        for each in rewritten.events():
            if _depth(each) > depth_max:
                message = f"the global document is more than {depth_max} elements deep"
                raise error("mapping.depth", message)
        return rewritten


def _trees(document: GlobalDocument) -> Iterator[tuple[GlobalElement, bytes]]:
    """Each tree with its serialised form."""
    for tree, events in zip(document.trees, document.events(), strict=True):
        yield tree, write(events).encode()


def _depth(events: Iterable[Event]) -> int:
    """The maximum nesting depth."""
    depth = deepest = 0
    for event in events:
        if isinstance(event, StartElement):
            depth += 1
            deepest = max(deepest, depth)
        elif isinstance(event, EndElement):
            depth -= 1
    return deepest


def _provenance_in(
    tree: GlobalElement, events: Iterable[Event]
) -> Iterator[tuple[tuple[Kind, Span], Provenance]]:
    """The provenance of each node of a tree; ``events`` are those of the serialised tree."""
    nodes = _in_document_order(tree)
    opened: list[GlobalElement] = []
    for event in events:
        if isinstance(event, StartElement):
            element = next(nodes)
            assert isinstance(element, GlobalElement), "the serialised tree has the same structure"
            opened.append(element)
            for own, attribute, name in zip(
                event.attributes, element.attributes, element.attribute_names, strict=True
            ):
                yield ("attribute", own.span), Provenance("attribute", (attribute.span,), name)
        elif isinstance(event, EndElement):
            yield ("element", event.span), Provenance("element", opened.pop().spans)
        elif isinstance(event, Text):
            yield ("text", event.span), Provenance("text", next(nodes).spans)


def _in_document_order(tree: GlobalElement) -> Iterator[GlobalElement | GlobalText]:
    waiting: list[GlobalElement | GlobalText] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, GlobalElement):
            kept = [c for c in node.children if isinstance(c, GlobalElement | GlobalText)]
            waiting.extend(reversed(kept))
