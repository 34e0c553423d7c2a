"""Pictures of trees: layout, colours, and names that would break out of the markup."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from penstock.overlay.tree_picture import (
    PicturePeer,
    TreePicture,
    colour_of,
    picture_of,
    svg_of,
)

SVG = "{http://www.w3.org/2000/svg}"


def test_peers_are_placed_below_their_parents() -> None:
    peers = [PicturePeer("s", None, 0.0)]
    peers += [PicturePeer(f"p{number}", "s", 0.1) for number in range(3)]
    peers += [PicturePeer(f"q{number}", "p1", 0.9) for number in range(2)]
    picture = picture_of("a tree", peers)
    positions = picture.positions()
    assert len(set(positions.values())) == len(peers)
    for peer in peers[1:]:
        assert peer.parent is not None
        assert positions[peer.name][1] == positions[peer.parent][1] + 1
    assert positions["p1"][0] == (positions["q0"][0] + positions["q1"][0]) / 2
    assert picture.mean_overhead() == pytest.approx((3 * 0.1 + 2 * 0.9) / 5)
    root = ElementTree.fromstring(picture.svg())
    assert len(root.findall(f".//{SVG}line")) == 5
    assert len(root.findall(f".//{SVG}title")) == 6


def large_tree() -> TreePicture:
    """A tree of 400 peers and a source, with a fan-out of 6."""
    peers = [PicturePeer("p0", None, 0.0)]
    peers += [PicturePeer(f"p{n}", f"p{(n - 1) // 6}", 0.3) for n in range(1, 401)]
    return picture_of("large", peers)


def test_a_large_tree_fits_on_a_page() -> None:
    picture = large_tree()
    root = ElementTree.fromstring(svg_of([picture, picture]))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert root.attrib["viewBox"] == f"0 0 {width:g} {height:g}"
    assert max(width, height) <= 1_500
    groups = root.findall(f"{SVG}g")
    circles = groups[0].findall(f"{SVG}circle")
    assert len(circles) == 401
    for circle in circles:
        assert 0 < float(circle.attrib["cx"]) < width / 2
        assert 0 < float(circle.attrib["cy"]) < height


def test_levels_of_a_large_tree_are_rings() -> None:
    picture = large_tree()
    points, depths = picture.points(), picture.depths()
    x, y = points["p0"]
    radii = {
        depth: {round(math.hypot(points[name][0] - x, points[name][1] - y), 6) for name in names}
        for depth in range(4)
        for names in [[name for name in depths if depths[name] == depth]]
    }
    assert [len(found) for found in radii.values()] == [1] * 4
    distances = [radius for [radius] in radii.values()]
    assert distances == sorted(distances)
    assert distances[0] == 0
    # No two peers are at one place.
    assert len({(round(a, 2), round(b, 2)) for a, b in points.values()}) == len(points)


def test_a_large_tree_that_is_broken() -> None:
    tree = large_tree()
    orphans = picture_of("", [peer for peer in tree.peers if peer.name not in {"p0", "p3"}])
    points = orphans.points()
    assert len(points) == 399
    ElementTree.fromstring(orphans.svg())


def test_names_are_escaped() -> None:
    picture = picture_of("<&>", [PicturePeer('</svg><script x="', None, None)])
    root = ElementTree.fromstring(picture.svg())
    assert not root.findall(f".//{SVG}script")
    [title] = root.findall(f".//{SVG}title")
    assert title.text == '</svg><script x=": overhead unknown'


def test_a_cycle_and_a_lost_parent_are_no_reason_to_hang() -> None:
    peers = [PicturePeer("a", "b", 0.1), PicturePeer("b", "a", 0.1), PicturePeer("c", "gone", 0.2)]
    assert picture_of("", peers).positions() == {"c": (0, 0)}
    ElementTree.fromstring(picture_of("", peers).svg())


def test_pictures_side_by_side_do_not_overlap() -> None:
    one = picture_of("before", [PicturePeer("s", None, 0.0), PicturePeer("a", "s", 0.5)])
    root = ElementTree.fromstring(svg_of([one, one]))
    shifts = [group.get("transform") for group in root.findall(f"{SVG}g")]
    assert len(set(shifts)) == 2


def test_no_peers() -> None:
    ElementTree.fromstring(svg_of([picture_of("nobody", [])]))
    assert picture_of("nobody", []).mean_overhead() == 0.0


def test_colours_are_ordered() -> None:
    reds = [int(colour_of(share / 10)[1:3], 16) for share in range(5)]
    greens = [int(colour_of(share / 10)[3:5], 16) for share in range(5, 11)]
    assert reds == sorted(reds)
    assert greens == sorted(greens, reverse=True)
    assert colour_of(7.0) == colour_of(1.0)


def test_a_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from penstock.lab.tree_plots import write_png

    picture = picture_of("t", [PicturePeer("s", None, 0.0), PicturePeer("a", "s", None)])
    write_png([picture], tmp_path / "t.png")
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    write_png([large_tree()], tmp_path / "large.png")
    assert (tmp_path / "large.png").read_bytes().startswith(b"\x89PNG")
