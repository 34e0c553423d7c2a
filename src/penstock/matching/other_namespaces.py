"""Finds the namespaces in which a document uses a name that a query did not find."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.documents import Event, StartElement
from penstock.language.xpath.ast import Kind, NameTest
from penstock.matching.limits import OTHER_NAMESPACES_MAX


class OtherNamespaces:
    """The names of a document, read when they are first needed."""

    def __init__(self, read_events: Callable[[], Iterable[Event]]) -> None:
        self._read_events = read_events
        self._uris: dict[tuple[Kind, str], dict[str, None]] | None = None

    def of(self, kind: Kind, test: NameTest) -> tuple[str, ...]:
        """The namespaces, other than the test's, in which the document has the local name."""
        if test.local is None or test.uri is None:
            return ()
        if self._uris is None:
            self._uris = {}
            for event in self._read_events():
                if isinstance(event, StartElement):
                    self._add(Kind.ELEMENT, event.name.local, event.name.uri)
                    for attribute in event.attributes:
                        self._add(Kind.ATTRIBUTE, attribute.name.local, attribute.name.uri)
        found = [uri for uri in self._uris.get((kind, test.local), {}) if uri != test.uri]
        return tuple(found[:OTHER_NAMESPACES_MAX])

    def _add(self, kind: Kind, local: str, uri: str) -> None:
        assert self._uris is not None
        self._uris.setdefault((kind, local), {})[uri] = None
