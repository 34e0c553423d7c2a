"""Documents as messages: the header is encoded, the content is passed on as it is."""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.documents import Document
from penstock.documents.document import checked_header
from penstock.links.link_errors import link_error
from penstock.links.message import Message

__all__ = ["document_from_message", "document_to_message"]


class _DocumentHeader(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    publisher: str
    schema: str
    id: str
    fields: dict[str, str]
    annotations: bytes = b""


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(_DocumentHeader)


def document_to_message(document: Document, *, annotations: bytes = b"", kind: int = 0) -> Message:
    """Returns the message of a document.

    Parameters
    ----------
    document
        Its content becomes the body, without a copy.
    annotations
        What a router adds for the next one; opaque here.
    kind
        The application's number for messages of this kind.

    Examples
    --------
    >>> from penstock.documents import Header
    >>> document = Document(b"<a/>", Header(publisher="wire", id="7"))
    >>> message = document_to_message(document, annotations=b"x")
    >>> message.body
    b'<a/>'
    >>> document_from_message(message) == (document, b"x")
    True
    """
    header = document.header
    payload = _DocumentHeader(
        header.publisher, header.schema, header.id, dict(header.fields), annotations
    )
    return Message(header=_encoder.encode(payload), body=document.content, kind=kind)


def document_from_message(message: Message) -> tuple[Document, bytes]:
    """Returns the document of a message and its annotations, or raises ``link.document``."""
    try:
        decoded = _decoder.decode(message.header)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        raise link_error("link.document", f"the header is malformed: {problem}") from None
    header = checked_header(decoded.publisher, decoded.schema, decoded.id, decoded.fields)
    return Document(message.body, header), decoded.annotations
