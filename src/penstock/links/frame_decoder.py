"""The incremental decoder: bytes in any slices, frames out."""

from __future__ import annotations

from typing import Final

from penstock.errors import LinkError
from penstock.links.frames import MESSAGE_FIELDS_BYTES, PREAMBLE, PREFIX, Frame, FrameType
from penstock.links.limits import CONTROL_FRAME_BYTES, LinkLimits
from penstock.links.link_errors import link_error

_TYPES: Final = {int(each): each for each in FrameType}


class FrameDecoder:
    r"""Cuts a stream of bytes into frames.

    It buffers at most one incomplete frame besides what was fed last, and refuses a frame by its
    prefix: a length past the limit is never waited for. After an error it stays refused.

    >>> decoder = FrameDecoder(LinkLimits())
    >>> decoder.feed(PREAMBLE + b"\0\0\0\2\6")
    >>> decoder.next_frame()
    >>> decoder.feed(b"ab")
    >>> decoder.next_frame()
    Frame(type=<FrameType.BODY: 6>, payload=b'ab')
    """

    __slots__ = (
        "_buffer",
        "_error",
        "_established",
        "_limits",
        "_needed",
        "_offset",
        "_payload_max",
        "_type",
    )

    def __init__(self, limits: LinkLimits) -> None:
        self._limits = limits
        self._buffer = bytearray()
        self._offset = 0
        self._type: FrameType | None = None
        """Type of the frame whose payload comes next; ``None`` before a prefix."""
        self._needed = 0
        """Bytes of that payload."""
        self._payload_max: dict[FrameType, int] | None = None
        """``None`` before the preamble."""
        self._established = False
        self._error: LinkError | None = None

    def allow_messages(self) -> None:
        """Raises the limits from those of the handshake to those of an established connection."""
        assert self._payload_max is not None
        self._established = True
        self._payload_max[FrameType.MESSAGE] = MESSAGE_FIELDS_BYTES + self._limits.header_bytes
        self._payload_max[FrameType.BODY] = self._limits.frame_bytes

    @property
    def buffered(self) -> int:
        """Bytes that wait for the rest of their frame, or for :meth:`next_frame`."""
        return len(self._buffer) - self._offset

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Adds bytes from the connection."""
        if self._error is None:
            self._buffer += data

    def next_frame(self) -> Frame | None:
        """Returns the next complete frame, or ``None`` if there is none yet.

        Raises
        ------
        PeerLinkError
            The bytes are not frames, or a frame exceeds a limit.
        """
        if self._error is None:
            try:
                return self._next_frame()
            except LinkError as problem:
                self._error = problem
                self._buffer = bytearray()
                self._offset = 0
        raise self._error

    def _next_frame(self) -> Frame | None:
        available = len(self._buffer) - self._offset
        if self._payload_max is None:
            if not self._read_preamble(available):
                return None
            available -= len(PREAMBLE)
        if self._type is None:
            if available < PREFIX.size:
                self._discard_read()
                return None
            self._read_prefix()
            available -= PREFIX.size
        if available < self._needed:
            self._discard_read()
            return None
        assert self._type is not None
        end = self._offset + self._needed
        frame = Frame(self._type, bytes(memoryview(self._buffer)[self._offset : end]))
        self._offset = end
        self._type = None
        return frame

    def _read_preamble(self, available: int) -> bool:
        if bytes(self._buffer[: len(PREAMBLE)]) != PREAMBLE[:available]:
            raise link_error("link.preamble", f"the connection begins with {_shown(self._buffer)}")
        if available < len(PREAMBLE):
            return False
        self._offset = len(PREAMBLE)
        self._payload_max = dict.fromkeys(FrameType, CONTROL_FRAME_BYTES)
        return True

    def _read_prefix(self) -> None:
        assert self._payload_max is not None
        length, number = PREFIX.unpack_from(self._buffer, self._offset)
        type_ = _TYPES.get(number)
        if type_ is None:
            raise link_error("link.frame-type", f"frame of type {number}")
        if length > self._payload_max[type_]:
            too_long = type_ is FrameType.MESSAGE and self._established
            code = "link.header-bytes" if too_long else "link.frame-bytes"
            raise link_error(
                code,
                f"a {type_.name} frame has {length} bytes, more than {self._payload_max[type_]}",
            )
        self._offset += PREFIX.size
        self._type = type_
        self._needed = length

    def _discard_read(self) -> None:
        # Once per feed and not per frame: deleting moves the rest of the buffer.
        if self._offset:
            del self._buffer[: self._offset]
            self._offset = 0


def _shown(data: bytearray) -> str:
    return repr(bytes(data[:16]))
