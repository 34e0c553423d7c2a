"""Validates the prefix map of a query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.errors import error
from penstock.language.xpath.lexical import NCNAME

XML_NAMESPACE: Final = "http://www.w3.org/XML/1998/namespace"
"""The namespace of the prefix ``xml``."""

XML_SCHEMA_NAMESPACE: Final = "http://www.w3.org/2001/XMLSchema"
"""The namespace of the functions ``xs:date()`` and ``xs:dateTime()``."""

_XMLNS_NAMESPACE: Final = "http://www.w3.org/2000/xmlns/"


def check_namespaces(
    namespaces: Mapping[str, str] | None, default_namespace: str | None
) -> dict[str, str]:
    """Returns the prefix map of a query, including ``xml``.

    Raises
    ------
    QueryError
        ``query.namespaces`` if a prefix is not a name, or XML forbids the binding.
    """
    for prefix, uri in (namespaces or {}).items():
        problem = _problem(prefix, uri)
        if problem:
            raise error("query.namespaces", problem)
    if default_namespace == _XMLNS_NAMESPACE:
        raise error("query.namespaces", "the default namespace must not be that of `xmlns`")
    return {**(namespaces or {}), "xml": XML_NAMESPACE}


def _problem(prefix: str, uri: str) -> str | None:
    if not NCNAME.fullmatch(prefix):
        return f"`{prefix}` is not a valid prefix"
    if prefix == "xmlns" or uri == _XMLNS_NAMESPACE:
        return "`xmlns` and its namespace cannot be bound"
    if (prefix == "xml") != (uri == XML_NAMESPACE):
        return "`xml` and its namespace can only be bound to each other"
    if not uri:
        return f"the prefix `{prefix}` must not be bound to an empty namespace"
    return None
