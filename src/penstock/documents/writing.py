"""Serialises events as XML."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

from penstock.documents.events import EndElement, Event, Name, StartElement, Text, TextBreak

__all__ = ["write"]

XML_URI = "http://www.w3.org/XML/1998/namespace"
VALUE_ESCAPES = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
TEXT_ESCAPES = {"\r": "&#13;"}
EMPTY_COMMENT = "<!---->"


def write(events: Iterable[Event]) -> str:
    """Serialise events as XML, with the prefixes in scope, declared where they come into scope.

    Comments, processing instructions and document type declarations have no events and are omitted;
    an empty comment replaces those that separate two texts.
    """
    parts: list[str] = []
    names: list[str] = []
    scopes: list[dict[str, str]] = [{}]
    before: Event | None = None  # the last event other than a TextBreak
    is_broken = False
    for event in events:
        if isinstance(event, TextBreak):
            is_broken = True
            continue
        if isinstance(event, StartElement):
            scope = dict(event.namespaces)
            name = _qualified(event.name, scope, is_attribute=False)
            parts.append(f"<{name}{_declarations(scope, scopes[-1])}")
            for attribute in event.attributes:
                own = _qualified(attribute.name, scope, is_attribute=True)
                parts.append(f' {own}="{escape(attribute.value, VALUE_ESCAPES)}"')
            parts.append(">")
            names.append(name)
            scopes.append(scope)
        elif isinstance(event, EndElement):
            parts.append(f"</{names.pop()}>")
            scopes.pop()
        elif isinstance(event, Text):
            if is_broken and isinstance(before, Text):
                parts.append(EMPTY_COMMENT)
            parts.append(escape(event.text, TEXT_ESCAPES))
        before, is_broken = event, False
    return "".join(parts)


def _declarations(scope: dict[str, str], outer: dict[str, str]) -> str:
    """The declarations by which ``scope`` differs from ``outer``."""
    changed = {prefix: uri for prefix, uri in scope.items() if outer.get(prefix) != uri}
    if "" in outer and "" not in scope:
        changed[""] = ""
    return "".join(
        f' xmlns{":" if prefix else ""}{prefix}="{escape(uri, VALUE_ESCAPES)}"'
        for prefix, uri in sorted(changed.items())
    )


def _qualified(name: Name, scope: dict[str, str], *, is_attribute: bool) -> str:
    """``name`` with a prefix bound to its namespace; one exists because the document used it."""
    if not name.uri:
        return name.local
    if name.uri == XML_URI:
        return f"xml:{name.local}"
    prefixes = [prefix for prefix, uri in scope.items() if uri == name.uri]
    prefix = next(p for p in sorted(prefixes) if p or not is_attribute)
    return f"{prefix}:{name.local}" if prefix else name.local
