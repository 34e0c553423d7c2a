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
        "_begun",
        "_error",
        "_established",
        "_fed",
        "_limits",
        "_needed",
        "_offset",
        "_partial",
        "_payload_max",
        "_type",
    )

    def __init__(self, limits: LinkLimits) -> None:
        self._limits = limits
        self._fed = memoryview(b"")
        self._offset = 0
        """How much of what was fed last has been read."""
        self._partial = bytearray()
        """The beginning of the part that is read next, if it came with earlier bytes."""
        self._begun = False
        """Whether the preamble has been read."""
        self._type: FrameType | None = None
        """Type of the frame whose payload comes next; ``None`` before a prefix."""
        self._needed = len(PREAMBLE)
        """Bytes of the part that is read next: the preamble, a prefix or a payload."""
        self._payload_max = dict.fromkeys(FrameType, CONTROL_FRAME_BYTES)
        self._established = False
        self._error: LinkError | None = None

    def allow_messages(self) -> None:
        """Raises the limits from those of the handshake to those of an established connection."""
        self._established = True
        self._payload_max[FrameType.MESSAGE] = MESSAGE_FIELDS_BYTES + self._limits.header_bytes
        self._payload_max[FrameType.BODY] = self._limits.frame_bytes

    @property
    def buffered(self) -> int:
        """Bytes that wait for the rest of their frame, or for :meth:`next_frame`."""
        return len(self._partial) + len(self._fed) - self._offset

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Adds bytes; they must not change until :meth:`next_frame` has returned ``None``."""
        if self._error is None:
            left = self._fed[self._offset :]
            self._fed = memoryview(bytes(left) + bytes(data) if left else data)
            self._offset = 0

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
                self._fed = memoryview(b"")
                self._offset = 0
                self._partial.clear()
        raise self._error

    def _next_frame(self) -> Frame | None:
        while (part := self._next_part()) is not None:
            if self._type is not None:
                frame = Frame(self._type, part)
                self._type = None
                self._needed = PREFIX.size
                return frame
            if self._begun:
                self._read_prefix(part)
            else:
                self._begun = True
                self._needed = PREFIX.size
        return None

    def _next_part(self) -> bytes | None:
        """The next ``_needed`` bytes; copied once unless they came in pieces."""
        end = self._offset + self._needed - len(self._partial)
        piece = self._fed[self._offset : end]
        complete = end <= len(self._fed)
        self._offset = min(end, len(self._fed))
        if complete and not self._partial:
            part = bytes(piece)
        else:
            self._partial += piece
            part = bytes(self._partial) if complete else b""
            if complete:
                self._partial.clear()
        if not self._begun:
            self._check_preamble(part or bytes(self._partial))
        if complete:
            return part
        # Whoever fed it may change it now.
        self._fed = memoryview(b"")
        self._offset = 0
        return None

    def _check_preamble(self, part: bytes) -> None:
        if not PREAMBLE.startswith(part):
            raise link_error("link.preamble", f"the connection begins with {part!r}")

    def _read_prefix(self, prefix: bytes) -> None:
        length, number = PREFIX.unpack(prefix)
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
        self._type = type_
        self._needed = length
