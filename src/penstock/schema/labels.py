"""Names in schema and mapping files: ``prefix:local``, with a line declaring each prefix."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from penstock.documents import Name
from penstock.documents.name_characters import NAME_CHAR, NAME_START
from penstock.schema.prefix_resolution import XML_NAMESPACE, XMLNS_NAMESPACE
from penstock.schema.tree import NodePath, Place

_PART = f"[{NAME_START}][{NAME_CHAR}]*"
_LOCAL = re.compile(_PART)
_PLAIN_URI = re.compile(r'[^\s"]\S*')
_CHARACTERS = re.compile("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
LABEL = re.compile(f"(?:{_PART}:)?{_PART}")
"""A name with an optional prefix."""


def is_element_name(name: Name) -> bool:
    """Whether the name is a valid element name."""
    return bool(_LOCAL.fullmatch(name.local)) and _is_namespace(name.uri)


def is_attribute_name(name: Name) -> bool:
    """Whether the name is a valid attribute name other than a namespace declaration."""
    return is_element_name(name) and name != Name("", "xmlns")


def _is_namespace(uri: str) -> bool:
    return bool(_CHARACTERS.fullmatch(uri)) and uri != XMLNS_NAMESPACE


class Labels:
    """The prefixes of namespaces; names without a prefix are in no namespace."""

    def __init__(self) -> None:
        self._uris = {"xml": XML_NAMESPACE}
        self._prefixes = {XML_NAMESPACE: "xml"}

    @classmethod
    def for_names(cls, names: Iterable[Name]) -> Labels:
        """Assigns the prefixes ``n1``, ``n2``, ... to the namespaces of these names, in order."""
        labels = cls()
        for name in names:
            if name.uri and name.uri not in labels._prefixes:
                labels.declare(f"n{len(labels._prefixes)}", name.uri)
        return labels

    def declare(self, prefix: str, uri: str) -> bool:
        """Declares a prefix; returns whether both prefix and URI were undeclared."""
        is_new = prefix not in self._uris and uri not in self._prefixes
        if is_new:
            self._uris[prefix] = uri
            self._prefixes[uri] = prefix
        return is_new

    def lines(self) -> Iterator[str]:
        """The lines that declare the prefixes."""
        for prefix, uri in self._uris.items():
            if prefix != "xml":
                # Namespaces can be arbitrary strings: unusual ones are written as JSON strings.
                written = uri if _PLAIN_URI.fullmatch(uri) else json.dumps(uri)
                yield f"namespace {prefix} {written}"

    def read_line(self, line: str) -> bool:
        """Parses a line that declares a prefix; returns whether it is valid and new."""
        words = line.split(maxsplit=2)
        if len(words) != 3 or words[0] != "namespace" or not LABEL.fullmatch(words[1]):
            return False
        uri: object = words[2]
        if words[2].startswith('"'):
            try:
                uri = json.loads(words[2])
            except ValueError:
                return False
        elif not _PLAIN_URI.fullmatch(words[2]):
            return False
        return isinstance(uri, str) and _is_namespace(uri) and self.declare(words[1], uri)

    def label(self, name: Name) -> str:
        """The written form of a name."""
        return f"{self._prefixes[name.uri]}:{name.local}" if name.uri else name.local

    def name(self, label: str) -> Name | None:
        """The name of a written form; ``None`` if it is invalid or its prefix is unknown."""
        if not LABEL.fullmatch(label):
            return None
        prefix, _, local = label.rpartition(":")
        if prefix and prefix not in self._uris:
            return None
        return Name(self._uris[prefix] if prefix else "", local)

    def path_text(self, path: NodePath) -> str:
        """The written form of a path: ``/a/p:b``; ``/`` is the virtual node above the root."""
        return "/" + "/".join(map(self.label, path))

    def place_text(self, place: Place) -> str:
        """The written form of a place: ``/a/p:b`` or ``/a/p:b/@c``."""
        if place.attribute is None:
            return self.path_text(place.path)
        return f"{self.path_text(place.path)}/@{self.label(place.attribute)}"

    def place(self, text: str) -> Place | None:
        """The place of a written form; ``None`` if it is invalid."""
        if not text.startswith("/"):
            return None
        steps = text[1:].split("/") if text != "/" else []
        attribute = None
        if steps and steps[-1].startswith("@"):
            attribute = self.name(steps.pop()[1:])
            if attribute is None or not steps:
                return None
        names = [self.name(step) for step in steps]
        found = tuple(name for name in names if name is not None)
        return Place(found, attribute) if len(found) == len(names) else None
