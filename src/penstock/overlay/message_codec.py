"""Messages of peers as messages of a link."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from penstock.errors import OverlayError, PenstockError, error
from penstock.links.message import Message
from penstock.overlay.interest import Interest, InterestModel
from penstock.overlay.peer_messages import AnyPeerMessage, Forward, Replay, Replayed
from penstock.overlay.window_bitmap import WindowBitmap

OVERLAY_MESSAGE: Final = 64
"""The kind of overlay messages on a link."""


class MessageCodec:
    """Encodes and decodes messages, with the interests and documents of one model.

    The content of a forwarded document is the body of its message and is not copied. Other messages
    have no header and are the body, because links bound headers more narrowly.

    Examples
    --------
    >>> from penstock.overlay import BucketDocument, BucketModel
    >>> from penstock.overlay.peer_messages import Edge
    >>> codec = MessageCodec(BucketModel())
    >>> forward = Forward("source", Edge(1, 2), 1, 7, 5, BucketDocument(7, 0b11))
    >>> codec.decode(codec.encode(forward)) == forward
    True
    """

    def __init__(self, model: InterestModel) -> None:
        self._model = model
        self._encoder = msgspec.msgpack.Encoder(enc_hook=self._encoded)
        self._decoder: msgspec.msgpack.Decoder[AnyPeerMessage] = msgspec.msgpack.Decoder(
            AnyPeerMessage, dec_hook=self._decoded
        )

    def encode(self, message: AnyPeerMessage) -> Message:
        """The message of a link."""
        if type(message) is Forward:
            header, body = self._model.encode_document(message.document)
            message = msgspec.structs.replace(message, document=header)
            return Message(header=self._encoder.encode(message), body=body, kind=OVERLAY_MESSAGE)
        if type(message) is Replay:
            documents = tuple(
                Replayed(each.sequence, self._model.encode_document(each.document))
                for each in message.documents
            )
            message = msgspec.structs.replace(message, documents=documents)
        return Message(body=self._encoder.encode(message), kind=OVERLAY_MESSAGE)

    def decode(self, message: Message) -> AnyPeerMessage:
        """The message of a peer.

        Raises
        ------
        OverlayError
            ``overlay.message``: it is malformed.
        """
        try:
            decoded = self._decoder.decode(message.header or message.body)
            if (type(decoded) is Forward) != bool(message.header):
                raise error("overlay.message", "only a document has a body of its own")
            if type(decoded) is Forward:
                document = self._document(decoded.document, message.body)
                return msgspec.structs.replace(decoded, document=document)
            if type(decoded) is Replay:
                documents = tuple(
                    Replayed(each.sequence, self._replayed(each.document))
                    for each in decoded.documents
                )
                return msgspec.structs.replace(decoded, documents=documents)
        except OverlayError:
            raise
        except (msgspec.MsgspecError, PenstockError, ValueError, RecursionError) as problem:
            raise error("overlay.message", f"malformed message: {problem}") from None
        return decoded

    def _replayed(self, encoded: object) -> object:
        match encoded:
            case (bytes(header), bytes(body)) | [bytes(header), bytes(body)]:
                return self._document(header, body)
            case _:
                raise error("overlay.message", "malformed document of a replay")

    def _document(self, header: object, body: bytes) -> object:
        if not isinstance(header, bytes):
            raise error("overlay.message", "malformed header of a document")
        return self._model.decode_document(header, body)

    def _encoded(self, value: object) -> object:
        if isinstance(value, Interest):
            return self._model.encode_interest(value)
        if isinstance(value, WindowBitmap):
            return value.encode()
        raise NotImplementedError(f"no message contains a {type(value).__name__}")

    def _decoded(self, kind: type, value: Any) -> object:  # noqa: ANN401
        if kind is Interest:
            if not isinstance(value, bytes):
                raise error("overlay.message", "malformed interest")
            return self._model.decode_interest(value)
        if kind is WindowBitmap:
            return WindowBitmap.decode(value)
        raise NotImplementedError(f"no message contains a {kind.__name__}")
