"""Generates the figure of a neighbour's states from the table of ``penstock.routing``."""

from __future__ import annotations

from collections import defaultdict

from penstock.routing.neighbour_transitions import NEIGHBOUR_TRANSITIONS, NeighbourStatus


def _id(status: NeighbourStatus) -> str:
    return status.name.lower()


def neighbour_diagram() -> str:
    """Returns the figure as Mermaid source, without the inputs that leave a status as it is."""
    lines = ["stateDiagram-v2"]
    lines += [f'  state "{status.value}" as {_id(status)}' for status in NeighbourStatus]
    lines.append(f"  [*] --> {_id(NeighbourStatus.UNKNOWN)}")
    for status, row in NEIGHBOUR_TRANSITIONS.items():
        labels: dict[NeighbourStatus, list[str]] = defaultdict(list)
        for input_, following in row.items():
            if following is not status:
                labels[following].append(input_.value)
        for following, names in labels.items():
            lines.append(f"  {_id(status)} --> {_id(following)}: {' / '.join(names)}")
    return "\n".join(lines) + "\n"
