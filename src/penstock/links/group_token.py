"""A token that all members of a group share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.links.options import check_token

__all__ = ["GroupToken"]


class GroupToken(Mapping[str, bytes]):
    """Gives every name the same token.

    Whoever has it can take part under any name, so members have to trust each other. The sessions
    of a server are then bounded by ``LinkLimits.sessions``, because names do not bound them.

    >>> tokens = GroupToken(b"0123456789abcdef")
    >>> tokens["ada"] == tokens["bob"]
    True
    """

    def __init__(self, token: bytes) -> None:
        self._token = check_token(token)

    def __getitem__(self, name: str) -> bytes:
        return self._token

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
