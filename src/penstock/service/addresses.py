"""Addresses as a user writes them."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from penstock.errors import error
from penstock.links import Address, TcpAddress, UnixAddress

_UNIX = "unix:"


def parse_address(text: str) -> Address:
    """``HOST:PORT``, ``[IPV6]:PORT`` or ``unix:PATH``.

    Raises
    ------
    RoutingError
        ``routing.address``

    Examples
    --------
    >>> parse_address("127.0.0.1:7000")
    TcpAddress(host='127.0.0.1', port=7000)
    >>> parse_address("[::1]:7000").host
    '::1'
    """
    if text.startswith(_UNIX) and len(text) > len(_UNIX):
        return UnixAddress(Path(text.removeprefix(_UNIX)))
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    if not host or not port.isascii() or not port.isdecimal() or int(port) > 65_535:
        raise error("routing.address", f"`{text}` is not an address")
    return TcpAddress(host, int(port))


def is_loopback(address: Address) -> bool:
    """Whether only processes of this machine can connect to an address.

    Examples
    --------
    >>> is_loopback(TcpAddress("127.0.0.1", 0)), is_loopback(TcpAddress("0.0.0.0", 0))
    (True, False)
    """
    if isinstance(address, UnixAddress):
        return True
    if address.host == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.host).is_loopback
    except ValueError:
        return False
