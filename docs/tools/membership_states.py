"""Generates the figure of a membership's states from the table of ``penstock.overlay``."""

from __future__ import annotations

from collections import defaultdict

from penstock.overlay.membership.transitions import (
    MEMBERSHIP_TRANSITIONS,
    MembershipInput,
    MembershipState,
)

_OMITTED = {MembershipInput.LEAVE_LEAF, MembershipInput.LEAVE_INTERIOR}
"""Inputs that are possible almost everywhere; the text of the page describes them."""

_ROOT = "the_root"
"""Mermaid reserves the name ``root``."""


def _name(state: MembershipState) -> str:
    return _ROOT if state is MembershipState.ROOT else state.value


def membership_diagram() -> str:
    """Returns the figure as Mermaid source, without commands to leave."""
    lines = ["stateDiagram-v2", f'  state "{MembershipState.ROOT}" as {_ROOT}']
    lines.append(f"  [*] --> {MembershipState.OUTSIDE}")
    for state, row in MEMBERSHIP_TRANSITIONS.items():
        labels: dict[MembershipState, list[str]] = defaultdict(list)
        for given, following in row.items():
            if following is not state and given not in _OMITTED:
                labels[following].append(given.value)
        for following, names in labels.items():
            lines.append(f"  {_name(state)} --> {_name(following)}: {' / '.join(names)}")
    return "\n".join(lines) + "\n"
