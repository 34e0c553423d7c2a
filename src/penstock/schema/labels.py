"""Names as files write them: ``prefix:local``, with a line for what each prefix means."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from penstock.documents import Name
from penstock.schema.namespaces import XML_NAMESPACE, XMLNS_NAMESPACE
from penstock.schema.scanner import NAME_CHAR, NAME_START
from penstock.schema.tree import NodePath, Place

_PART = f"[{NAME_START.replace(':', '')}][{NAME_CHAR.replace(':', '')}]*"
_LOCAL = re.compile(_PART)
_PLAIN_URI = re.compile(r'[^\s"]\S*')
_CHARACTERS = re.compile("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
LABEL = re.compile(f"(?:{_PART}:)?{_PART}")
"""A name with a prefix or without."""


def is_element_name(name: Name) -> bool:
    """Whether XML allows an element of this name."""
    return bool(_LOCAL.fullmatch(name.local)) and _is_namespace(name.uri)


def is_attribute_name(name: Name) -> bool:
    """Whether XML allows an attribute of this name that declares no namespace."""
    return is_element_name(name) and name != Name("", "xmlns")


def _is_namespace(uri: str) -> bool:
    return bool(_CHARACTERS.fullmatch(uri)) and uri != XMLNS_NAMESPACE


class Labels:
    """Which prefix stands for which namespace; names without a prefix are in none."""

    def __init__(self) -> None:
        self._uris = {"xml": XML_NAMESPACE}
        self._prefixes = {XML_NAMESPACE: "xml"}

    @classmethod
    def for_names(cls, names: Iterable[Name]) -> Labels:
        """Prefixes ``n1``, ``n2`` ... for the namespaces of these names, as they come."""
        labels = cls()
        for name in names:
            if name.uri and name.uri not in labels._prefixes:
                labels.declare(f"n{len(labels._prefixes)}", name.uri)
        return labels

    def declare(self, prefix: str, uri: str) -> bool:
        """Give a prefix its meaning; whether it had none before, and no other stands for it."""
        is_new = prefix not in self._uris and uri not in self._prefixes
        if is_new:
            self._uris[prefix] = uri
            self._prefixes[uri] = prefix
        return is_new

    def lines(self) -> Iterator[str]:
        """The lines that declare the prefixes."""
        for prefix, uri in self._uris.items():
            if prefix != "xml":
                # Any string is a namespace to XML: an odd one is written as JSON writes it.
                written = uri if _PLAIN_URI.fullmatch(uri) else json.dumps(uri)
                yield f"namespace {prefix} {written}"

    def read_line(self, line: str) -> bool:
        """Take a line that declares a prefix; whether it is one, and declares something new."""
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
        """A name as it is written."""
        return f"{self._prefixes[name.uri]}:{name.local}" if name.uri else name.local

    def name(self, label: str) -> Name | None:
        """The name that is written so; ``None`` where it is no name, or its prefix unknown."""
        if not LABEL.fullmatch(label):
            return None
        prefix, _, local = label.rpartition(":")
        if prefix and prefix not in self._uris:
            return None
        return Name(self._uris[prefix] if prefix else "", local)

    def path_text(self, path: NodePath) -> str:
        """A path as it is written: ``/a/p:b``; ``/`` is the node above the root."""
        return "/" + "/".join(map(self.label, path))

    def place_text(self, place: Place) -> str:
        """A place as it is written: ``/a/p:b`` or ``/a/p:b/@c``."""
        if place.attribute is None:
            return self.path_text(place.path)
        return f"{self.path_text(place.path)}/@{self.label(place.attribute)}"

    def place(self, text: str) -> Place | None:
        """The place that is written so; ``None`` where it is no place."""
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
