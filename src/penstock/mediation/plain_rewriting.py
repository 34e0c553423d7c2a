"""Matching by the definition: the global document is made, written, and matched like any other.

What the native ways of rewriting are compared with, and what serves where they cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.documents import (
    Context,
    EndElement,
    Event,
    Fragment,
    Kind,
    Limits,
    Span,
    StartElement,
    Text,
    read_events,
    read_summary,
    write,
)
from penstock.errors import DocumentError, error
from penstock.matching.engine import BatchOutcome, Buffer, EngineMatcher, Outcome
from penstock.matching.plain import batch_of
from penstock.matching.results import Names, Work
from penstock.mediation.global_document import GlobalDocument, GlobalElement, GlobalText
from penstock.mediation.mapping import Mapping as SchemaMapping
from penstock.mediation.originals import Origin, Scopes, fragments_of
from penstock.mediation.reference import rewrite


@dataclass(frozen=True, slots=True)
class _Rewritten:
    """A document, and what it is to subscriptions."""

    events: Sequence[Event]
    document: GlobalDocument

    def written(self) -> Iterator[tuple[GlobalElement, bytes]]:
        """Each tree of the global document, and as it is written."""
        for tree, events in zip(self.document.trees, self.document.events(), strict=True):
            yield tree, write(events).encode()

    def elements(self) -> int:
        """How many elements the original has."""
        return sum(isinstance(event, StartElement) for event in self.events)


class PlainRewriting:
    """Rewrites documents by the reference, for an engine of path subscriptions of any kind."""

    def __init__(self, paths: EngineMatcher, limits: Limits) -> None:
        self._paths = paths
        self._limits = limits

    def match(self, document: Buffer, mapping: SchemaMapping) -> Outcome:
        """Match a document that is in memory."""
        try:
            rewritten = self._rewritten(document, mapping)
        except DocumentError as reason:
            return Outcome(Names(), error=reason)
        ids: dict[str, None] = {}
        for _, content in rewritten.written():
            outcome = self._paths.match(content)
            if outcome.error is not None:
                return Outcome(Names(), error=outcome.error)
            ids |= dict.fromkeys(outcome.handles.ids())
        work = Work(
            bytes_read=len(memoryview(document)),
            elements=rewritten.elements(),
            unknown=rewritten.document.unknown,
        )
        return Outcome(Names(ids), work)

    def match_batch(
        self, documents: pa.LargeBinaryArray, mappings: Sequence[SchemaMapping | None]
    ) -> BatchOutcome:
        """Match each document of an array without nulls, each with its mapping or as it is."""

        def outcomes() -> Iterator[Outcome]:
            for row, mapping in zip(documents, mappings, strict=True):
                document = row.as_py()
                if mapping is None:
                    yield self._paths.match(document)
                else:
                    yield self.match(document, mapping)

        return batch_of(outcomes())

    def select(
        self, document: Buffer, mapping: SchemaMapping, subscriptions: Sequence[str]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """What each of these subscriptions selects, as parts of the original."""
        original = bytes(document)
        rewritten = self._rewritten(original, mapping)
        found: dict[str, list[Origin]] = {name: [] for name in subscriptions}
        for tree, content in rewritten.written():
            origins = dict(_origins(tree, read_events(content, limits=self._limits)))
            for name, selected in self._paths.select(content, subscriptions).items():
                found[name] += [origins[each.kind, each.spans[0]] for each in selected]
        context = Context.of(original, read_summary(original, limits=self._limits))
        scopes = Scopes.of(rewritten.events)
        return {
            name: fragments_of(original, context, scopes, origins)
            for name, origins in found.items()
        }

    def _rewritten(self, document: Buffer, mapping: SchemaMapping) -> _Rewritten:
        events = read_events(bytes(document), limits=self._limits)
        rewritten = _Rewritten(events, rewrite(mapping, events))
        for each in rewritten.document.events():
            if _depth(each) > self._limits.depth:
                message = f"the global document is more than {self._limits.depth} elements deep"
                raise error("mapping.depth", message)
        return rewritten


def _depth(events: Iterable[Event]) -> int:
    """How many elements are open at once, at most."""
    depth = deepest = 0
    for event in events:
        if isinstance(event, StartElement):
            depth += 1
            deepest = max(deepest, depth)
        elif isinstance(event, EndElement):
            depth -= 1
    return deepest


def _origins(
    tree: GlobalElement, events: Iterable[Event]
) -> Iterator[tuple[tuple[Kind, Span], Origin]]:
    """What each node of a tree stands for, by its kind and place in the tree as it is written."""
    nodes = _in_document_order(tree)
    opened: list[GlobalElement] = []
    for event in events:
        if isinstance(event, StartElement):
            element = next(nodes)
            assert isinstance(element, GlobalElement), "what is read is what was written"
            opened.append(element)
            for own, attribute, name in zip(
                event.attributes, element.attributes, element.attribute_names, strict=True
            ):
                yield ("attribute", own.span), Origin("attribute", (attribute.span,), name)
        elif isinstance(event, EndElement):
            yield ("element", event.span), Origin("element", opened.pop().spans)
        elif isinstance(event, Text):
            yield ("text", event.span), Origin("text", next(nodes).spans)


def _in_document_order(tree: GlobalElement) -> Iterator[GlobalElement | GlobalText]:
    waiting: list[GlobalElement | GlobalText] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, GlobalElement):
            kept = [c for c in node.children if isinstance(c, GlobalElement | GlobalText)]
            waiting.extend(reversed(kept))
