"""Documents, headers and dead letters."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from dataclasses import fields as dataclass_fields
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from penstock.errors import DocumentError, PenstockError, Where, error

__all__ = ["DeadLetter", "Document", "Header"]


_NO_FIELDS: Final[Mapping[str, str]] = {}

# The constructors of headers and documents are written out: routers make one of each for every
# document that arrives, and a generated constructor of a frozen class takes twice as long.


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Header:
    """Metadata that the publisher attaches to a document."""

    publisher: str
    """Name of the publisher."""

    schema: str = ""
    """Name of the document's schema; empty if irrelevant."""

    id: str = ""
    """Identity assigned by the publisher; if empty, the digest of the bytes is used."""

    fields: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Further fields by name."""

    def __init__(
        self,
        *,
        publisher: str,
        schema: str = "",
        id: str = "",  # noqa: A002
        fields: Mapping[str, str] = _NO_FIELDS,
    ) -> None:
        _set_publisher(self, publisher)
        _set_schema(self, schema)
        _set_id(self, id)
        # Copied, so that later changes of the caller's mapping do not affect the header.
        _set_fields(self, dict(fields))
        if not (publisher.isascii() and schema.isascii() and id.isascii()):
            for name, value in (("publisher", publisher), ("schema", schema), ("id", id)):
                _check_text(name, value)
        if fields:
            for name, value in fields.items():
                if not (name.isascii() and value.isascii()):
                    _check_text(f"field {name!a}", name + value)


def checked_header(publisher: str, schema: str, id_: str, fields: dict[str, str]) -> Header:
    """A header of strings that were decoded from UTF-8, and so have an encoding.

    Parameters
    ----------
    fields
        Not copied: nobody else may change it.
    """
    header = object.__new__(Header)
    _set_publisher(header, publisher)
    _set_schema(header, schema)
    _set_id(header, id_)
    _set_fields(header, fields)
    return header


def slot_setters(of: type) -> Iterator[Callable[[object, object], None]]:
    """The functions that set the slots of a frozen class, in the order of its fields."""
    return (vars(of)[each.name].__set__ for each in dataclass_fields(of))


_set_publisher, _set_schema, _set_id, _set_fields = slot_setters(Header)


def _check_text(name: str, value: str) -> None:
    """Raises an error if a string has no encoding: a lone surrogate has none."""
    try:
        value.encode()
    except UnicodeEncodeError:
        message = f"the {name} of the header has a lone surrogate"
        raise error("document.header", message) from None


@lru_cache(maxsize=1_024)
def _quoted(publisher: str) -> str:
    return quote(publisher, safe="")


@dataclass(frozen=True, slots=True, weakref_slot=True, init=False)
class Document:
    """A publisher's bytes, which are delivered unchanged, with their header."""

    content: bytes
    header: Header

    def __init__(self, content: bytes, header: Header) -> None:
        _set_content(self, content)
        _set_header(self, header)

    @property
    def identity(self) -> str:
        """Publisher and id, or publisher and digest: republished content has the same identity.

        >>> Document(b"<a/>", Header(publisher="me", id="7")).identity
        'me/7'
        """
        return f"{_quoted(self.header.publisher)}/{self.header.id or self._digest()}"

    def _digest(self) -> str:
        digest = hashlib.sha256(self.header.publisher.encode())
        # This byte never occurs in UTF-8, so name and content cannot be confused.
        digest.update(b"\xff")
        digest.update(self.content)
        return f"sha256:{digest.hexdigest()}"


_set_content, _set_header = slot_setters(Document)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A refused document with the reason; the rest of its batch or stream is unaffected."""

    document: Document
    code: str
    """The error's stable code."""

    message: str
    where: Where | None
    """Byte offset, line and column, if the error has a position."""

    hint: str
    """How to fix it."""

    report: str | None = None
    """What to send to the maintainers, as JSON, if the cause is a defect of Penstock."""

    @classmethod
    def of(cls, document: Document, error: PenstockError) -> DeadLetter:
        """Creates the dead letter of ``document`` for ``error``."""
        report = error.report if isinstance(error, DocumentError) else None
        return cls(document, error.code, error.message, error.where, error.hint, report)
