"""URLs of documents as a user writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from penstock.errors import error
from penstock.links import TcpAddress
from penstock.service.addresses import is_loopback

DOCUMENT_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""Names of documents; they are names of files, too."""


@dataclass(frozen=True, slots=True)
class DocumentUrl:
    """A document of a server."""

    server: str
    """Scheme, host and port, and the path in front of the document, if any."""
    document: str

    def __str__(self) -> str:
        return f"{self.server}/{quote(self.document)}"

    @property
    def host(self) -> str:
        """The name or address of the server."""
        return urlsplit(self.server).hostname or ""

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine."""
        return is_loopback(TcpAddress(self.host, 0))

    @property
    def is_encrypted(self) -> bool:
        """Whether TLS protects the connection."""
        return self.server.startswith("https:")

    def resource(self, part: str = "") -> str:
        """The URL of a part of the HTTP interface."""
        return f"{self.server}/documents/{quote(self.document, safe='')}{part}"


def parse_url(text: str) -> DocumentUrl:
    """``http://HOST:PORT/DOCUMENT``, or with ``https``.

    Raises
    ------
    SyncError
        ``sync.url``

    Examples
    --------
    >>> parse_url("http://127.0.0.1:8480/catalogue").document
    'catalogue'
    """
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise error("sync.url", f"`{text}` is not a URL") from None
    folder, _, document = parts.path.rstrip("/").rpartition("/")
    document = unquote(document)
    is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
    is_named = DOCUMENT_NAME.fullmatch(document) is not None
    if parts.scheme not in ("http", "https") or not (parts.hostname and is_named and is_plain):
        raise error("sync.url", f"`{text}` is not the URL of a document")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    place = host if port is None else f"{host}:{port}"
    return DocumentUrl(f"{parts.scheme}://{place}{folder}", document)
