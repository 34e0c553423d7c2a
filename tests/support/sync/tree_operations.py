"""Random operations on lxml trees, each with the change that describes it."""

from __future__ import annotations

import copy
from random import Random

from lxml import etree

from penstock.language.relations.path_universe import Name
from penstock.sync.affected import Change, ContentNode, LabelPath, TouchedNode

TAGS = ("a", "b", "c", "d")
ATTRIBUTES = ("p", "q")
TEXTS = ("", "x", "y", "xy", "1", "2", "10")


def name_of(tag: str | bytes) -> Name:
    """An lxml tag as an expanded name."""
    found = etree.QName(tag)
    return found.namespace or "", found.localname


def path_of(element: etree._Element) -> LabelPath:
    """The label path of an element."""
    above = reversed(list(element.iterancestors()))
    return (*(name_of(each.tag) for each in above), name_of(element.tag))


def content_of(element: etree._Element) -> list[ContentNode]:
    """All nodes below an element."""
    found: list[ContentNode] = []

    def visit(at: etree._Element, path: LabelPath) -> None:
        found.extend(ContentNode(path, TouchedNode.ATTRIBUTE, name_of(key)) for key in at.attrib)
        if at.text:
            found.append(ContentNode(path, TouchedNode.TEXT))
        for child in at:
            if isinstance(child.tag, str):
                inner = (*path, name_of(child.tag))
                found.append(ContentNode(inner))
                visit(child, inner)
            else:
                found.append(ContentNode(path, TouchedNode.OTHER))
            if child.tail:
                found.append(ContentNode(path, TouchedNode.TEXT))

    visit(element, ())
    return found


def detach(node: etree._Element) -> None:
    """Removes a node; the text behind it stays."""
    parent = node.getparent()
    assert parent is not None
    before = node.getprevious()
    if node.tail:
        if before is None:
            parent.text = (parent.text or "") + node.tail
        else:
            before.tail = (before.tail or "") + node.tail
    node.tail = None
    parent.remove(node)


def place(node: etree._Element, parent: etree._Element, chance: Random) -> None:
    """Inserts a node at a random position, possibly inside a text."""
    position = chance.randint(0, len(parent))
    before = parent[position - 1] if position else None
    text = (parent.text if before is None else before.tail) or ""
    cut = chance.randint(0, len(text))
    if before is None:
        parent.text = text[:cut] or None
    else:
        before.tail = text[:cut] or None
    node.tail = text[cut:] or None
    parent.insert(position, node)


class TreeOperations:
    """Changes a tree at random."""

    def __init__(self, root: etree._Element, chance: Random, *, is_content_known: bool) -> None:
        self._root = root
        self._chance = chance
        self._is_content_known = is_content_known

    def apply(self) -> tuple[str, Change] | None:
        """Does one operation; ``None`` if it is impossible in this tree."""
        kind = self._chance.choice(
            (
                *("insert", "delete", "rename", "text", "text", "attribute", "attribute"),
                *("move", "copy", "comment", "uncomment", "rename attribute"),
            )
        )
        change = getattr(self, "_" + kind.replace(" ", "_"))()
        return None if change is None else (kind, change)

    def _elements(self) -> list[etree._Element]:
        return [each for each in self._root.iter() if isinstance(each.tag, str)]

    def _any(self) -> etree._Element:
        return self._chance.choice(self._elements())

    def _below_root(self) -> etree._Element | None:
        below = self._elements()[1:]
        return self._chance.choice(below) if below else None

    def _content(self, element: etree._Element) -> list[ContentNode] | None:
        return content_of(element) if self._is_content_known else None

    def _insert(self) -> Change:
        chance = self._chance
        made = etree.Element(chance.choice(TAGS))
        if chance.random() < 0.5:
            made.text = chance.choice(TEXTS) or None
        if chance.random() < 0.3:
            made.set(chance.choice(ATTRIBUTES), chance.choice(TEXTS))
        if chance.random() < 0.3:
            etree.SubElement(made, chance.choice(TAGS)).text = chance.choice(TEXTS) or None
        place(made, self._any(), chance)
        return Change.insert(path_of(made), content=self._content(made))

    def _delete(self) -> Change | None:
        element = self._below_root()
        if element is None:
            return None
        change = Change.delete(path_of(element), content=self._content(element))
        detach(element)
        return change

    def _rename(self) -> Change:
        element = self._any()
        change = Change.rename(
            path_of(element),
            name_of(tag := self._chance.choice(TAGS)),
            content=self._content(element),
        )
        element.tag = tag
        return change

    def _text(self) -> Change:
        element = self._any()
        places = ["text", *range(len(element))]
        at = self._chance.choice(places)
        text = self._chance.choice(TEXTS) or None
        if isinstance(at, int):
            element[at].tail = text
        else:
            element.text = text
        return Change.text(path_of(element))

    def _attribute(self) -> Change:
        element = self._any()
        name = self._chance.choice(ATTRIBUTES)
        if name in element.attrib and self._chance.random() < 0.5:
            del element.attrib[name]
        else:
            element.set(name, self._chance.choice(TEXTS))
        return Change.attribute(path_of(element), ("", name))

    def _rename_attribute(self) -> Change | None:
        element = self._any()
        if not element.attrib:
            return None
        old, new = self._chance.choice(list(element.attrib)), self._chance.choice(ATTRIBUTES)
        value = element.attrib.pop(old)
        element.set(new, value)
        return Change.attribute(path_of(element), ("", str(old)), ("", new))

    def _move(self) -> Change | None:
        element = self._below_root()
        if element is None:
            return None
        inside = set(element.iter())
        targets = [each for each in self._elements() if each not in inside]
        old, content = path_of(element), self._content(element)
        detach(element)
        place(element, self._chance.choice(targets), self._chance)
        return Change.move(old, path_of(element), content=content)

    def _copy(self) -> Change:
        made = copy.deepcopy(self._any())
        made.tail = None
        place(made, self._any(), self._chance)
        return Change.insert(path_of(made), content=self._content(made))

    def _comment(self) -> Change:
        parent = self._any()
        place(etree.Comment("note"), parent, self._chance)
        return Change.other(path_of(parent))

    def _uncomment(self) -> Change | None:
        comments = list(self._root.iter(etree.Comment))
        if not comments:
            return None
        comment = self._chance.choice(comments)
        parent = comment.getparent()
        assert parent is not None
        detach(comment)
        return Change.other(path_of(parent))
