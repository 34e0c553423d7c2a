"""From the prefixes of a DTD to namespace URIs."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import Where, error
from penstock.language.relations.universe import Name
from penstock.schema.model import Attribute, Default

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
XMLNS_NAMESPACE = "http://www.w3.org/2000/xmlns/"


def is_namespace_declaration(attribute: str) -> bool:
    """Whether an attribute of this name declares a namespace, and so is none to XPath."""
    return attribute == "xmlns" or attribute.startswith("xmlns:")


def fixed_namespaces(attributes: Mapping[str, Mapping[str, Attribute]]) -> dict[str, str]:
    """The prefixes that a DTD fixes by ``xmlns`` attributes; one meaning a prefix in all of it."""
    found: dict[str, str] = {}
    for label, declared in attributes.items():
        for attribute in declared.values():
            if not is_namespace_declaration(attribute.name) or attribute.default != Default.FIXED:
                continue
            prefix = attribute.name.partition(":")[2]
            uri = attribute.value or ""
            if found.setdefault(prefix, uri) != uri:
                raise error(
                    "schema.namespace",
                    f"{attribute.name} of {label!r} is {uri!r}, elsewhere {found[prefix]!r}",
                )
    return found


class Resolver:
    """Turns labels into names by a map of prefixes, in which ``xml`` needs no entry."""

    def __init__(self, namespaces: Mapping[str, str]) -> None:
        self._namespaces = {"": "", "xml": XML_NAMESPACE, **namespaces}

    def element(self, label: str, where: Where | None) -> Name:
        """The name of an element, in the default namespace where it has no prefix."""
        prefix, _, local = label.rpartition(":")
        return (self._uri(prefix, label, where), local)

    def attribute(self, label: str, where: Where | None) -> Name:
        """The name of an attribute, in no namespace where it has no prefix."""
        prefix, _, local = label.rpartition(":")
        return (self._uri(prefix, label, where) if prefix else "", local)

    def _uri(self, prefix: str, label: str, where: Where | None) -> str:
        if prefix not in self._namespaces:
            raise error("schema.namespace", f"the prefix of {label!r} has no URI", where)
        return self._namespaces[prefix]
