"""Namespaces in scope: one dictionary per open element."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.documents.events import Name
from penstock.errors import error

__all__ = ["Scope", "split"]

XML = "http://www.w3.org/XML/1998/namespace"
XMLNS = "http://www.w3.org/2000/xmlns/"


class Scope:
    """The namespaces in scope while elements are entered and left."""

    def __init__(self) -> None:
        # Elements without declarations share the scope of their parent, and its bindings.
        self._scopes: list[dict[str, str]] = [{"xml": XML}]
        self._bindings: list[tuple[tuple[str, str], ...]] = [()]

    @staticmethod
    def is_declaration(attribute: str) -> bool:
        """Whether an attribute of this name declares a namespace."""
        return attribute == "xmlns" or attribute.startswith("xmlns:")

    def enter(self, attributes: Mapping[str, str]) -> None:
        """Enter an element with these attributes."""
        declared = {name: uri for name, uri in attributes.items() if self.is_declaration(name)}
        if not declared:
            self._scopes.append(self._scopes[-1])
            self._bindings.append(self._bindings[-1])
            return
        scope = dict(self._scopes[-1])
        for name, uri in declared.items():
            prefix = split(name)[1] if ":" in name else ""
            _check(prefix, uri)
            scope[prefix] = uri
        self._scopes.append(scope)
        self._bindings.append(
            tuple(sorted((p, uri) for p, uri in scope.items() if uri and p != "xml"))
        )

    def leave(self) -> None:
        """Leave the element entered last."""
        self._scopes.pop()
        self._bindings.pop()

    def bindings(self) -> tuple[tuple[str, str], ...]:
        """Prefixes and URIs in scope, sorted, without ``xml``."""
        return self._bindings[-1]

    def element(self, written: str) -> Name:
        """The expanded name of an element."""
        prefix, local = split(written)
        if prefix == "xmlns":
            raise error("namespace.reserved", "an element must not have the prefix xmlns")
        return Name(self._uri(prefix), local)

    def attribute(self, written: str) -> Name:
        """The expanded name of an attribute."""
        prefix, local = split(written)
        return Name(self._uri(prefix) if prefix else "", local)

    def _uri(self, prefix: str) -> str:
        uri = self._scopes[-1].get(prefix, "")
        if prefix and not uri:
            raise error("namespace.prefix", f'the prefix "{prefix}" is not declared')
        return uri


def split(written: str) -> tuple[str, str]:
    """Prefix and local part of a qualified name."""
    prefix, colon, local = written.partition(":")
    if not colon:
        return "", written
    if not prefix or not local or ":" in local or not (local[0].isalpha() or local[0] == "_"):
        message = f'"{written}" is not a qualified name'
        raise error("namespace.colon", message)
    return prefix, local


def _check(prefix: str, uri: str) -> None:
    allowed = uri == XML if prefix == "xml" else prefix != "xmlns" and uri not in (XML, XMLNS)
    if not allowed:
        raise error("namespace.reserved", f'xmlns:{prefix} must not declare "{uri}"')
    if prefix and not uri:
        raise error("namespace.empty", f"xmlns:{prefix} must not declare an empty namespace")
