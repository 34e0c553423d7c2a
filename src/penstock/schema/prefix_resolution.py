"""Resolves the prefixes of a DTD to namespace URIs."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import Where, error
from penstock.language.relations.path_universe import Name
from penstock.schema.content_model import Attribute, Default
from penstock.schema.dtd_scanner import NAME

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
XMLNS_NAMESPACE = "http://www.w3.org/2000/xmlns/"


def is_namespace_declaration(attribute: str) -> bool:
    """Whether an attribute of this name is a namespace declaration."""
    return attribute == "xmlns" or attribute.startswith("xmlns:")


def fixed_namespaces(attributes: Mapping[str, Mapping[str, Attribute]]) -> dict[str, str]:
    """The prefixes that a DTD fixes with ``xmlns`` attributes; each must have a single URI."""
    found: dict[str, str] = {}
    for label, declared in attributes.items():
        for attribute in declared.values():
            if not is_namespace_declaration(attribute.name) or attribute.default != Default.FIXED:
                continue
            prefix = attribute.name.partition(":")[2]
            uri = attribute.value or ""
            if uri == XMLNS_NAMESPACE:
                message = f"{attribute.name} of {label!r} is the namespace of declarations"
                raise error("schema.namespace", message)
            if found.setdefault(prefix, uri) != uri:
                raise error(
                    "schema.namespace",
                    f"{attribute.name} of {label!r} is {uri!r}, elsewhere {found[prefix]!r}",
                )
    return found


def _split(label: str, where: Where | None) -> tuple[str, str]:
    """Prefix and local name; XML alone would allow names such as ``:a``, ``a:2`` and ``a:b:c``."""
    prefix, colon, local = label.rpartition(":")
    if colon and (":" in prefix or not prefix or not NAME.fullmatch(local)):
        message = f"{label!r} is not a valid name in XML with namespaces"
        raise error("schema.namespace", message, where)
    return prefix, local


class Resolver:
    """Resolves labels with a prefix map; ``xml`` is predefined."""

    def __init__(self, namespaces: Mapping[str, str]) -> None:
        self._namespaces = {"": "", "xml": XML_NAMESPACE, **namespaces}

    def element(self, label: str, where: Where | None) -> Name:
        """The expanded name of an element; the default namespace applies."""
        prefix, local = _split(label, where)
        return (self._uri(prefix, label, where), local)

    def attribute(self, label: str, where: Where | None) -> Name:
        """The expanded name of an attribute; the default namespace does not apply."""
        prefix, local = _split(label, where)
        return (self._uri(prefix, label, where) if prefix else "", local)

    def _uri(self, prefix: str, label: str, where: Where | None) -> str:
        if prefix not in self._namespaces:
            raise error("schema.namespace", f"the prefix of {label!r} has no URI", where)
        return self._namespaces[prefix]
