"""Parses the text of a DTD into declarations.

It parses external subsets: parameter entities may occur anywhere, and conditional sections are
supported. It checks only what parsing needs; validity constraints (deterministic content models,
duplicate tokens in an enumeration) are not checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from penstock.errors import Where
from penstock.schema.content_model import (
    AnyContent,
    Attribute,
    Child,
    Children,
    Choice,
    Content,
    Default,
    Empty,
    Indicator,
    Mixed,
    Particle,
    Sequence,
)
from penstock.schema.dtd_scanner import Scanner
from penstock.schema.limits import DtdLimits

ATTRIBUTE_TYPES: Final = frozenset(
    ["CDATA", "ID", "IDREF", "IDREFS", "ENTITY", "ENTITIES", "NMTOKEN", "NMTOKENS"]
)


@dataclass(slots=True)
class Declarations:
    """The element and attribute declarations of a DTD."""

    contents: dict[str, Content] = field(default_factory=dict)
    attributes: dict[str, dict[str, Attribute]] = field(default_factory=dict)
    places: dict[str, Where] = field(default_factory=dict)


def read_dtd(text: str, limits: DtdLimits) -> Declarations:
    """Parse a DTD; raises :class:`~penstock.errors.SchemaError` for invalid syntax."""
    return _DtdReader(text, limits).read()


class _DtdReader:
    def __init__(self, text: str, limits: DtdLimits) -> None:
        self._scanner = Scanner(text, limits)
        self._limits = limits
        self._found = Declarations()
        self._declarations = 0
        self._open_sections = 0

    def read(self) -> Declarations:
        scanner = self._scanner
        scanner.take("\ufeff")
        while True:
            scanner.skip_space()
            if scanner.at_end:
                break
            self._declaration()
        if self._open_sections:
            raise scanner.refuse("a conditional section is not closed by ']]>'")
        return self._found

    def _declaration(self) -> None:
        scanner = self._scanner
        if scanner.take("<!--"):
            if "--" in scanner.take_until("-->", "a comment"):
                raise scanner.refuse("a comment must not contain '--'")
        elif scanner.take("<?"):
            scanner.take_until("?>", "a processing instruction")
        elif scanner.take("<!["):
            self._conditional_section()
        elif self._open_sections and scanner.take("]]>"):
            self._open_sections -= 1
        else:
            self._markup_declaration()

    def _markup_declaration(self) -> None:
        scanner = self._scanner
        self._declarations += 1
        if self._declarations > self._limits.declarations_max:
            raise scanner.refuse(
                f"more than {self._limits.declarations_max} declarations", code="schema.limit"
            )
        where = scanner.where()
        for keyword, read in (
            ("<!ELEMENT", self._element),
            ("<!ATTLIST", self._attributes),
            ("<!ENTITY", self._entity),
            ("<!NOTATION", self._notation),
        ):
            if scanner.take(keyword):
                scanner.require_space()
                read(where)
                scanner.skip_space()
                scanner.expect(">")
                return
        raise scanner.refuse("expected a declaration")

    def _conditional_section(self) -> None:
        scanner = self._scanner
        scanner.skip_space()
        keyword = scanner.name("INCLUDE or IGNORE")
        scanner.skip_space()
        scanner.expect("[")
        if keyword == "INCLUDE":
            self._open_sections += 1
        elif keyword == "IGNORE":
            depth = 1
            while depth:
                passed = scanner.take_until("]]>", "an ignored section")
                depth += passed.count("<![") - 1
        else:
            raise scanner.refuse(f"expected INCLUDE or IGNORE, not {keyword!r}")

    # Elements

    def _element(self, where: Where) -> None:
        scanner = self._scanner
        name = scanner.name("an element's name")
        if name in self._found.contents:
            raise scanner.refuse(f"the element {name!r} is declared twice", code="schema.duplicate")
        scanner.require_space()
        self._found.contents[name] = self._content()
        self._found.places[name] = where

    def _content(self) -> Content:
        scanner = self._scanner
        if scanner.take("EMPTY"):
            return Empty()
        if scanner.take("ANY"):
            return AnyContent()
        scanner.expect("(")
        scanner.skip_space()
        if scanner.take("#PCDATA"):
            return self._mixed()
        return Children(self._group(depth=1))

    def _mixed(self) -> Mixed:
        scanner = self._scanner
        names: list[str] = []
        while True:
            scanner.skip_space()
            if scanner.take(")"):
                break
            scanner.expect("|")
            scanner.skip_space()
            names.append(scanner.name("an element's name"))
        if not scanner.take("*") and names:
            raise scanner.refuse("mixed content with elements must end with ')*'")
        return Mixed(tuple(dict.fromkeys(names)))

    def _group(self, depth: int) -> Particle:
        """A choice or sequence, after its opening parenthesis."""
        scanner = self._scanner
        if depth > self._limits.group_depth_max:
            raise scanner.refuse(
                f"more than {self._limits.group_depth_max} nested groups",
                code="schema.limit",
            )
        items = [self._particle(depth)]
        separator = ""
        while True:
            scanner.skip_space()
            if scanner.take(")"):
                break
            separator = separator or ("|" if scanner.looking_at("|") else ",")
            scanner.expect(separator)
            items.append(self._particle(depth))
        kind = Choice if separator == "|" else Sequence
        return kind(tuple(items), self._indicator())

    def _particle(self, depth: int) -> Particle:
        scanner = self._scanner
        scanner.skip_space()
        if scanner.take("("):
            return self._group(depth + 1)
        name = scanner.name("an element's name or a group")
        return Child(name, self._indicator())

    def _indicator(self) -> Indicator:
        for sign in (Indicator.OPTIONAL, Indicator.ANY, Indicator.SOME):
            if self._scanner.take(sign.value):
                return sign
        return Indicator.ONE

    # Attributes

    def _attributes(self, _where: Where) -> None:
        scanner = self._scanner
        declared = self._found.attributes.setdefault(scanner.name("an element's name"), {})
        while scanner.skip_space() and not scanner.looking_at(">"):
            attribute = self._attribute()
            # The first declaration of an attribute is binding (XML 1.0, section 3.3).
            declared.setdefault(attribute.name, attribute)

    def _attribute(self) -> Attribute:
        scanner = self._scanner
        name = scanner.name("an attribute's name")
        scanner.require_space()
        values: tuple[str, ...] = ()
        if scanner.take("("):
            kind, values = "enumeration", self._enumeration()
        else:
            kind = scanner.name("an attribute's type")
            if kind == "NOTATION":
                scanner.require_space()
                scanner.expect("(")
                values = self._enumeration()
            elif kind not in ATTRIBUTE_TYPES:
                raise scanner.refuse(f"{kind!r} is not an attribute type")
        scanner.require_space()
        default, value = self._default()
        return Attribute(name, kind, default, value, values)

    def _enumeration(self) -> tuple[str, ...]:
        scanner = self._scanner
        values: list[str] = []
        while True:
            scanner.skip_space()
            values.append(scanner.nmtoken("a value"))
            scanner.skip_space()
            if scanner.take(")"):
                return tuple(dict.fromkeys(values))
            scanner.expect("|")

    def _default(self) -> tuple[Default, str | None]:
        scanner = self._scanner
        if scanner.take("#REQUIRED"):
            return Default.REQUIRED, None
        if scanner.take("#IMPLIED"):
            return Default.IMPLIED, None
        if scanner.take("#FIXED"):
            scanner.require_space()
            return Default.FIXED, scanner.attribute_value()
        return Default.VALUE, scanner.attribute_value()

    # Entities and notations

    def _entity(self, _where: Where) -> None:
        scanner = self._scanner
        parameter = scanner.take("%")
        if parameter:
            scanner.require_space()
        name = scanner.name("an entity's name")
        scanner.require_space()
        value = None if self._external_id() else scanner.entity_value()
        if parameter:
            scanner.declare(name, value)
        elif value is None and scanner.skip_space() and scanner.take("NDATA"):
            scanner.require_space()
            scanner.name("a notation's name")

    def _notation(self, _where: Where) -> None:
        scanner = self._scanner
        scanner.name("a notation's name")
        scanner.require_space()
        if not self._external_id():
            raise scanner.refuse("expected SYSTEM or PUBLIC")

    def _external_id(self) -> bool:
        scanner = self._scanner
        if scanner.take("SYSTEM"):
            scanner.require_space()
            scanner.literal("the system identifier")
            return True
        if scanner.take("PUBLIC"):
            scanner.require_space()
            scanner.literal("the public identifier")
            if scanner.skip_space() and not scanner.looking_at(">"):
                scanner.literal("the system identifier")
            return True
        return False
