"""``restrict(D, s)`` by definition, on a tree of lxml.

The restriction of a document to a subscription has the nodes that the subscription selects, with
their subtrees, and the ancestors of these as *bare* elements: name and namespace declarations
only. A selected attribute or text of a bare element stays with it. The order is that of the
document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lxml import etree

from penstock.language.updates import parse_subscription
from penstock.language.updates.ast import UpdatePath
from penstock.language.xpath.ast import Query
from penstock.language.xpath.reference.lxml_xpath import compile_query
from penstock.sync.document_tree import DocumentTree
from penstock.sync.path_evaluation import PathEvaluator, TreeRef
from penstock.sync.subscription import SubscriptionLanguage, SyncSubscription

_Key = tuple[etree._Element, str | bool | None]
"""A node: an element, comment or instruction and ``None``; the owner and name of an attribute; or
the element or instruction that lxml attaches a text to, and whether the text is its tail."""


@dataclass(frozen=True, slots=True)
class Restriction:
    """A restricted document."""

    root: etree._Element | None
    """The root; ``None`` if nothing is selected."""

    def canonical_xml(self, *, exclusive: bool = False) -> bytes:
        """The restriction as canonical XML with comments; empty if nothing is selected."""
        return b"" if self.root is None else canonical_xml(self.root, exclusive=exclusive)


def canonical_xml(root: etree._Element, *, exclusive: bool = False) -> bytes:
    """An element as canonical XML (1.0, inclusive or exclusive), with comments."""
    return etree.tostring(root, method="c14n", exclusive=exclusive, with_comments=True)


def restrict(tree: etree._ElementTree, query: Query) -> Restriction:
    """The restriction of a document, parsed by lxml, to a query.

    Entities must be expanded and CDATA sections be text, as with :func:`parse_document`.
    """
    selected = {_key(node) for node in compile_query(query, str)(tree)}
    return Restriction(_restricted(tree.getroot(), selected, is_full=False))


def restrict_to_subscription(content: bytes, subscription: SyncSubscription) -> Restriction:
    """The restriction of a document, as canonical XML, to a subscription."""
    if subscription.language is SubscriptionLanguage.XQL:
        return _restrict_to_paths(content, subscription.xql.paths)
    query = parse_subscription(
        subscription.query,
        namespaces=dict(subscription.namespaces),
        default_namespace=subscription.default_namespace or None,
    )
    return restrict(parse_document(content), query)


def _restrict_to_paths(content: bytes, paths: Iterable[UpdatePath]) -> Restriction:
    """The restriction to what paths select in statements."""
    tree, root = DocumentTree.read(content), parse_document(content).getroot()
    assert tree.root is not None
    keys = dict(zip(tree.subtree(tree.root), _keys(root), strict=True))
    evaluator = PathEvaluator(tree)
    selected: set[_Key] = set()
    for ref in (ref for path in paths for ref in evaluator.evaluate(path)):
        if isinstance(ref, TreeRef):
            selected |= {keys[node] for node in ref.ids}
        else:
            name = f"{{{ref.name.uri}}}{ref.name.local}" if ref.name.uri else ref.name.local
            selected.add((keys[ref.owner][0], name))
    return Restriction(_restricted(root, selected, is_full=False))


def _keys(element: etree._Element) -> Iterator[_Key]:
    """The nodes of a subtree in document order, without attributes."""
    yield element, None
    if isinstance(element, etree._Comment | etree._ProcessingInstruction):
        return
    if element.text:
        yield element, False
    for child in element:
        yield from _keys(child)
        if child.tail:
            yield child, True


def parse_document(content: bytes) -> etree._ElementTree:
    """The tree of a document without entities of its own."""
    parser = etree.XMLParser(remove_blank_text=False, resolve_entities=False, huge_tree=True)
    return etree.ElementTree(etree.fromstring(content, parser))


def _key(found: object) -> _Key:
    if isinstance(found, etree._Element):
        return found, None
    assert isinstance(found, etree._ElementUnicodeResult)
    owner = found.getparent()
    assert owner is not None
    return owner, str(found.attrname) if found.is_attribute else bool(found.is_tail)


def _restricted(
    element: etree._Element, selected: set[_Key], *, is_full: bool
) -> etree._Element | None:
    """A copy of an element with what is kept of it; ``None`` if nothing is."""
    is_full = is_full or (element, None) in selected
    namespaces: dict[Any, str] = dict(element.nsmap)
    copy = etree.Element(str(element.tag), nsmap=namespaces)
    for name, value in element.attrib.items():
        if is_full or (element, str(name)) in selected:
            copy.set(name, value)
    is_kept = is_full or len(copy.attrib) > 0
    for child in _children(element, selected, is_full=is_full):
        is_kept = True
        if isinstance(child, str):
            _append_text(copy, child)
        else:
            copy.append(child)
    return copy if is_kept else None


def _children(
    element: etree._Element, selected: set[_Key], *, is_full: bool
) -> Iterator[etree._Element | str]:
    """What is kept of the children of an element, in order."""
    if element.text and (is_full or (element, False) in selected):
        yield element.text
    for child in element:
        if isinstance(child, etree._Comment):
            if is_full:
                yield etree.Comment(child.text)
        elif isinstance(child, etree._ProcessingInstruction):
            if is_full:
                yield etree.ProcessingInstruction(child.target, child.text or "")
        else:
            copy = _restricted(child, selected, is_full=is_full)
            if copy is not None:
                yield copy
        if child.tail and (is_full or (child, True) in selected):
            yield child.tail


def _append_text(element: etree._Element, text: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text
