"""Tests of header fields that a subscription requires besides its query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from penstock.documents import Document, Header
from penstock.errors import QueryError
from penstock.matching.limits import HEADER_TEST_CHARACTERS_MAX, HEADER_TESTS_MAX

HeaderFields: TypeAlias = Mapping[str, str]
"""The fields of a document's header, or the fields and values that a subscription requires."""

_UNTESTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

NO_FIELDS: Final[HeaderFields] = MappingProxyType({})


def fields_of(header: Header | HeaderFields | None, document: object = None) -> HeaderFields:
    """The fields of a header; ``None`` stands for the header of the document, if it has one.

    The publisher and the schema are fields too.
    """
    if header is None:
        header = document.header if isinstance(document, Document) else NO_FIELDS
    if isinstance(header, Header):
        return {**header.fields, "publisher": header.publisher, "schema": header.schema}
    return header


def failed_tests(where: HeaderFields, fields: HeaderFields) -> dict[str, str | None]:
    """The tested fields that do not have the required value, with their actual values."""
    return {name: fields.get(name) for name, value in where.items() if fields.get(name) != value}


def is_testable(name: str, value: str) -> bool:
    """Whether a subscription can test that a field has this value."""
    return all(
        len(text) <= HEADER_TEST_CHARACTERS_MAX
        # Control characters separate tests in an index; surrogates are not text.
        and (text.isprintable() or not _UNTESTABLE.search(text))
        for text in (name, value)
    )


def header_test_error(where: HeaderFields) -> QueryError | None:
    """The error of invalid tests, else ``None``."""
    if len(where) > HEADER_TESTS_MAX:
        message = f"{len(where)} tests of header fields, more than {HEADER_TESTS_MAX}"
        return QueryError("subscription.where", message)
    for name, value in where.items():
        if not isinstance(name, str) or not isinstance(value, str) or not name:
            return QueryError("subscription.where", "a test needs a field name and a value")
        if not is_testable(name, value):
            return QueryError(
                "subscription.where",
                f"the test of {name[:100]!r} contains a control character or more than"
                f" {HEADER_TEST_CHARACTERS_MAX} characters",
            )
    return None


def tests_per_query(
    where: HeaderFields | Sequence[HeaderFields] | None, count: int
) -> Sequence[HeaderFields]:
    """The tests of each of ``count`` queries; empty if no query has any."""
    if not where:
        return ()
    tests = [where] * count if isinstance(where, Mapping) else list(where)
    return tests if any(tests) else ()
