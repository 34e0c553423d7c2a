"""What lxml selects, comparably, and small trees to select from."""

from __future__ import annotations

import re
from typing import cast

from hypothesis import strategies as st
from lxml import etree
from query_strategies import Vocabulary

from penstock.language import to_text
from penstock.language.ast import Query

_ANY_NAMESPACE = re.compile(r"\*:(\w+)")

Selected = set[tuple[str, ...]]
"""Where nodes are: the path of an element; of an attribute or text, that and which of it."""


def lxml_selects(query: Query, root: etree._Element) -> Selected:
    """The nodes that lxml selects, ``*:n`` written as it knows it."""
    printed = to_text(query)
    # lxml knows XPath 1.0 only. No string of the vocabulary has `*:` in it.
    text = _ANY_NAMESPACE.sub(r"*[local-name() = '\1']", printed.text)
    found = etree.XPath(text, namespaces=dict(printed.namespaces))(root.getroottree())
    return places(found)


def places(found: object) -> Selected:
    """Where the nodes of an lxml result are."""
    return {_place(node) for node in cast("list[object]", found)}


def _place(node: object) -> tuple[str, ...]:
    if isinstance(node, etree._Element):
        return (node.getroottree().getpath(node),)
    text = cast("etree._ElementUnicodeResult", node)
    parent = text.getparent()
    assert parent is not None
    path = parent.getroottree().getpath(parent)
    if text.is_attribute:
        return path, "@", str(text.attrname)
    return path, "tail" if text.is_tail else "text"


@st.composite
def small_trees(draw: st.DrawFn, vocabulary: Vocabulary) -> etree._Element:
    """Trees of a few elements with the vocabulary's names and values."""
    tags = st.sampled_from(
        [
            f"{{{uri}}}{name}" if uri else name
            for uri in vocabulary.uris
            for name in vocabulary.elements
        ]
    )
    keys = st.sampled_from(
        [
            f"{{{uri}}}{name}" if uri else name
            for uri in vocabulary.uris
            for name in vocabulary.attributes
        ]
    )
    texts = st.sampled_from(vocabulary.texts)
    root = etree.Element(draw(tags))
    elements = [root]
    for _ in range(draw(st.integers(0, 7))):
        parent = elements[draw(st.integers(0, len(elements) - 1))]
        elements.append(etree.SubElement(parent, draw(tags)))
    for element in elements:
        for key, value in draw(st.dictionaries(keys, texts, max_size=2)).items():
            element.set(key, value)
        element.text = draw(texts) or None
        if element is not root:
            element.tail = draw(texts) or None
    return root
