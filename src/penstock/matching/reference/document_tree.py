"""A document as an lxml tree whose nodes carry their byte spans in the original.

The tree is built from the reader's events instead of lxml's parser, so that lxml's depth limit, its
treatment of entities and its lack of byte offsets do not matter.
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
from penstock.language.xpath.reference.lxml_xpath import lxml_name

NO_SPAN = Span(0, 0)
"""The span of a missing text."""


@dataclass(frozen=True, slots=True)
class Node:
    """An element, attribute or text that a query selected."""

    kind: Kind
    span: Span
    """The byte span of the node."""
    namespaces: tuple[tuple[str, str], ...]
    """Prefixes and URIs of the namespaces in scope."""
    name: Name | None = None
    """The name of an attribute."""


@dataclass(slots=True)
class _Provenance:
    """What lxml does not store about an element, comment or processing instruction."""

    span: Span = NO_SPAN
    namespaces: tuple[tuple[str, str], ...] = ()
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    text: Span = NO_SPAN
    """Span of the text before the first child."""
    tail: Span = NO_SPAN
    """Span of the text after this node's end tag."""


class Tree:
    """The tree with the provenance of its nodes."""

    def __init__(
        self, root: etree._Element, provenance: Mapping[etree._Element, _Provenance]
    ) -> None:
        self.root = root.getroottree()
        # References to all elements keep lxml's proxies, and thus object identity, alive.
        self._provenance = provenance

    def node(self, found: object) -> Node:
        """The node that an XPath result stands for."""
        if isinstance(found, etree._Element):
            source = self._provenance[found]
            return Node("element", source.span, source.namespaces)
        owner, name = _owner(found)
        source = self._provenance[owner]
        if name is not None:
            attribute = source.attributes[name]
            return Node("attribute", attribute.span, source.namespaces, attribute.name)
        parent = _parent_of_text(found)
        span = source.text if owner is parent else source.tail
        return Node("text", span, self._provenance[parent].namespaces)


def identity(found: object) -> tuple[object, object]:
    """A key that is equal for equal nodes."""
    if isinstance(found, etree._Element):
        return found, None
    owner, name = _owner(found)
    assert isinstance(found, etree._ElementUnicodeResult)
    return owner, name or bool(found.is_tail)


def ancestors(found: object) -> list[object]:
    """The ancestors of a node, nearest first."""
    if isinstance(found, etree._Element):
        return [*found.iterancestors()]
    owner, name = _owner(found)
    parent = owner if name is not None else _parent_of_text(found)
    return [parent, *parent.iterancestors()]


def path_to(found: object) -> str:
    """A query that selects an XPath result, such as ``/a[1]/*:b[2]/@n``."""
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
    """The element that owns an attribute or text in lxml, and the attribute's name."""
    assert isinstance(found, etree._ElementUnicodeResult)
    owner = found.getparent()
    assert owner is not None
    return owner, str(found.attrname) if found.is_attribute else None


def _parent_of_text(found: object) -> etree._Element:
    """The XPath parent of a text; lxml instead returns the preceding sibling, if any."""
    assert isinstance(found, etree._ElementUnicodeResult)
    previous = found.getparent()
    parent = previous.getparent() if found.is_tail and previous is not None else previous
    assert parent is not None, "there is no text outside the root"
    return parent


def tree_of(events: Iterable[Event]) -> Tree:
    """The tree of a well-formed document."""
    root: etree._Element | None = None
    opened: list[etree._Element] = []
    previous: etree._Element | None = None  # the last child of the innermost open element
    provenance: dict[etree._Element, _Provenance] = {}
    for event in events:
        match event:
            case StartElement():
                element = _element(event, opened[-1] if opened else None)
                root = element if root is None else root
                attributes = {lxml_name(*each.name): each for each in event.attributes}
                provenance[element] = _Provenance(event.span, event.namespaces, attributes)
                opened.append(element)
                previous = None
            case EndElement():
                previous = opened.pop()
                provenance[previous].span = event.span
            case Text():
                if previous is None:
                    opened[-1].text = event.text
                    provenance[opened[-1]].text = event.span
                else:
                    previous.tail = event.text
                    provenance[previous].tail = event.span
            case TextBreak():
                previous = etree.Comment("")  # also stands for an instruction
                opened[-1].append(previous)
                provenance[previous] = _Provenance()
    assert root is not None
    assert not opened
    return Tree(root, provenance)


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
    """A name test without a prefix, which matches the local name in any namespace."""
    qualified = etree.QName(name)
    return f"*:{qualified.localname}" if qualified.namespace else qualified.localname


def _number_among_siblings(element: etree._Element) -> int:
    tag = str(element.tag)
    qualified = etree.QName(tag)
    same_name = f"{{*}}{qualified.localname}" if qualified.namespace else tag
    return 1 + sum(1 for _ in element.itersiblings(same_name, preceding=True))
