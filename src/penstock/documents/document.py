"""Documents, headers and dead letters."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote

from penstock.errors import PenstockError, Where, error

__all__ = ["DeadLetter", "Document", "Header"]


@dataclass(frozen=True, slots=True, kw_only=True)
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

    def __post_init__(self) -> None:
        # Copied, so that later changes of the caller's mapping do not affect the header.
        object.__setattr__(self, "fields", dict(self.fields))
        if not (self.publisher.isascii() and self.schema.isascii() and self.id.isascii()):
            for name in ("publisher", "schema", "id"):
                _check_text(name, getattr(self, name))
        for name, value in self.fields.items():
            if not (name.isascii() and value.isascii()):
                _check_text(f"field {name!a}", name + value)


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


@dataclass(frozen=True, slots=True)
class Document:
    """A publisher's bytes, which are delivered unchanged, with their header."""

    content: bytes
    header: Header

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

    @classmethod
    def of(cls, document: Document, error: PenstockError) -> DeadLetter:
        """Creates the dead letter of ``document`` for ``error``."""
        return cls(document, error.code, error.message, error.where, error.hint)
