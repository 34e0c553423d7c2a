"""Pictures of dissemination trees with matplotlib, for formats other than SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from penstock.lab.experiment_plots import require_matplotlib
from penstock.overlay.tree_picture import PicturePeer, TreePicture, colour_of

_PANEL_INCHES: Final = (8.0, 5.0)


def _dot_size(picture: TreePicture, peer: PicturePeer) -> float:
    """In square points; in a large tree, leaves are smaller."""
    if not picture.is_large:
        return 36.0
    return 14.0 if picture.children(peer.name) else 4.0


def write_png(pictures: Sequence[TreePicture], path: Path) -> None:
    """Write trees side by side, coloured by overhead.

    Raises
    ------
    LabError
        ``lab.plots``: matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.figure import Figure  # noqa: PLC0415  # an optional package

    width, height = _PANEL_INCHES
    figure = Figure(figsize=(width * max(1, len(pictures)), height), layout="constrained")
    for number, picture in enumerate(pictures, 1):
        axes = figure.add_subplot(1, len(pictures), number)
        axes.set_title(picture.title)
        axes.set_axis_off()
        axes.invert_yaxis()
        axes.set_aspect("equal" if picture.is_large else "auto")
        points = picture.points()
        for peer in picture.peers:
            if peer.name in points and peer.parent in points:
                (x1, y1), (x2, y2) = points[peer.parent], points[peer.name]
                axes.plot([x1, x2], [y1, y2], color="#afb8c1", linewidth=0.8, zorder=1)
        placed = [peer for peer in picture.peers if peer.name in points]
        axes.scatter(
            [points[peer.name][0] for peer in placed],
            [points[peer.name][1] for peer in placed],
            c=[colour_of(peer.overhead) for peer in placed],
            s=[_dot_size(picture, peer) for peer in placed],
            edgecolors="#57606a",
            zorder=2,
        )
    figure.savefig(path, dpi=120)
