"""XSync's conflicts between update statements, by their paths.

The paper detects conflicts without the document: two statements of different clients conflict if
they have paths that overlap. A *direct conflict* is one in which the first to be applied can
prevent the other; in a *syntax conflict* the order changes the result. The operation table has an
entry for each path of a statement, its target path and its sub path; a containment index over these
finds those that overlap. This follows the paper's prose and its Table 2, not its pseudocode
(decision 0071). Positions and predicates are ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias

from penstock.language.updates import Function, Group, NodeStep, Statement, UpdatePath
from penstock.language.updates.ast import AnyChild, Content, Name
from penstock.language.updates.ast import Axis as UpdateAxis
from penstock.language.xpath.ast import Axis, Kind, NameTest, Path, Query, Step
from penstock.sync.baselines.operation_index import OperationIndex


class ConflictKind(StrEnum):
    """The two disjoint kinds of conflicts."""

    DIRECT = "direct"
    SYNTAX = "syntax"


@dataclass(frozen=True)
class TableEntry:
    """The entries of a statement in the paper's operation table: one for each of its paths."""

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
    def paths(self) -> tuple[Query, ...]:
        """The target path, and the sub path if there is one."""
        return (self.target,) if self.sub_path is None else (self.target, self.sub_path)

    @property
    def is_changing(self) -> bool:
        """Whether the statement updates or deletes its targets."""
        return self.statement.function in (Function.UPDATE, Function.DELETE)

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


PathPair: TypeAlias = tuple[int, int]
"""Which path of a statement overlaps which path of another: 0 is a target path, 1 a sub path."""

_TARGETS: PathPair = (0, 0)


def path_conflicts(table: Sequence[TableEntry]) -> list[PathConflict]:
    """The conflicts among the statements of a round, by the arrival of the first and the second."""
    found = [
        PathConflict(kind, first, second)
        for first, second, pairs in _overlapping_statements(table)
        if (kind := conflict_kind(first, second, pairs)) is not None
    ]
    return sorted(found, key=lambda conflict: (conflict.first.order, conflict.second.order))


def _overlapping_statements(
    table: Sequence[TableEntry],
) -> Iterator[tuple[TableEntry, TableEntry, set[PathPair]]]:
    """Statements of different clients with paths that overlap, the first to arrive first."""
    index = OperationIndex()
    owners: list[tuple[TableEntry, int]] = []
    """The statement and the number of the path of each oid."""
    for second in sorted(table, key=lambda entry: entry.order):
        found: dict[int, tuple[TableEntry, set[PathPair]]] = {}
        for number, path in enumerate(second.paths):
            for oid in index.overlapping(path.branches):
                first, number_of_first = owners[oid]
                if first.client != second.client:
                    pairs = found.setdefault(first.order, (first, set()))[1]
                    pairs.add((number_of_first, number))
        for first, pairs in found.values():
            yield first, second, pairs
        for number, path in enumerate(second.paths):
            index.insert(len(owners), path.branches)
            owners.append((second, number))


def conflict_kind(
    first: TableEntry, second: TableEntry, pairs: Collection[PathPair]
) -> ConflictKind | None:
    """The kind of conflict between two statements with the paths that overlap."""
    if _is_direct(first, second, pairs):
        return ConflictKind.DIRECT
    return ConflictKind.SYNTAX if _is_syntax(first, second, pairs) else None


def _is_direct(first: TableEntry, second: TableEntry, pairs: Collection[PathPair]) -> bool:
    """Whether one is an update or delete and the targets overlap, or one is a move whose sub path
    overlaps a path of the other."""
    if (first.is_changing or second.is_changing) and _TARGETS in pairs:
        return True
    return any(
        (first.is_move and of_first == 1) or (second.is_move and of_second == 1)
        for of_first, of_second in pairs
    )


def _is_syntax(first: TableEntry, second: TableEntry, pairs: Collection[PathPair]) -> bool:
    """Whether the targets overlap, or the sub path of one overlaps a path of the other. If both add
    nodes, and the paths are in the same node of the index, Table 2 decides."""
    is_in_table_2 = not (first.is_changing or second.is_changing)
    is_yes = first.table_2_group == second.table_2_group
    return any(
        is_yes
        or not is_in_table_2
        or set(first.paths[of_first].branches).isdisjoint(second.paths[of_second].branches)
        for of_first, of_second in pairs
    )


def query_of(path: UpdatePath) -> Query:
    """A path of a statement as a query, without positions and predicates."""
    steps: list[Step] = []
    _append(path, Axis.CHILD, steps)
    if not steps:
        return Query((Path((_any_element(Axis.CHILD),)),))
    last = steps[-1]
    branches = [Path(tuple(steps))]
    if len(steps) > 1 and last == _any_element(last.axis):
        # `*` selects text, too.
        branches.append(Path((*steps[:-1], Step(last.axis, Kind.TEXT, NameTest()))))
    return Query(tuple(branches))


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
