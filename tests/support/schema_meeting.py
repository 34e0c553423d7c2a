"""Whether a document meets a schema tree: what is where it may be, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from penstock.documents import EndElement, Event, Name, StartElement, Text
from penstock.schema import SchemaNode, SchemaTree


def breaches(tree: SchemaTree, events: Iterable[Event]) -> Iterator[str]:
    """What the document does that the schema does not allow, in words."""
    above = SchemaNode(Name("", ""), children=(tree.root,))
    waiting: list[tuple[SchemaNode, Counter[Name]]] = [(above, Counter())]
    for event in events:
        node, children = waiting[-1]
        if isinstance(event, StartElement):
            children[event.name] += 1
            below = node.child(event.name)
            if below is None:
                yield f"{event.name} in {node.name}"
                return
            yield from _attributes(below, {each.name for each in event.attributes})
            waiting.append((below, Counter()))
        elif isinstance(event, Text):
            if event.text.strip() and not node.text:
                yield f"text in {node.name}"
        elif isinstance(event, EndElement):
            yield from _counts(*waiting.pop())
    yield from _counts(*waiting.pop())


def _attributes(node: SchemaNode, names: set[Name]) -> Iterator[str]:
    known = {each.name: each.required for each in node.attributes}
    yield from (f"@{name} of {node.name}" for name in names - known.keys())
    missing = {name for name, required in known.items() if required} - names
    yield from (f"no @{name} of {node.name}" for name in missing)


def _counts(node: SchemaNode, children: Counter[Name]) -> Iterator[str]:
    for child in node.children:
        if child.occurs.required and not children[child.name]:
            yield f"no {child.name} in {node.name}"
        if not child.occurs.many and children[child.name] > 1:
            yield f"{children[child.name]} {child.name} in {node.name}"
