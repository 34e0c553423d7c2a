"""Builds update statements from Python.

Values are passed as they are, so they may contain both kinds of quotes, which no text of a
statement can.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.errors import error
from penstock.language.updates.ast import Function, Name, PlainPath, Statement, UpdatePath
from penstock.language.updates.parser import parse_path
from penstock.language.xpath.lexical import NCNAME, NOT_A_CHARACTER
from penstock.language.xpath.namespaces import check_namespaces


def at(
    path: str,
    *,
    namespaces: Mapping[str, str] | None = None,
    default_namespace: str | None = None,
) -> Target:
    """The targets of a statement.

    Parameters
    ----------
    path
        A path as in a statement.
    namespaces, default_namespace
        As for :func:`~penstock.language.updates.parser.parse_statement`.

    Examples
    --------
    >>> from penstock.language.updates import at, statement_text
    >>> statement_text(at("/Menu/Entree[1]").insert("Name", text="Onion soup"))
    '/Menu/Entree[1]!insert(Name/"Onion soup")'
    >>> statement_text(at("//Price").move_after("../Rating"))
    '//Price!moveAfter(../Rating)'
    """
    parsed = parse_path(path, namespaces=namespaces, default_namespace=default_namespace)
    return Target(parsed, dict(namespaces or {}), default_namespace)


@dataclass(frozen=True, slots=True)
class Target:
    """The targets of a statement; each method makes a statement."""

    path: UpdatePath
    namespaces: Mapping[str, str] = field(default_factory=dict)
    default_namespace: str | None = None

    def insert(
        self, *elements: str, text: str | None = None, attribute: str | None = None
    ) -> Statement:
        """Creates the elements within one another below each target, with a text, or an attribute
        whose value is ``text``."""
        return self._insert(Function.INSERT, elements, text, attribute)

    def insert_before(
        self, *elements: str, text: str | None = None, attribute: str | None = None
    ) -> Statement:
        """The same just before each target."""
        return self._insert(Function.INSERT_BEFORE, elements, text, attribute)

    def insert_after(
        self, *elements: str, text: str | None = None, attribute: str | None = None
    ) -> Statement:
        """The same just after each target."""
        return self._insert(Function.INSERT_AFTER, elements, text, attribute)

    def delete(self) -> Statement:
        """Deletes the targets."""
        return Statement(self.path, Function.DELETE)

    def copy(self, source: str) -> Statement:
        """Copies the sources into each target."""
        return Statement(self.path, Function.COPY, self._source(source))

    def copy_before(self, source: str) -> Statement:
        """Copies the sources just before each target."""
        return Statement(self.path, Function.COPY_BEFORE, self._source(source))

    def copy_after(self, source: str) -> Statement:
        """Copies the sources just after each target."""
        return Statement(self.path, Function.COPY_AFTER, self._source(source))

    def move(self, source: str) -> Statement:
        """Moves the sources into each target."""
        return Statement(self.path, Function.MOVE, self._source(source))

    def move_before(self, source: str) -> Statement:
        """Moves the sources just before each target."""
        return Statement(self.path, Function.MOVE_BEFORE, self._source(source))

    def move_after(self, source: str) -> Statement:
        """Moves the sources just after each target."""
        return Statement(self.path, Function.MOVE_AFTER, self._source(source))

    def update(self, value: str) -> Statement:
        """Sets the value of texts and attributes, the name of elements."""
        return Statement(self.path, Function.UPDATE, _checked(value))

    def _source(self, source: str) -> UpdatePath:
        return parse_path(
            source, namespaces=self.namespaces, default_namespace=self.default_namespace
        )

    def _insert(
        self, function: Function, elements: tuple[str, ...], text: str | None, attribute: str | None
    ) -> Statement:
        if not elements and text is None and attribute is None:
            raise error("update.argument", "there is nothing to insert")
        names = tuple(self._name(each, is_attribute=False) for each in elements)
        name = None if attribute is None else self._name(attribute, is_attribute=True)
        value = text if text is None else _checked(text)
        if name is not None and value is None:
            value = ""
        return Statement(self.path, function, PlainPath(names, name, value))

    def _name(self, text: str, *, is_attribute: bool) -> Name:
        prefix, colon, local = text.rpartition(":")
        if not NCNAME.fullmatch(local) or (colon and not NCNAME.fullmatch(prefix)):
            raise error("update.argument", f"`{text}` is not a name")
        bindings = check_namespaces(self.namespaces, self.default_namespace)
        if not colon:
            return Name("", "" if is_attribute else self.default_namespace or "", local)
        if prefix not in bindings:
            raise error("update.prefix", f"the prefix `{prefix}` is not bound")
        return Name(prefix, bindings[prefix], local)


def _checked(value: str) -> str:
    if NOT_A_CHARACTER.search(value):
        raise error("update.argument", "a value has a character that XML does not allow")
    return value
