"""XSync's conflicts between update statements, by their paths.

The paper detects conflicts without the document: two statements of different clients conflict if
their paths overlap. A *direct conflict* is one in which the first to be applied can prevent the
other; in a *syntax conflict* the order changes the result. This follows the paper's prose and its
Table 2; paths are compared with the relation ``overlaps``, positions and predicates are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import combinations

from penstock.language import overlaps
from penstock.language.updates import Function, Group, NodeStep, Statement, UpdatePath
from penstock.language.updates.ast import AnyChild, Content, Name
from penstock.language.updates.ast import Axis as UpdateAxis
from penstock.language.xpath.ast import Axis, Kind, NameTest, Path, Query, Step


class ConflictKind(StrEnum):
    """The two disjoint kinds of conflicts."""

    DIRECT = "direct"
    SYNTAX = "syntax"


@dataclass(frozen=True)
class TableEntry:
    """An entry of the paper's operation table: a statement with its two paths."""

    order: int
    """When the statement arrived."""
    client: str
    number: int
    """Number of the client's statement."""
    statement: Statement

    @cached_property
    def target(self) -> Query:
        """The target path."""
        return query_of(self.statement.path)

    @cached_property
    def sub_path(self) -> Query | None:
        """The path of the argument, which is relative to the target unless it is absolute."""
        argument = self.statement.argument
        if not isinstance(argument, UpdatePath):
            return None
        if argument.is_absolute:
            return query_of(argument)
        return query_of(UpdatePath((*self.statement.path.steps, *argument.steps)))

    @property
    def paths(self) -> list[Query]:
        """Both paths."""
        return [self.target] if self.sub_path is None else [self.target, self.sub_path]

    @property
    def is_move(self) -> bool:
        """Whether the statement moves its sources."""
        return self.statement.function.value.startswith("move")

    @property
    def table_2_group(self) -> str:
        """The row of Table 2: ``op``, or ``beside`` for its Before and After."""
        return "beside" if self.statement.function.is_beside else "op"


@dataclass(frozen=True, slots=True)
class PathConflict:
    """Two statements of different clients, in the order of their arrival."""

    kind: ConflictKind
    first: TableEntry
    second: TableEntry


def path_conflicts(table: Sequence[TableEntry]) -> list[PathConflict]:
    """The conflicts among the statements of a round."""
    found: list[PathConflict] = []
    for first, second in combinations(sorted(table, key=lambda entry: entry.order), 2):
        if first.client == second.client:
            continue
        if is_direct(first, second):
            found.append(PathConflict(ConflictKind.DIRECT, first, second))
        elif is_syntax(first, second):
            found.append(PathConflict(ConflictKind.SYNTAX, first, second))
    return found


def is_direct(first: TableEntry, second: TableEntry) -> bool:
    """Whether one is an update or delete and the targets overlap, or one is a move whose sub path
    overlaps a path of the other."""
    changing = (Function.UPDATE, Function.DELETE)
    is_changing = first.statement.function in changing or second.statement.function in changing
    if is_changing and overlaps(first.target, second.target):
        return True
    return _moves_away(first, second) or _moves_away(second, first)


def _moves_away(mover: TableEntry, other: TableEntry) -> bool:
    if not mover.is_move or mover.sub_path is None:
        return False
    return any(overlaps(mover.sub_path, path) for path in other.paths)


def is_syntax(first: TableEntry, second: TableEntry) -> bool:
    """Whether both insert, copy or move at the same place: Table 2 for equal targets."""
    adding = [
        entry.statement.function not in (Function.UPDATE, Function.DELETE)
        for entry in (first, second)
    ]
    return (
        all(adding)
        and first.target == second.target
        and first.table_2_group == second.table_2_group
    )


def query_of(path: UpdatePath) -> Query:
    """A path of a statement as a query, without positions and predicates."""
    steps: list[Step] = []
    _append(path, Axis.CHILD, steps)
    return Query((Path(tuple(steps) or (_any_element(Axis.CHILD),)),))


def _any_element(axis: Axis) -> Step:
    return Step(axis, Kind.ELEMENT, NameTest())


def _append(path: UpdatePath, first_axis: Axis, steps: list[Step]) -> None:
    for at, step in enumerate(path.steps):
        axis = Axis.DESCENDANT if step.axis is UpdateAxis.DESCENDANT else Axis.CHILD
        if at == 0 and first_axis is Axis.DESCENDANT:
            axis = Axis.DESCENDANT
        if isinstance(step, Group):
            _append(step.path, axis, steps)
        else:
            _append_step(step, axis, steps)


def _append_step(step: NodeStep, axis: Axis, steps: list[Step]) -> None:
    kind = Kind.ATTRIBUTE if step.is_attribute else Kind.ELEMENT
    match step.test:
        case Content.SELF:
            return
        case Content.PARENT:
            if steps:
                steps.pop()
        case Content.TEXT:
            steps.append(Step(axis, Kind.TEXT, NameTest()))
        case Content.COMMENT | Content.INSTRUCTION:
            return
        case AnyChild():
            steps.append(Step(axis, kind, NameTest()))
        case Name(_, uri, local):
            steps.append(Step(axis, kind, NameTest(uri, local)))
