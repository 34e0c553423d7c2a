"""Parses queries with the native core, or with the reference if it is missing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from penstock.errors import error
from penstock.language.source_position import position_of
from penstock.language.xpath.ast import Query
from penstock.language.xpath.native_tree import query_of
from penstock.language.xpath.normal_form import normalise
from penstock.language.xpath.reference import parser as reference
from penstock.native import native


def parse(
    text: str,
    *,
    namespaces: Mapping[str, str] | None = None,
    default_namespace: str | None = None,
) -> Query:
    """Parses an XPath query.

    Parameters
    ----------
    text
        An XPath expression of the supported fragment. Relative paths start at the document
        node, like absolute ones.
    namespaces
        Namespace URIs by prefix. ``xml`` is predefined.
    default_namespace
        The namespace of element names without a prefix; defaults to none. Attribute names
        without a prefix are in no namespace.

    Raises
    ------
    QueryError
        The query is outside the fragment; ``where`` is the position.

    Examples
    --------
    >>> from penstock.language import parse
    >>> parse("a//b[@c = 'x']") == parse("/child::a//b[ 'x' = @c ]")
    True
    >>> from penstock.errors import QueryError
    >>> try:
    ...     parse("/a[(b | c) = 'x']")
    ... except QueryError as refused:
    ...     print(refused)
    a union cannot be compared at line 1, column 12 [query.comparison]
    """
    return _parsed(text, namespaces, default_namespace, normal=False)


def parse_normal(
    text: str,
    *,
    namespaces: Mapping[str, str] | None = None,
    default_namespace: str | None = None,
) -> Query:
    """Parses a query to its normal form: ``normalise(parse(text))``, but faster.

    Parameters as for :func:`parse`.

    Examples
    --------
    >>> from penstock.language import parse_normal
    >>> parse_normal("a[b and c]") == parse_normal("/a[c][./b]")
    True
    """
    return _parsed(text, namespaces, default_namespace, normal=True)


def _parsed(
    text: str, namespaces: Mapping[str, str] | None, default_namespace: str | None, *, normal: bool
) -> Query:
    tree = refusal = None
    if native is not None:
        # The native core does not accept lone surrogates; the reference reports their position.
        with suppress(UnicodeEncodeError):
            bindings = list((namespaces or {}).items())
            tree, refusal = native.parse_query(text, bindings, default_namespace or "", normal)
    if tree is not None:
        return query_of(tree)
    if refusal is not None:
        code, message, offset = refusal
        raise error(code, message, None if offset is None else position_of(text, offset))
    query = reference.parse(text, namespaces=namespaces, default_namespace=default_namespace)
    return normalise(query) if normal else query
