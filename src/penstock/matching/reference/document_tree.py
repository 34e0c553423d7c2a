"""A document as an lxml tree in which each node knows where it stood in the publisher's bytes.

The tree is built from the reader's events, not by lxml's parser: one reader decides what a
document is, and lxml's limits on depth, its view of entities and its lack of offsets do not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lxml import etree

from penstock.documents import (
    Attribute,
    EndElement,
    Event,
    Kind,
    Name,
    Span,
    StartElement,
    Text,
    TextBreak,
)
from penstock.matching.reference.lxml_xpath import lxml_name

NOWHERE = Span(0, 0)
"""The place of what is not there."""


@dataclass(frozen=True, slots=True)
class Node:
    """An element, attribute or text that a query selected."""

    kind: Kind
    span: Span
    """Its own bytes."""
    namespaces: tuple[tuple[str, str], ...]
    """Prefixes and URIs in scope."""
    name: Name | None = None
    """An attribute's."""


@dataclass(slots=True)
class _Origin:
    """What an lxml tree cannot hold of an element, comment or processing instruction."""

    span: Span = NOWHERE
    namespaces: tuple[tuple[str, str], ...] = ()
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    text: Span = NOWHERE
    """Of the text before the first child."""
    tail: Span = NOWHERE
    """Of the text between the end of this and what follows."""


class Tree:
    """The tree, and where each of its nodes came from."""

    def __init__(self, root: etree._Element, origins: Mapping[etree._Element, _Origin]) -> None:
        self.root = root.getroottree()
        # Holding every element also keeps lxml's proxies for them, and so their identity, alive.
        self._origins = origins

    def node(self, found: object) -> Node:
        """Where something that XPath found came from."""
        if isinstance(found, etree._Element):
            origin = self._origins[found]
            return Node("element", origin.span, origin.namespaces)
        owner, name = _owner(found)
        origin = self._origins[owner]
        if name is not None:
            attribute = origin.attributes[name]
            return Node("attribute", attribute.span, origin.namespaces, attribute.name)
        parent = _parent_of_text(found)
        span = origin.text if owner is parent else origin.tail
        return Node("text", span, self._origins[parent].namespaces)


def identity(found: object) -> tuple[object, object]:
    """Equal for the same node, however often XPath finds it."""
    if isinstance(found, etree._Element):
        return found, None
    owner, name = _owner(found)
    assert isinstance(found, etree._ElementUnicodeResult)
    return owner, name or bool(found.is_tail)


def ancestors(found: object) -> list[object]:
    """The elements around a node, the nearest first."""
    if isinstance(found, etree._Element):
        return [*found.iterancestors()]
    owner, name = _owner(found)
    parent = owner if name is not None else _parent_of_text(found)
    return [parent, *parent.iterancestors()]


def path_to(found: object) -> str:
    """A query that leads to something that XPath found, such as ``/a[1]/*:b[2]/@n``."""
    if isinstance(found, etree._Element):
        return _element_path(found)
    owner, name = _owner(found)
    if name is not None:
        return f"{_element_path(owner)}/@{_name_test(name)}"
    parent = _parent_of_text(found)
    if owner is parent:
        number = 1
    else:
        before = [parent.text, *(each.tail for each in owner.itersiblings(preceding=True))]
        number = 1 + sum(1 for text in before if text)
    return f"{_element_path(parent)}/text()[{number}]"


def _owner(found: object) -> tuple[etree._Element, str | None]:
    """The element that holds an attribute or text as lxml sees it; the attribute's name."""
    assert isinstance(found, etree._ElementUnicodeResult)
    owner = found.getparent()
    assert owner is not None
    return owner, str(found.attrname) if found.is_attribute else None


def _parent_of_text(found: object) -> etree._Element:
    """The parent as XPath sees it: lxml's is the node before the text, if there is one."""
    assert isinstance(found, etree._ElementUnicodeResult)
    beside = found.getparent()
    parent = beside.getparent() if found.is_tail and beside is not None else beside
    assert parent is not None, "there is no text outside the root"
    return parent


def tree_of(events: Iterable[Event]) -> Tree:
    """The tree of a document that has proved well-formed."""
    root: etree._Element | None = None
    opened: list[etree._Element] = []
    beside: etree._Element | None = None  # the last child of the innermost open element
    origins: dict[etree._Element, _Origin] = {}
    for event in events:
        match event:
            case StartElement():
                element = _element(event, opened[-1] if opened else None)
                root = element if root is None else root
                attributes = {lxml_name(*each.name): each for each in event.attributes}
                origins[element] = _Origin(event.span, event.namespaces, attributes)
                opened.append(element)
                beside = None
            case EndElement():
                beside = opened.pop()
                origins[beside].span = event.span
            case Text():
                if beside is None:
                    opened[-1].text = event.text
                    origins[opened[-1]].text = event.span
                else:
                    beside.tail = event.text
                    origins[beside].tail = event.span
            case TextBreak():
                beside = etree.Comment("")  # also for an instruction: no query can tell
                opened[-1].append(beside)
                origins[beside] = _Origin()
    assert root is not None
    assert not opened
    return Tree(root, origins)


def _element(event: StartElement, parent: etree._Element | None) -> etree._Element:
    name = lxml_name(*event.name)
    values = {lxml_name(*each.name): each.value for each in event.attributes}
    return etree.Element(name, values) if parent is None else etree.SubElement(parent, name, values)


def _element_path(element: etree._Element) -> str:
    steps: list[str] = []
    at: etree._Element | None = element
    while at is not None:
        steps.append(f"{_name_test(str(at.tag))}[{_number_among_siblings(at)}]")
        at = at.getparent()
    return "/" + "/".join(reversed(steps))


def _name_test(name: str) -> str:
    """A test for the name that needs no prefix, and so counts what has that name anywhere."""
    qualified = etree.QName(name)
    return f"*:{qualified.localname}" if qualified.namespace else qualified.localname


def _number_among_siblings(element: etree._Element) -> int:
    tag = str(element.tag)
    qualified = etree.QName(tag)
    alike = f"{{*}}{qualified.localname}" if qualified.namespace else tag
    return 1 + sum(1 for _ in element.itersiblings(alike, preceding=True))
