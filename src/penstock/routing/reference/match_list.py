"""Match lists by definition: two sets of ranks, each as differences or as a bitmap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

_GAPS: Final = 0
_BITMAP: Final = 1
_VARINT_MAX: Final = (1 << 32) - 1
_VARINT_BYTES_MAX: Final = 5


class MatchList(NamedTuple):
    """The patterns of a set that a document matched, by rank."""

    matched: Sequence[int] = ()
    unknown: Sequence[int] = ()
    """Ranks of the patterns of which it is unknown whether they match."""


def encode_match_list(matches: MatchList) -> bytes:
    """The binary form of a match list.

    Examples
    --------
    >>> encode_match_list(MatchList([3, 9])).hex()
    '000203050000'
    """
    return _encode_ranks(sorted(matches.matched)) + _encode_ranks(sorted(matches.unknown))


def decode_match_list(encoded: bytes, set_size: int) -> MatchList:
    """Parse the match list of a set of ``set_size`` patterns.

    Raises
    ------
    ValueError
        The list is malformed.

    Examples
    --------
    >>> decode_match_list(bytes.fromhex("000203050000"), 10)
    MatchList(matched=[3, 9], unknown=[])
    """
    rest = iter(encoded)
    matched, unknown = _decode_ranks(rest, set_size), _decode_ranks(rest, set_size)
    if next(rest, None) is not None or not set(matched).isdisjoint(unknown):
        raise ValueError("the match list is malformed")
    return MatchList(matched, unknown)


def _encode_ranks(ranks: Sequence[int]) -> bytes:
    gaps = b"".join(
        _varint(rank - before - 1) for before, rank in zip([-1, *ranks], ranks, strict=False)
    )
    bitmap_bytes = ranks[-1] // 8 + 1 if ranks else 0
    if len(gaps) <= bitmap_bytes:
        return bytes((_GAPS,)) + _varint(len(ranks)) + gaps
    bits = sum(1 << rank for rank in ranks)
    return bytes((_BITMAP,)) + _varint(bitmap_bytes) + bits.to_bytes(bitmap_bytes, "little")


def _decode_ranks(rest: Iterator[int], set_size: int) -> list[int]:
    form, size = _next(rest), _read_varint(rest)
    ranks: list[int] = []
    if form == _GAPS:
        last = -1
        for _ in range(size):
            last += 1 + _read_varint(rest)
            ranks.append(last)
    elif form == _BITMAP:
        for at in range(size):
            byte = _next(rest)
            ranks.extend(at * 8 + bit for bit in range(8) if byte >> bit & 1)
    else:
        raise ValueError("the match list is malformed")
    if ranks and ranks[-1] >= set_size:
        raise ValueError("the match list names a pattern that is not in the set")
    return ranks


def _varint(value: int) -> bytes:
    parts: list[int] = []
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def _read_varint(rest: Iterable[int]) -> int:
    value = 0
    for at, byte in zip(range(_VARINT_BYTES_MAX), rest, strict=False):
        value |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            if value > _VARINT_MAX:
                break
            return value
    raise ValueError("the match list is malformed")


def _next(rest: Iterator[int]) -> int:
    byte = next(rest, None)
    if byte is None:
        raise ValueError("the match list is truncated")
    return byte
