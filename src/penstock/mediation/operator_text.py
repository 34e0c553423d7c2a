"""The syntax of operators in mapping files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from penstock.documents import Name
from penstock.errors import PenstockError, Where, error
from penstock.mediation.operators import (
    Downgrade,
    Exchange,
    Insert,
    Operator,
    Rename,
    ToElement,
    Upgrade,
)
from penstock.schema import Labels, NodePath, Place

_TOKEN = re.compile(r"[(),]|[^\s(),]+")


def operator_text(operator: Operator, labels: Labels) -> str:
    """The text of an operator below its node."""
    node = operator.node
    match operator:
        case Rename():
            old = operator.attribute
            which = "" if old is None else f"@{labels.label(old)} "
            return f"rename {which}{labels.label(operator.name)}"
        case ToElement():
            is_same = operator.name == operator.attribute
            name = "" if is_same else f" as {labels.label(operator.name)}"
            return f"to-element @{labels.label(operator.attribute)}{name}"
        case Insert():
            path = "/".join(map(labels.label, operator.path))
            if operator.children is None:
                return f"insert+ {path}"
            shared = "/".join(map(labels.label, operator.path[: operator.shared]))
            sharing = f" sharing {shared}" if shared else ""
            return f"insert {path} {_listed(operator.children, node, labels)}{sharing}"
        case Upgrade():
            if operator.children is None:
                return "upgrade+"
            return f"upgrade {_listed(operator.children, node, labels)}"
        case Downgrade():
            moved = _listed(operator.children, node, labels)
            return f"downgrade {moved} into {_referred(operator.target, node, labels)}"
        case Exchange():
            return f"exchange {_referred(Place(operator.child), node, labels)}"


def names_of(operator: Operator) -> tuple[Name, ...]:
    """The new names in an operator."""
    match operator:
        case Rename() | ToElement():
            return (operator.name,)
        case Insert():
            return operator.path
        case _:
            return ()


def _listed(places: Iterable[Place], node: NodePath, labels: Labels) -> str:
    return f"({', '.join(sorted(_referred(place, node, labels) for place in places))})"


def _referred(place: Place, node: NodePath, labels: Labels) -> str:
    """A child by name, an attribute of the node as ``@name``, other places by path."""
    if place.attribute is not None and place.path == node:
        return f"@{labels.label(place.attribute)}"
    if place.attribute is None and place.path[:-1] == node:
        return labels.label(place.path[-1])
    return labels.place_text(place)


def read_operator(text: str, node: NodePath, labels: Labels, where: Where) -> Operator:
    """Parses an operator below ``node``; ``where`` is the position of ``=>``."""
    return _Reader(text, node, labels, where).read()


class _Reader:
    def __init__(self, text: str, node: NodePath, labels: Labels, where: Where) -> None:
        self._tokens = [(found[0], found.start()) for found in _TOKEN.finditer(text)]
        self._next = 0
        self._end = len(text)
        self._node = node
        self._labels = labels
        # The text starts after `=> `.
        self._where = Where(where.offset + 3, where.line, where.column + 3)

    def read(self) -> Operator:
        readers: dict[str, Callable[[], Operator]] = {
            "rename": self._rename,
            "to-element": self._to_element,
            "insert": self._insert,
            "insert+": lambda: Insert(self._node, self._path(), None),
            "upgrade": lambda: Upgrade(self._node, self._children()),
            "upgrade+": lambda: Upgrade(self._node, None),
            "downgrade": self._downgrade,
            "exchange": self._exchange,
        }
        word = self._peek()
        if word not in readers:
            raise self._refuse(f"expected an operator, one of {', '.join(readers)}")
        self._next += 1
        operator = readers[word]()
        if self._next < len(self._tokens):
            raise self._refuse(f"unexpected {self._peek()!r} after the operator")
        return operator

    def _refuse(self, message: str) -> PenstockError:
        has_more = self._next < len(self._tokens)
        column = self._tokens[self._next][1] if has_more else self._end
        start = self._where
        where = Where(start.offset + column, start.line, start.column + column)
        return error("mapping.syntax", message, where)

    def _peek(self) -> str:
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

    def _take(self, word: str) -> None:
        if self._peek() != word:
            raise self._refuse(f"expected `{word}`")
        self._next += 1

    def _name(self, what: str) -> Name:
        name = self._labels.name(self._peek())
        if name is None:
            raise self._refuse(f"expected {what}")
        self._next += 1
        return name

    def _attribute(self) -> Name:
        token = self._peek()
        name = self._labels.name(token[1:]) if token.startswith("@") else None
        if name is None:
            raise self._refuse("expected an attribute: `@name`")
        self._next += 1
        return name

    def _path(self) -> tuple[Name, ...]:
        names = [self._labels.name(step) for step in self._peek().split("/")]
        path = tuple(name for name in names if name is not None)
        if len(path) < len(names):
            raise self._refuse("expected the new path: `name` or `name/name`")
        self._next += 1
        return path

    def _place(self) -> Place:
        token = self._peek()
        if token.startswith("/"):
            place = self._labels.place(token)
            if place is None:
                raise self._refuse("expected a node: `name`, `@name` or `/path/of/names`")
            self._next += 1
            return place
        if token.startswith("@"):
            return Place(self._node, self._attribute())
        name = self._name("a node: `name`, `@name` or `/path/of/names`")
        return Place((*self._node, name))

    def _children(self) -> frozenset[Place]:
        self._take("(")
        found = [self._place()]
        while self._peek() == ",":
            self._next += 1
            found.append(self._place())
        self._take(")")
        return frozenset(found)

    def _rename(self) -> Rename:
        attribute = self._attribute() if self._peek().startswith("@") else None
        return Rename(self._node, self._name("the new name"), attribute)

    def _to_element(self) -> ToElement:
        attribute = self._attribute()
        if self._peek() != "as":
            return ToElement(self._node, attribute, attribute)
        self._next += 1
        return ToElement(self._node, attribute, self._name("the element's name"))

    def _insert(self) -> Insert:
        path, children = self._path(), self._children()
        if self._peek() != "sharing":
            return Insert(self._node, path, children)
        self._next += 1
        shared = self._path()
        if path[: len(shared)] != shared:
            self._next -= 1
            raise self._refuse("expected the beginning of the new path")
        return Insert(self._node, path, children, len(shared))

    def _downgrade(self) -> Downgrade:
        children = self._children()
        self._take("into")
        return Downgrade(self._node, children, self._place())

    def _exchange(self) -> Exchange:
        place = self._place()
        if place.attribute is not None:
            self._next -= 1
            raise self._refuse("an attribute cannot be exchanged")
        return Exchange(self._node, place.path)
