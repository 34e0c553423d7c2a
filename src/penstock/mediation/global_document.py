"""The global document: a publisher's document rewritten to the global schema.

It is matched but never delivered. Each of its nodes has its provenance, the byte spans of the
original that it represents:

- original nodes keep their own span, wherever they are moved and however often they are copied;
- an inserted element represents the nodes moved into it;
- an element made from an attribute, and its text, represent the attribute's owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from penstock.documents import (
    Attribute,
    EndElement,
    Event,
    Name,
    Span,
    StartElement,
    Text,
    TextBreak,
    write,
)
from penstock.mediation.operators import Operator
from penstock.schema.prefix_resolution import XML_NAMESPACE


@dataclass(frozen=True, slots=True)
class GlobalText:
    """A text node, merged from adjacent texts."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, eq=False)
class GlobalElement:
    """An element; compared by identity."""

    name: Name
    attributes: tuple[Attribute, ...]
    namespaces: tuple[tuple[str, str], ...]
    """Namespaces in scope at the original position; of inserted elements, at their position."""
    spans: tuple[Span, ...]
    children: tuple[GlobalNode, ...]
    attribute_names: tuple[Name, ...] = ()
    """The original names of its attributes, in the order of :attr:`attributes`."""


GlobalNode: TypeAlias = GlobalElement | GlobalText | TextBreak


@dataclass(frozen=True, slots=True)
class Applied:
    """The effect of an operator on one element of the document."""

    operator: Operator
    span: Span
    """The element it was applied to."""
    what: str


@dataclass(frozen=True, slots=True)
class GlobalDocument:
    """A rewritten document: one tree, or several after an Exchange at the root."""

    trees: tuple[GlobalElement, ...]
    unknown: int
    """Elements that the local schema does not define; they are copied unchanged."""
    trace: tuple[Applied, ...]

    def events(self) -> Iterator[list[Event]]:
        """The events of each tree.

        The span of an element extends from the first to the last byte that it represents.
        """
        for tree in self.trees:
            yield list(_events(tree))

    def to_xml(self) -> str:
        """The trees as XML, one per line."""
        return "".join(f"{write(events)}\n" for events in self.events())


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Merges spans in order, so that each byte is covered once.

    >>> merged([Span(7, 9), Span(0, 4), Span(1, 2), Span(4, 6)])
    (Span(start=0, end=6, from_entity=False), Span(start=7, end=9, from_entity=False))
    """
    found: list[Span] = []
    for span in sorted(spans):
        last = found[-1] if found else None
        if last is None or span.start > last.end:
            found.append(span)
        else:
            end = max(last.end, span.end)
            found[-1] = Span(last.start, end, last.from_entity or span.from_entity)
    return tuple(found)


def _events(tree: GlobalElement) -> Iterator[Event]:
    waiting: list[GlobalNode | EndElement] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, GlobalElement):
            hull = _hull(node.spans)
            yield StartElement(node.name, node.attributes, _scope(node), hull)
            waiting.append(EndElement(hull))
            waiting.extend(reversed(node.children))
        elif isinstance(node, GlobalText):
            yield Text(node.text, _hull(node.spans))
        else:
            yield node


def _hull(spans: tuple[Span, ...]) -> Span:
    return spans[0].joined(spans[-1])


def _scope(element: GlobalElement) -> tuple[tuple[str, str], ...]:
    """The namespaces in scope, with prefixes for namespaces that are new to the document."""
    scope = dict(element.namespaces)
    if not element.name.uri:
        scope.pop("", None)  # the name would otherwise be in the default namespace
    _bind(scope, element.name, is_attribute=False)
    for attribute in element.attributes:
        _bind(scope, attribute.name, is_attribute=True)
    return tuple(sorted(scope.items()))


def _bind(scope: dict[str, str], name: Name, *, is_attribute: bool) -> None:
    if name.uri in ("", XML_NAMESPACE) or _is_bound(scope, name.uri, is_attribute=is_attribute):
        return
    number = 1
    while f"g{number}" in scope:
        number += 1
    scope[f"g{number}"] = name.uri


def _is_bound(scope: Mapping[str, str], uri: str, *, is_attribute: bool) -> bool:
    return any(bound == uri and (prefix or not is_attribute) for prefix, bound in scope.items())
