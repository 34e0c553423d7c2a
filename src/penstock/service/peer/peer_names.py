"""Names of peers: they contain the address, so whoever knows a name can connect."""

from __future__ import annotations

from penstock.errors import PenstockError, error
from penstock.links import Address, TcpAddress
from penstock.service.addresses import parse_address


def peer_name(label: str, address: Address) -> str:
    """The name of a peer that others reach at an address.

    >>> from penstock.links import TcpAddress
    >>> peer_name("ada", TcpAddress("127.0.0.1", 7000))
    'ada@127.0.0.1:7000'
    """
    # Names of links have no brackets; the port is what follows the last colon.
    if isinstance(address, TcpAddress):
        return f"{label}@{address.host}:{address.port}"
    return f"{label}@unix:{address.path.absolute()}"


def address_of(name: str) -> Address:
    """Where the peer of a name listens.

    Raises
    ------
    OverlayError
        ``overlay.peer-name``

    Examples
    --------
    >>> address_of("ada@127.0.0.1:7000")
    TcpAddress(host='127.0.0.1', port=7000)
    >>> address_of("ada@::1:7000").host
    '::1'
    """
    label, at, where = name.partition("@")
    if label and at:
        host, _, port = where.rpartition(":")
        if ":" in host and not where.startswith("unix:"):
            where = f"[{host}]:{port}"
        try:
            return parse_address(where)
        except PenstockError:
            pass
    raise error("overlay.peer-name", f"`{name}` is not the name of a peer: LABEL@HOST:PORT")
