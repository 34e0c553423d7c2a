"""XSync's resolution of direct conflicts: its cascade of undone statements.

In a direct conflict in which the first statement to arrive can prevent the second, the delete is
undone, else the move, else the update, whichever order they have. With a statement, all later
statements of its client in the round are undone. Ours undoes single operations, and only where an
operation cannot be applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from penstock.errors import UpdateError
from penstock.language.updates import Function, parse_statement
from penstock.sync.baselines.path_conflicts import (
    ConflictKind,
    PathConflict,
    TableEntry,
    path_conflicts,
)
from penstock.sync.messages import SubmittedStatement
from penstock.sync.reports import Outcome
from penstock.sync.update_log import LogEntry

_DELETE_RANK: Final = 0
_MOVE_RANK: Final = 1
_UPDATE_RANK: Final = 2
_NEVER_RANK: Final = 3


def undone_by_the_paper(table: Sequence[TableEntry]) -> dict[TableEntry, TableEntry]:
    """The statements of a round that the paper undoes, each with the one that it conflicts with;
    for the later statements of the same client, that is the first undone one."""
    pairs = [
        _undone_first(conflict)
        for conflict in path_conflicts(table)
        if conflict.kind is ConflictKind.DIRECT and _can_prevent(conflict)
    ]
    # By client, and within it by arrival: DETECT-CONFLICTS sorts like this.
    pairs.sort(key=lambda pair: (pair[0].client, pair[0].order))
    first_undone: dict[str, tuple[TableEntry, TableEntry]] = {}
    for undone, other in pairs:
        if undone.client in first_undone:
            continue
        opponent = first_undone.get(other.client)
        if opponent is not None and other.order >= opponent[0].order:
            continue  # the other statement is undone itself
        first_undone[undone.client] = undone, other
    result: dict[TableEntry, TableEntry] = {}
    for undone, other in first_undone.values():
        for entry in table:
            if entry.client == undone.client and entry.order >= undone.order:
                result[entry] = other if entry is undone else undone
    return result


def _can_prevent(conflict: PathConflict) -> bool:
    """Whether the first statement can prevent the second: it deletes, moves away or renames."""
    first = conflict.first
    return first.is_move or first.statement.function in (Function.DELETE, Function.UPDATE)


def _rank(entry: TableEntry) -> int:
    if entry.statement.function is Function.DELETE:
        return _DELETE_RANK
    if entry.is_move:
        return _MOVE_RANK
    return _UPDATE_RANK if entry.statement.function is Function.UPDATE else _NEVER_RANK


def _undone_first(conflict: PathConflict) -> tuple[TableEntry, TableEntry]:
    """The statement to undo, and the other."""
    if _rank(conflict.first) <= _rank(conflict.second):
        return conflict.first, conflict.second
    return conflict.second, conflict.first


class PaperCascade:
    """The paper's resolution as the policy of a server.

    Statements without a text that can be parsed, such as those that undo others, are not undone.
    """

    def __init__(self, namespaces: Mapping[str, str] | None = None) -> None:
        self._namespaces = namespaces

    def undone(
        self, statements: Sequence[tuple[str, SubmittedStatement]]
    ) -> Mapping[tuple[str, int], str]:
        """The undone statements of a round, and the client that each conflicts with."""
        table = operation_table(
            ((client, each.number, each.text) for client, each in statements), self._namespaces
        )
        return {
            (entry.client, entry.number): other.client
            for entry, other in undone_by_the_paper(table).items()
        }


def operation_table(
    statements: Iterable[tuple[str, int, str]], namespaces: Mapping[str, str] | None = None
) -> list[TableEntry]:
    """The paper's operation table: client, number and text of each statement, in order."""
    table: dict[tuple[str, int], TableEntry] = {}
    for order, (client, number, text) in enumerate(statements):
        with suppress(UpdateError):
            parsed = parse_statement(text, namespaces=namespaces)
            table.setdefault((client, number), TableEntry(order, client, number, parsed))
    return list(table.values())


@dataclass(frozen=True, slots=True)
class ConflictCounts:
    """Conflicts that paths suspect, and those that identities prove."""

    direct_by_paths: int
    syntax_by_paths: int
    exact: int


def conflict_counts(
    entries: Sequence[LogEntry], namespaces: Mapping[str, str] | None = None
) -> ConflictCounts:
    """Counts the conflicts in a log. Only statements of which neither author knew the other count,
    for both."""
    table = operation_table(
        ((entry.client, entry.number, entry.text) for entry in entries), namespaces
    )
    by_number = {(entry.client, entry.number): entry for entry in entries}
    kinds = [
        conflict.kind
        for conflict in path_conflicts(table)
        if by_number[conflict.second.client, conflict.second.number].base
        < by_number[conflict.first.client, conflict.first.number].version
    ]
    exact = {
        (entry.version, each.client, each.report.statement)
        for entry in entries
        for each in entry.reports
        if each.report.outcome in (Outcome.UNDONE, Outcome.OVERWRITTEN, Outcome.DELETED_UNDER)
    }
    return ConflictCounts(
        kinds.count(ConflictKind.DIRECT), kinds.count(ConflictKind.SYNTAX), len(exact)
    )
