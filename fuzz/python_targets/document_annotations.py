"""Sections of annotations: hostile bytes are refused with `ValueError`, or decoded within limits.

The first byte selects the section.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from penstock import SubscriptionIndex
from penstock.documents import read_summary
from penstock.routing import Pattern
from penstock.routing.absent_names import AbsentNameFilter, encode_absent_names
from penstock.routing.announced_paths import AnnouncedPaths
from penstock.routing.bindings import BindingFilter
from penstock.routing.last_offsets import AnnouncedUnder, decode_last_offsets
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
    ]


def run_input(data: bytes) -> None:
    """Decode a section."""
    if not data:
        return
    kind, section = data[0] % 4, data[1:]
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
        else:
            assert set(_BINDINGS.proved(section, _ROWS, {}).tolist()) <= _ROWS.keys()
