"""Generates the figure of a connection's states from the transition table of ``penstock.links``."""

from __future__ import annotations

from collections import defaultdict

from penstock.links.transitions import FRAME_INPUTS, INITIAL_STATES, TRANSITIONS, Input, State


def _id(state: State) -> str:
    return state.name.lower()


def state_diagram() -> str:
    """Returns the figure as Mermaid source, without the inputs that always lead to *closed*."""
    lines = ["stateDiagram-v2"]
    lines += [f"  state {state.value!r} as {_id(state)}".replace("'", '"') for state in State]
    for role, state in INITIAL_STATES.items():
        lines.append(f"  [*] --> {_id(state)}: {role.value}")
    for state, row in TRANSITIONS.items():
        if state is State.CLOSED:
            continue
        labels: dict[State, list[str]] = defaultdict(list)
        for input_, following in row.items():
            if input_ in FRAME_INPUTS or input_ is Input.CLOSE_REQUEST:
                labels[following].append(input_.value)
        for following, names in labels.items():
            lines.append(f"  {_id(state)} --> {_id(following)}: {' / '.join(names)}")
    lines.append("  closed --> [*]")
    return "\n".join(lines) + "\n"
