"""Errors of links. The class says whose fault it was: ours, the peer's, or the network's."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, LinkError, LocalLinkError, PeerLinkError

ERRORS: dict[str, ErrorSpec] = {
    "link.preamble": ErrorSpec(
        PeerLinkError,
        "the peer does not speak the link protocol",
        "Check the address and whether both sides use TLS.",
    ),
    "link.version": ErrorSpec(
        PeerLinkError,
        "the peer speaks another version of the link protocol",
        "Run versions of Penstock on both sides that have a protocol version in common.",
    ),
    "link.frame-type": ErrorSpec(
        PeerLinkError,
        "a frame has an unknown type",
        "The link reconnects and resumes; if it happens again, compare both sides' versions.",
    ),
    "link.frame-bytes": ErrorSpec(
        PeerLinkError,
        "a frame is longer than the limit of its type",
        "If the peer is trusted, raise `LinkLimits(frame_bytes=...)`.",
    ),
    "link.frame-payload": ErrorSpec(
        PeerLinkError,
        "the payload of a frame is malformed",
        "The link reconnects and resumes; if it happens again, compare both sides' versions.",
    ),
    "link.header-bytes": ErrorSpec(
        PeerLinkError,
        "the header of a message is longer than the limit",
        "If the peer is trusted, raise `LinkLimits(header_bytes=...)`.",
    ),
    "link.message-bytes": ErrorSpec(
        PeerLinkError,
        "a message is longer than the limit",
        "If the peer is trusted, raise `LinkLimits(message_bytes=...)`.",
    ),
    "link.unexpected-frame": ErrorSpec(
        PeerLinkError,
        "the peer sent a frame that is not allowed in this state of the connection",
        "The link reconnects and resumes; if it happens again, compare both sides' versions.",
    ),
    "link.sequence": ErrorSpec(
        PeerLinkError,
        "a sequence number is missing",
        "The link reconnects and the missing messages are sent again.",
    ),
    "link.acknowledgement": ErrorSpec(
        PeerLinkError,
        "the peer acknowledged a message that was not sent",
        "The link reconnects; if it happens again, compare both sides' versions.",
    ),
    "link.window": ErrorSpec(
        PeerLinkError,
        "the peer sent more than the receive window allows",
        "The link reconnects and resumes; if it happens again, compare both sides' versions.",
    ),
    "link.checksum": ErrorSpec(
        PeerLinkError,
        "the checksum of a message is wrong",
        "The link reconnects and the message is sent again. Use TLS, which also protects the rest.",
    ),
    "link.authentication": ErrorSpec(
        PeerLinkError,
        "the peer did not prove that it knows the token",
        "Configure the same token for this pair of names on both sides.",
    ),
    "link.peer-name": ErrorSpec(
        PeerLinkError,
        "the peer has another name than expected, or a name that is in use",
        "Check the address, and give every router a name of its own.",
    ),
    "link.sessions": ErrorSpec(
        PeerLinkError,
        "there are more sessions than the limit",
        "Raise `LinkLimits(sessions=...)`, or accept fewer peers.",
    ),
    "link.resume": ErrorSpec(
        PeerLinkError,
        "the peer's state of the session does not match that of this side",
        "The link reconnects with a new session; the application gets `SessionReset`.",
    ),
    "link.peer-limits": ErrorSpec(
        PeerLinkError,
        "a message that waits for the peer is longer than the peer accepts",
        "Raise the peer's `LinkLimits`, or lower those of this side to the same values.",
    ),
    "link.handshake-timeout": ErrorSpec(
        PeerLinkError,
        "the handshake did not finish in time",
        "Check that the address is that of a router; on slow networks, raise `handshake_seconds`.",
    ),
    "link.heartbeat-timeout": ErrorSpec(
        PeerLinkError,
        "the peer sent nothing for too long",
        "The link reconnects and resumes; on slow networks, raise `heartbeat_timeout_seconds`.",
    ),
    "link.slow-consumer": ErrorSpec(
        PeerLinkError,
        "the peer acknowledged nothing for too long while its window was full",
        'Find out why the peer is slow, or wait for it with `slow_consumer="block"`.',
    ),
    "link.superseded": ErrorSpec(
        PeerLinkError,
        "the peer opened another connection for the same session",
        "Expected when a peer reconnects; otherwise two processes use the same name.",
    ),
    "link.refused": ErrorSpec(
        LocalLinkError,
        "the peer closed the connection because of something this side did",
        "The message has the peer's reason.",
    ),
    "link.lost": ErrorSpec(
        LinkError,
        "the connection was lost",
        "The link reconnects and resumes.",
    ),
    "link.unreachable": ErrorSpec(
        LinkError,
        "no connection could be made",
        "Check the address and the certificate; the link tries again.",
    ),
    "link.closed": ErrorSpec(
        LocalLinkError,
        "the link is closed",
        "Open a new one.",
    ),
    "link.window-full": ErrorSpec(
        LocalLinkError,
        "the send buffer is full",
        "Wait for acknowledgements: `Link.send` does.",
    ),
    "link.message": ErrorSpec(
        LocalLinkError,
        "a message cannot be sent",
        "Keep header and message within `LinkLimits`.",
    ),
    "link.document": ErrorSpec(
        PeerLinkError,
        "the header of a document's message is malformed",
        "Compare the versions of both sides.",
    ),
    "link.acknowledge": ErrorSpec(
        LocalLinkError,
        "a message was acknowledged that was not received",
        "Acknowledge the messages that `receive` returned.",
    ),
    "link.option": ErrorSpec(
        LocalLinkError,
        "an option of a link is invalid",
        "The message says which values are allowed.",
    ),
}
