"""TLS for links: contexts with safe settings, and the channel binding of the handshake.

Only TLS 1.3 is spoken: both sides are Penstock. The client always verifies the server's certificate
and name. Besides, both sides' HMACs cover the digest of the server's certificate
(``tls-server-end-point`` of RFC 5929), so a handshake cannot be relayed through another server even
if that has a certificate that the client accepts.
"""

from __future__ import annotations

import hashlib
import ssl
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ClientTls", "ServerTls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTls:
    """Certificate and key of a server, as PEM files."""

    certificate: Path
    """The server's certificate first, then intermediate ones, if any."""

    key: Path
    client_authorities: Path | None = None
    """Certificates that client certificates must be signed by; without it, none are asked for."""

    def context(self) -> ssl.SSLContext:
        """A context for the server."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(self.certificate, self.key)
        if self.client_authorities is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.client_authorities)
        return context

    def channel_binding(self) -> bytes:
        """Digest of the server's certificate."""
        pem = self.certificate.read_text(encoding="ascii")
        begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
        first = begin + pem.partition(begin)[2].partition(end)[0] + end
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(first)).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTls:
    """Whom a client trusts, and its own certificate if the server asks for one."""

    authorities: Path
    """Certificates that the server's must be signed by, as a PEM file."""

    server_hostname: str | None = None
    """Name in the server's certificate; by default the host of the address."""

    certificate: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """A context for the client."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(self.authorities)
        if self.certificate is not None:
            context.load_cert_chain(self.certificate, self.key)
        return context


def client_channel_binding(ssl_object: ssl.SSLObject | None) -> bytes:
    """Digest of the certificate that the server showed; empty without TLS."""
    if ssl_object is None:
        return b""
    certificate = ssl_object.getpeercert(binary_form=True)
    assert certificate is not None, "the client's context verifies the server"
    return hashlib.sha256(certificate).digest()
