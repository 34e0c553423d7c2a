"""Validates the prefix map of a query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.errors import error
from penstock.language.limits import MAX_NAMESPACE_BYTES, MAX_NAMESPACES
from penstock.language.source_position import utf8_size
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
    if len(namespaces or {}) > MAX_NAMESPACES:
        raise error("query.namespaces", f"more than {MAX_NAMESPACES} prefixes")
    for prefix, uri in (namespaces or {}).items():
        problem = _problem(prefix, uri)
        if problem:
            raise error("query.namespaces", problem)
    problem = _text_problem(default_namespace or "")
    if problem:
        raise error("query.namespaces", problem)
    if default_namespace == _XMLNS_NAMESPACE:
        raise error("query.namespaces", "the default namespace must not be that of `xmlns`")
    return {**(namespaces or {}), "xml": XML_NAMESPACE}


def _text_problem(text: str) -> str | None:
    size = utf8_size(text)
    if size is None:
        return "a prefix or namespace contains a lone surrogate"
    if size > MAX_NAMESPACE_BYTES:
        return f"a prefix or namespace has more than {MAX_NAMESPACE_BYTES} bytes"
    return None


def _problem(prefix: str, uri: str) -> str | None:
    problem = _text_problem(prefix) or _text_problem(uri)
    if problem:
        return problem
    if not NCNAME.fullmatch(prefix):
        return f"`{prefix}` is not a valid prefix"
    if prefix == "xmlns" or uri == _XMLNS_NAMESPACE:
        return "`xmlns` and its namespace cannot be bound"
    if (prefix == "xml") != (uri == XML_NAMESPACE):
        return "`xml` and its namespace can only be bound to each other"
    if not uri:
        return f"the prefix `{prefix}` must not be bound to an empty namespace"
    return None
