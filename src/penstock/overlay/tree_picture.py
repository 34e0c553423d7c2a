"""Pictures of dissemination trees, coloured by overhead, as SVG.

A small tree has its levels from top to bottom and a label at each peer. A larger one would be many
screens wide, so its levels are rings around the source.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final, NamedTuple

_LEVEL_PIXELS: Final = 70
_LEAF_PIXELS: Final = 26
_RADIUS: Final = 8
_RINGS_PIXELS: Final = 620.0
"""Diameter of the outer ring of a large tree."""

_PARENT_RADIUS: Final = 5.0
_LEAF_RADIUS: Final = 2.4
_MARGIN: Final = 30
_TITLE_PIXELS: Final = 24
_LEGEND_PIXELS: Final = 40
_LABELS_MAX: Final = 60
"""Peers up to which each has its label in the picture; a larger tree is drawn as rings, with the
labels as tooltips only."""

_LABEL_CHARACTERS_MAX: Final = 24

_LOW: Final = (46, 160, 67)
_MIDDLE: Final = (230, 180, 30)
_HIGH: Final = (207, 34, 46)
_UNKNOWN: Final = "#8c959f"
_SOURCE: Final = "#0969da"


class PicturePeer(NamedTuple):
    """A peer in a picture."""

    name: str
    parent: str | None
    """``None`` for the source, and for a peer that has no parent."""

    overhead: float | None
    """From 0 to 1; ``None`` if it is not known."""


@dataclass(frozen=True, slots=True)
class TreePicture:
    """A tree, or what is left of one.

    >>> picture = TreePicture("before", (PicturePeer("s", None, 0.0), PicturePeer("a", "s", 0.5)))
    >>> picture.depths()
    {'s': 0, 'a': 1}
    >>> picture.svg().count(": overhead ")
    2
    """

    title: str
    peers: Sequence[PicturePeer]
    _children: dict[str | None, list[PicturePeer]] = field(
        init=False, repr=False, default_factory=lambda: defaultdict(list)
    )

    def __post_init__(self) -> None:
        names = {peer.name for peer in self.peers}
        for peer in self.peers:
            # Whose parent is not in the picture is a root of its own.
            self._children[peer.parent if peer.parent in names else None].append(peer)

    def children(self, name: str | None) -> Sequence[PicturePeer]:
        """The children of a peer; with ``None`` the roots."""
        return self._children.get(name, ())

    def depths(self) -> dict[str, int]:
        """The depth of each peer that a root leads to."""
        found: dict[str, int] = {}
        waiting = [(peer, 0) for peer in reversed(self.children(None))]
        while waiting:
            peer, depth = waiting.pop()
            found[peer.name] = depth
            waiting += [(child, depth + 1) for child in reversed(self.children(peer.name))]
        return found

    def positions(self) -> dict[str, tuple[float, int]]:
        """Column and level of each peer: leaves side by side, parents above their middle."""
        depths = self.depths()
        columns: dict[str, float] = {}
        leaves = 0
        # Depth first, so children come after their parent; in reverse they come before it.
        for name in depths:
            if not self.children(name):
                columns[name] = leaves
                leaves += 1
        for name in reversed(depths):
            below = [columns[child.name] for child in self.children(name)]
            if below:
                columns[name] = (below[0] + below[-1]) / 2
        return {name: (columns[name], depths[name]) for name in depths}

    @property
    def is_large(self) -> bool:
        """Whether the levels of the tree are rings."""
        return len(self.peers) > _LABELS_MAX

    def points(self) -> dict[str, tuple[float, float]]:
        """The place of each peer in pixels, from the upper left corner on."""
        if self.is_large:
            return self._rings()
        return {
            name: (column * _LEAF_PIXELS, level * _LEVEL_PIXELS)
            for name, (column, level) in self.positions().items()
        }

    def _rings(self) -> dict[str, tuple[float, float]]:
        """Levels as rings: each peer in the middle of the angle that its leaves need."""
        depths = self.depths()
        # Several roots cannot all be in the middle.
        inner = 0 if len(self.children(None)) == 1 else 1
        outer = max(1, inner + max(depths.values(), default=0))
        # By the square root, because the inner levels of a tree have most of its peers, and inner
        # rings have the least room.
        radii = [math.sqrt((level + inner) / outer) for level in range(outer + 1)]
        # An angle is the distance on the ring by its radius.
        angles: dict[str, float] = {}
        for name in reversed(depths):
            below = sum(angles[child.name] for child in self.children(name))
            angles[name] = below or 1 / max(radii[depths[name]], 0.1)
        total = sum(angles[root.name] for root in self.children(None)) or 1.0
        starts: dict[str | None, float] = {None: -math.pi / 2}
        points: dict[str, tuple[float, float]] = {}
        half = _RINGS_PIXELS / 2
        parents: tuple[str | None, ...] = (None, *depths)
        for parent in parents:
            start = starts[parent]
            for child in self.children(parent):
                starts[child.name] = start
                angle = 2 * math.pi * angles[child.name] / total
                middle, radius = start + angle / 2, half * radii[depths[child.name]]
                points[child.name] = (
                    half + radius * math.cos(middle),
                    half + radius * math.sin(middle),
                )
                start += angle
        return points

    def mean_overhead(self) -> float:
        """The mean over the peers that have any, as in the paper's Figure 15; 0 if none has."""
        known = [peer.overhead for peer in self.peers if peer.overhead]
        return sum(known) / len(known) if known else 0.0

    def svg(self) -> str:
        """The picture as SVG, the same for the same tree."""
        return svg_of([self])


def svg_of(pictures: Sequence[TreePicture]) -> str:
    """Several pictures side by side, for example before and after a reorganisation."""
    bodies: list[str] = []
    left, height = 0.0, 0.0
    for picture in pictures:
        points = picture.points()
        right = max((x for x, _ in points.values()), default=0.0)
        bottom = max((y for _, y in points.values()), default=0.0)
        if picture.is_large:
            right = bottom = _RINGS_PIXELS
        title_pixels = 7.0 * len(picture.title)
        bodies.append(f'<g transform="translate({left:g} 0)">{_body(picture, points)}</g>')
        left += 2 * _MARGIN + max(right, title_pixels)
        height = max(height, 2 * _MARGIN + _TITLE_PIXELS + bottom)
    width = max(left, 300.0)
    height += _LEGEND_PIXELS
    # With a view box, the picture scales to the width of a page.
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}"'
        f' viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" font-size="10">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(bodies)
        + f"\n{_legend(height - _LEGEND_PIXELS)}\n</svg>\n"
    )


def colour_of(overhead: float | None) -> str:
    """The colour of an overhead: green for none, red for 1.

    >>> colour_of(0.0), colour_of(1.0), colour_of(None)
    ('#2ea043', '#cf222e', '#8c959f')
    """
    if overhead is None:
        return _UNKNOWN
    share = min(1.0, max(0.0, overhead))
    start, end, part = (
        (_LOW, _MIDDLE, share * 2) if share < 0.5 else (_MIDDLE, _HIGH, share * 2 - 1)
    )
    mixed = (round(one + (other - one) * part) for one, other in zip(start, end, strict=True))
    return "#" + "".join(f"{each:02x}" for each in mixed)


def _body(picture: TreePicture, points: Mapping[str, tuple[float, float]]) -> str:
    def point(name: str) -> tuple[float, float]:
        x, y = points[name]
        return _MARGIN + x, _MARGIN + _TITLE_PIXELS + y

    shapes = [
        f'<text x="{_MARGIN}" y="{_MARGIN - 8}" font-size="13">{escape(picture.title)}</text>'
    ]
    for peer in picture.peers:
        if peer.name in points and peer.parent is not None and peer.parent in points:
            x1, y1 = point(peer.parent)
            x2, y2 = point(peer.name)
            shapes.append(
                f'<line x1="{x1:.5g}" y1="{y1:.5g}" x2="{x2:.5g}" y2="{y2:.5g}" stroke="#afb8c1"/>'
            )
    # Peers with overhead are the last, so that no leaf hides one.
    for peer in sorted(picture.peers, key=lambda peer: bool(picture.children(peer.name))):
        if peer.name not in points:
            continue
        x, y = point(peer.name)
        has_children = bool(picture.children(peer.name))
        colour = _SOURCE if peer.parent is None and has_children else colour_of(peer.overhead)
        known = "unknown" if peer.overhead is None else f"{peer.overhead:.0%}"
        radius: float = _RADIUS
        if picture.is_large:
            radius = _PARENT_RADIUS if has_children else _LEAF_RADIUS
        shapes.append(
            f'<circle cx="{x:.5g}" cy="{y:.5g}" r="{radius:g}" fill="{colour}" stroke="#57606a"'
            f' stroke-width="{radius / 8:g}">'
            f"<title>{escape(peer.name)}: overhead {known}</title></circle>"
        )
        if not picture.is_large:
            label = peer.name.partition("@")[0][:_LABEL_CHARACTERS_MAX]
            shapes.append(
                f'<text x="{x:g}" y="{y + _RADIUS + 11:g}" text-anchor="middle"'
                f' font-size="8">{escape(label)}</text>'
            )
    return "\n".join(shapes)


def _legend(top: float) -> str:
    steps = [0.0, 0.25, 0.5, 0.75, 1.0]
    shapes = [f'<text x="{_MARGIN}" y="{top + 14:g}">overhead</text>']
    for number, share in enumerate(steps):
        x = _MARGIN + 60 + number * 40
        shapes.append(
            f'<circle cx="{x}" cy="{top + 10:g}" r="6" fill="{colour_of(share)}"/>'
            f'<text x="{x + 9}" y="{top + 14:g}">{share:.0%}</text>'
        )
    return "\n".join(shapes)


def picture_of(title: str, peers: Iterable[PicturePeer]) -> TreePicture:
    """A picture of peers in the order of their names, so that equal trees look equal."""
    return TreePicture(title, sorted(peers, key=lambda peer: _natural(peer.name)))


def _natural(name: str) -> tuple[int, str]:
    """Orders ``p2`` before ``p10``."""
    return len(name), name
