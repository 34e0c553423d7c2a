"""Estimates the work of checking an XSD, before ``xmlschema`` does it.

The library compares every two elements of a content model, with their substitution groups, and it
expands references to named groups, and to groups of attributes in each type. A few kilobytes could
thus take it hours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree.ElementTree import Element

from penstock.errors import error
from penstock.schema.limits import XSD_ATTRIBUTES_MAX, XSD_COMPARISONS_MAX

_GROUPS = frozenset(["sequence", "choice", "all", "complexContent", "extension", "restriction"])
"""Elements of an XSD inside a content model that contain particles."""

_CONTENTS = frozenset(["complexContent", "simpleContent", "extension", "restriction"])
"""Elements of an XSD inside a type that contain attributes."""


class _Size(NamedTuple):
    """The size of a content model or a substitution group."""

    elements: int = 0
    substitutes: int = 0
    """Members of the substitution groups of these elements."""

    def __add__(self, other: object) -> _Size:
        assert isinstance(other, _Size)
        return _Size(self.elements + other.elements, self.substitutes + other.substitutes)


class _Substitutes(NamedTuple):
    members: int
    height: int
    """Levels of members of members."""


def check_cost(roots: Iterable[Element]) -> None:
    """Refuse an XSD, given as the roots of its files, that would take too many comparisons."""
    estimate = _CostEstimate()
    for root in roots:
        estimate.add(root)
    if estimate.comparisons() > XSD_COMPARISONS_MAX:
        message = f"checking the XSD takes more than {XSD_COMPARISONS_MAX} comparisons of elements"
        raise error("schema.limit", message)
    if estimate.attributes() > XSD_ATTRIBUTES_MAX:
        message = f"the types of the XSD have more than {XSD_ATTRIBUTES_MAX} attributes together"
        raise error("schema.limit", message)


class _CostEstimate:
    """Adds up the comparisons of all content models, and the attributes of all types.

    Names are compared without their namespaces: if several definitions have the same local name,
    the largest one counts.
    """

    def __init__(self) -> None:
        self._models: list[Element] = []
        self._definitions: dict[tuple[str, str], list[Element]] = defaultdict(list)
        self._members: dict[str, list[str]] = defaultdict(list)
        self._sizes: dict[tuple[str, str], _Size] = {}
        self._attributes: dict[tuple[str, str], int] = {}
        self._substitutes: dict[str, _Substitutes] = {}

    def add(self, root: Element) -> None:
        for node in root.iter():
            kind, name = _kind(node), node.get("name")
            if kind in {"complexType", "group", "attributeGroup"}:
                self._models.append(node)
                if name is not None:
                    self._definitions[kind, name].append(node)
            elif kind == "element" and name is not None:
                for head in node.get("substitutionGroup", "").split():
                    self._members[_local(head)].append(name)

    def comparisons(self) -> int:
        sizes = [self._size(model) for model in self._models]
        substitutes = [self._substitutes_of(head) for head in list(self._members)]
        return sum(size.elements * (size.elements + size.substitutes) for size in sizes) + sum(
            each.members * each.height for each in substitutes
        )

    def attributes(self) -> int:
        return sum(map(self._attributes_in, self._models))

    def _attributes_in(self, node: Element) -> int:
        """The attributes of a type or group, with those that it refers to or inherits."""
        count = 0
        for child in node:
            kind = _kind(child)
            if kind == "attribute":
                count += 1
            elif kind == "attributeGroup":
                count += self._attributes_of("attributeGroup", child.get("ref", ""))
            elif kind in _CONTENTS:
                count += self._attributes_in(child)
                count += self._attributes_of("complexType", child.get("base", ""))
        return count

    def _attributes_of(self, kind: str, name: str) -> int:
        key = (kind, _local(name))
        if key not in self._attributes:
            self._attributes[key] = 0  # a cycle, which xmlschema reports
            found = map(self._attributes_in, self._definitions.get(key, ()))
            self._attributes[key] = max(found, default=0)
        return self._attributes[key]

    def _size(self, node: Element) -> _Size:
        """The size of the content model inside a node, with all references expanded."""
        size = _Size()
        for child in node:
            kind = _kind(child)
            if kind in {"element", "any"}:
                head = _local(child.get("ref", ""))
                size += _Size(1, self._substitutes_of(head).members)
            elif kind == "group":
                size += self._named("group", child.get("ref", ""))
            elif kind in _GROUPS:
                size += self._size(child)
                if kind == "extension":
                    size += self._named("complexType", child.get("base", ""))
        return size

    def _named(self, kind: str, name: str) -> _Size:
        key = (kind, _local(name))
        if key not in self._sizes:
            self._sizes[key] = _Size()  # a cycle, which xmlschema reports
            definitions = self._definitions.get(key, ())
            self._sizes[key] = max(map(self._size, definitions), default=_Size())
        return self._sizes[key]

    def _substitutes_of(self, head: str) -> _Substitutes:
        if head not in self._substitutes:
            self._substitutes[head] = _Substitutes(0, 0)  # a cycle, which xmlschema reports
            found = [self._substitutes_of(member) for member in self._members.get(head, ())]
            self._substitutes[head] = _Substitutes(
                sum(1 + each.members for each in found),
                1 + max((each.height for each in found), default=0),
            )
        return self._substitutes[head]


def _kind(node: Element) -> str:
    """The local name of an element; the tag of a comment is a function."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def _local(name: str) -> str:
    return name.strip().rpartition(":")[2]
