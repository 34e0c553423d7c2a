"""Documents, their headers, and what becomes of those that are refused."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from penstock.errors import PenstockError, Where

__all__ = ["DeadLetter", "Document", "Header"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a publisher says about a document, beside the document."""

    publisher: str
    """Who publishes it."""

    schema: str = ""
    """The name of its schema, empty where that does not matter."""

    id: str = ""
    """The identity that the publisher gives it; where empty, its bytes are its identity."""

    fields: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Anything else, by name."""

    def __post_init__(self) -> None:
        # A header is a value: what the caller does with his mapping later must not change it.
        object.__setattr__(self, "fields", dict(self.fields))


@dataclass(frozen=True, slots=True)
class Document:
    """A publisher's bytes, delivered unchanged, and their header."""

    content: bytes
    header: Header

    @property
    def identity(self) -> str:
        """Publisher and given id, or publisher and digest: publishing the same again is the same.

        >>> Document(b"<a/>", Header(publisher="me", id="7")).identity
        'me/7'
        """
        return f"{quote(self.header.publisher, safe='')}/{self.header.id or self._digest()}"

    def _digest(self) -> str:
        digest = hashlib.sha256(self.header.publisher.encode())
        # A publisher's name cannot hold this byte in UTF-8, so the two parts cannot be confused.
        digest.update(b"\xff")
        digest.update(self.content)
        return f"sha256:{digest.hexdigest()}"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A document that was refused, and why: it stops neither its batch nor its stream."""

    document: Document
    code: str
    """The error's stable code."""

    message: str
    where: Where | None
    """Byte offset, line and column, where the error has a place."""

    hint: str
    """What to do about it."""

    @classmethod
    def of(cls, document: Document, error: PenstockError) -> DeadLetter:
        """The dead letter that ``document`` becomes because of ``error``."""
        return cls(document, error.code, error.message, error.where, error.hint)
