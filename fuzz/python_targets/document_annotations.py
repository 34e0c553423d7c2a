"""Headers and sections of annotations: hostile bytes are refused with `ValueError`, or decoded
within limits.

The first byte selects the section, or the header around them, whose checksum is computed.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from typing import Final

from penstock import SubscriptionIndex
from penstock.documents import read_summary
from penstock.routing import Pattern
from penstock.routing.absent_names import AbsentNameFilter, encode_absent_names
from penstock.routing.annotation_header import attestation, decode_header, encode_header
from penstock.routing.announced_paths import AnnouncedPaths
from penstock.routing.bindings import BindingFilter
from penstock.routing.last_offsets import AnnouncedUnder, decode_last_offsets
from penstock.routing.native_route_table import NativeRouteTable
from penstock.routing.reference.match_list import MatchList, encode_match_list
from penstock.routing.reference.route_table import ReferenceRouteTable
from penstock.routing.routes import Container, DecidedRoutes, RouteTable
from penstock.routing.skeleton import SkeletonFilter, encode_skeleton
from penstock.routing.vocabulary import Vocabulary

DICTIONARY = None

_ANNOUNCED: Final = [
    Pattern.of_path("//item[price > 3]"),
    Pattern.of_path("/news//x:*/@id", namespaces={"x": "urn:x"}),
    Pattern.of_path("/news/*/title"),
]
_ROWS: Final = dict(enumerate([*_ANNOUNCED, Pattern.of_path("/news/item/title")]))
_VOCABULARY: Final = Vocabulary(_ANNOUNCED)
_SKELETONS: Final = SkeletonFilter(_VOCABULARY, _ROWS)
_ABSENT_NAMES: Final = AbsentNameFilter(_VOCABULARY, _ROWS)
_BINDINGS: Final = BindingFilter(
    _VOCABULARY,
    _ANNOUNCED,
    {row: AnnouncedUnder(0, _ANNOUNCED[0], pattern) for row, pattern in _ROWS.items()},
)
_DOCUMENT: Final = (
    b"<news><item id='1'><price>4</price></item><flash><title/></flash>"
    b"<y xmlns='urn:x' id='2'><z/></y></news>"
)
_ATTESTED: Final = attestation("wire/1", len(_DOCUMENT), bytes(8))
_SET: Final = bytes(range(16))
_FIXED: Final = _ATTESTED + _SET
_SOURCE: Final = 1


def _table(table: RouteTable) -> RouteTable:
    """Targets of two neighbours, and what is announced to the source of documents."""
    digests = [pattern.digest for pattern in _ROWS.values()]
    table.add(0, list(enumerate(digests)))
    table.add(2, [(10 + number, digest) for number, digest in enumerate(digests)])
    table.announce(_SOURCE, [pattern.digest for pattern in _ANNOUNCED], ())
    table.announce(2, [digests[1]], ())
    container = Container(digests[2], is_equivalent=False)
    table.set_containers(_SOURCE, [(3, container), (13, container._replace(is_equivalent=True))])
    return table


_TABLES: Final = (_table(NativeRouteTable()), _table(ReferenceRouteTable()))


def seeds() -> list[bytes]:
    """One section of each kind."""
    matches = SubscriptionIndex().matcher().match(_DOCUMENT, label_paths=True)
    assert matches.label_paths is not None
    paths = _VOCABULARY.classify(matches.label_paths)
    announced = AnnouncedPaths(_VOCABULARY, _ANNOUNCED)
    skeleton = encode_skeleton(paths)
    assert skeleton is not None
    return [
        b"\x00" + skeleton,
        b"\x01" + encode_absent_names(paths),
        b"\x02" + announced.encode_last_offsets(paths, range(3)),
        b"\x03" + announced.encode_bindings(paths, range(3)),
        b"\x04" + encode_header(_ATTESTED, _SET, {1: b"123", 2: skeleton})[len(_FIXED) : -4],
        b"\x05" + encode_match_list(MatchList([0, 2], [1])),
        b"\x05" + encode_match_list(MatchList([0, 1, 2])),
    ]


def _decided(table: RouteTable, encoded: bytes) -> DecidedRoutes | None:
    try:
        return table.of_header(_SOURCE, encoded, _ATTESTED, _SET)
    except ValueError:
        return None


def run_input(data: bytes) -> None:
    """Decode a section."""
    if not data:
        return
    kind, section = data[0] % 6, data[1:]
    with suppress(ValueError):
        if kind == 0:
            document = _VOCABULARY.core.decode_skeleton(section)
            decision = _SKELETONS.decide(section, {})
            assert document is not None
            read_summary(document)
            assert len(decision.matched) + len(decision.undecided) <= len(_ROWS)
        elif kind == 1:
            assert set(_ABSENT_NAMES.excluded(section).tolist()) <= _ROWS.keys()
        elif kind == 2:
            offsets = decode_last_offsets(section, len(_ANNOUNCED))
            assert offsets.keys() <= set(range(len(_ANNOUNCED)))
        elif kind == 4:
            encoded = _FIXED + section
            encoded += zlib.crc32(encoded).to_bytes(4, "little")
            one, two = (_decided(table, encoded) for table in _TABLES)
            assert one == two
            sections = decode_header(encoded, _ATTESTED, _SET)
            assert encode_header(_ATTESTED, _SET, sections) == encoded
        elif kind == 5:
            _decide_by_match_list(section)
        else:
            assert set(_BINDINGS.proved(section, _ROWS, {}).tolist()) <= _ROWS.keys()


def _decide_by_match_list(section: bytes) -> None:
    """The native table decides as the reference does, or both refuse."""
    decided: list[tuple[set[int], set[int]] | None] = []
    for table in _TABLES:
        try:
            matched, undecided = table.split_match_list(_SOURCE, section)
        except ValueError:
            decided.append(None)
        else:
            decided.append((set(matched), set(undecided)))
    assert decided[0] == decided[1]
