"""Decides statements on the server's document: applies operations, undoes what stands in their way.

Two operations conflict when neither author's base holds the other. A later operation that can be
applied is applied; whoever is overwritten or deleted under gets a report. Only if it cannot be
applied is something undone: every delete that hides what it refers to. A move that would close a
cycle is undone itself. Because operations name identities, an update never prevents another
operation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from penstock.errors import PenstockError
from penstock.language.updates.ast import Name
from penstock.sync.affected.change import Change
from penstock.sync.document_tree import DocumentTree, NodeId, NodeKind
from penstock.sync.effect_changes import apply_observed
from penstock.sync.messages import SubmittedStatement
from penstock.sync.operations import (
    Copy,
    CopyAttribute,
    Delete,
    Insert,
    Move,
    Operation,
    Rename,
    Restore,
    SetAttribute,
    SetValue,
    apply,
    attribute_value,
    created,
    needed,
)
from penstock.sync.reports import Outcome, Report
from penstock.sync.statement_work import StatementWork
from penstock.sync.update_log import AddressedReport, LogEntry, UpdateLog

_NUMBERED: Final = re.compile(r"([0-9]{1,10})\.[0-9]{1,20}")
"""An identity that a replica creates."""


@dataclass(frozen=True, slots=True)
class Author:
    """Who made a decided operation."""

    version: int
    client: str
    number: int


Aspect: TypeAlias = tuple[str, str, str]
"""What an operation sets of a node: its name, its value, its place, or an attribute."""


def aspect_of(operation: Operation) -> tuple[NodeId, Aspect] | None:
    """The node and what the operation sets of it; ``None`` for what adds or hides nodes."""
    match operation:
        case SetValue(node):
            return node, ("value", "", "")
        case Rename(node):
            return node, ("name", "", "")
        case Move(node):
            return node, ("place", "", "")
        case SetAttribute(node, name) | CopyAttribute(_, name, node):
            return node, ("attribute", name.uri, name.local)
        case _:
            return None


def touched(operation: Operation) -> NodeId:
    """The node that an applied operation is about."""
    match operation:
        case Insert(nodes):
            return nodes[0].id
        case Copy():
            return operation.top
        case Delete(node) | Restore(node) | Move(node) | SetValue(node):
            return node
        case Rename(node) | SetAttribute(node) | CopyAttribute(_, _, node):
            return node


def is_in_effect(operation: Operation, tree: DocumentTree) -> bool:
    """Whether an operation that sets something would change nothing."""
    match operation:
        case SetValue(node, value):
            return tree.node(node).value == value
        case Rename(node, name):
            return tree.node(node).name == name
        case SetAttribute(node, name, value):
            is_element = tree.node(node).kind is NodeKind.ELEMENT
            return is_element and attribute_value(tree, node, name) == value
        case _:
            return False


class History:
    """Who deleted and who set what, within the log."""

    def __init__(self) -> None:
        self.deletions: dict[NodeId, list[Author]] = {}
        """Who deleted a node that is deleted."""
        self.writers: dict[tuple[NodeId, Aspect], list[Author]] = {}
        """Who set an aspect of a node to what it is."""
        self.changes: dict[NodeId, list[Author]] = {}
        """Who changed a node, in order; deletions are no changes."""

    def record(self, effect: Operation, author: Author, *, was_there: bool = False) -> None:
        """An effect was applied, or counts as applied because it was there already."""
        if isinstance(effect, Delete):
            self.deletions.setdefault(effect.node, []).append(author)
        else:
            authors = self.changes.setdefault(touched(effect), [])
            if not authors or authors[-1] != author:
                authors.append(author)
        if isinstance(effect, Restore):
            self.deletions.pop(effect.node, None)
        aspect = aspect_of(effect)
        if aspect is not None:
            if not was_there:
                self.writers[aspect] = []
            self.writers.setdefault(aspect, []).append(author)

    def forget(self, version: int) -> None:
        """Drops what happened up to a version."""
        # The first author deleted the node; what others did then had no effect.
        self.deletions = {
            node: authors
            for node, authors in self.deletions.items()
            if authors[0].version > version
        }
        self.writers = {
            key: [author for author in authors if author.version > version]
            for key, authors in self.writers.items()
            if authors[-1].version > version
        }
        for node, authors in list(self.changes.items()):
            later = [author for author in authors if author.version > version]
            if later:
                self.changes[node] = later
            else:
                del self.changes[node]


@dataclass(slots=True)
class Decision:
    """What becomes of a statement."""

    effects: list[Operation] = field(default_factory=list)
    reports: list[AddressedReport] = field(default_factory=list)


class Refused(Exception):  # noqa: N818
    """An operation is not applied."""

    def __init__(self, outcome: Outcome, node: NodeId, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.node = node


class StatementDecider:
    """Decides the statements of one document, in the order of their arrival."""

    def __init__(self, tree: DocumentTree, log: UpdateLog, history: History) -> None:
        self._tree = tree
        self._log = log
        self._history = history
        self._changes: list[Change] = []

    def take_changes(self) -> list[Change]:
        """What the statements since the last call touched."""
        changes, self._changes = self._changes, []
        return changes

    def decide(
        self,
        client: str,
        replicas: frozenset[int],
        statement: SubmittedStatement,
        work: StatementWork,
    ) -> LogEntry:
        """Applies what can be applied of a statement; returns its log entry.

        The tree must be at the version of the entry.
        """
        author = Author(self._log.version + 1, client, statement.number)
        run = _StatementRun(
            self._tree,
            self._history,
            author,
            statement.base,
            frozenset(statement.unseen),
            replicas,
            self._changes,
            work,
        )
        for operation in statement.operations:
            run.run(operation)
        run.tell_deleted_under()
        return LogEntry(
            author.version,
            client,
            statement.number,
            statement.base,
            tuple(run.decision.effects),
            tuple(dict.fromkeys(run.decision.reports)),
            statement.text,
        )


@dataclass(slots=True)
class _StatementRun:
    tree: DocumentTree
    history: History
    author: Author
    base: int
    unseen: frozenset[NodeId]
    replicas: frozenset[int]
    changes: list[Change]
    work: StatementWork
    deleted: set[NodeId] = field(default_factory=set)
    """Nodes that the statement deleted."""
    decision: Decision = field(default_factory=Decision)

    def run(self, operation: Operation) -> None:
        """Decides an operation."""
        try:
            self._count(operation)
            self._check_identities(operation)
            if isinstance(operation, Delete):
                self._delete(operation)
            else:
                self._change(operation)
        except Refused as refused:
            self._tell(self.author, refused.outcome, refused.node, "", str(refused))

    def _count(self, operation: Operation) -> None:
        try:
            self.work.add(operation)
        except PenstockError as refused:
            raise Refused(Outcome.REFUSED, touched(operation), refused.message) from None

    def _check_identities(self, operation: Operation) -> None:
        for node in created(operation):
            numbered = _NUMBERED.fullmatch(node)
            if numbered is None or int(numbered[1]) not in self.replicas:
                raise Refused(Outcome.REFUSED, node, "the identity is not one of the client's")

    def _delete(self, operation: Delete) -> None:
        node = operation.node
        if not self._exists(node):
            raise Refused(Outcome.REFUSED, node, "the deleted node does not exist")
        is_new = node not in self.tree.hidden_by(node)
        # If the effect is there already, both authors have deleted the node.
        self._apply(operation)
        if is_new:
            self.deleted.add(node)

    def _change(self, operation: Operation) -> None:
        if isinstance(operation, Restore):
            self._restore(operation)
            return
        for node in needed(operation):
            if not self._exists(node):
                raise Refused(Outcome.REFUSED, node, "a node that it refers to does not exist")
        if isinstance(operation, Move):
            self._check_cycle(operation)
        hidden = [each for node in needed(operation) for each in self.tree.hidden_by(node)]
        before = len(self.decision.effects), len(self.decision.reports), len(self.changes)
        deleted = {node: self.history.deletions[node] for node in hidden}
        self._reveal(hidden)
        try:
            effect = self._concrete(operation)
            if is_in_effect(effect, self.tree):
                self._record(effect, was_there=True)
            else:
                self._tell_overwritten(effect)
                self._apply(effect)
        except Refused:
            # What was revealed for nothing is hidden again.
            for node in deleted:
                self.tree.delete(node)
                self.history.changes[node].pop()
            self.history.deletions.update(deleted)
            del self.decision.effects[before[0] :]
            del self.decision.reports[before[1] :]
            del self.changes[before[2] :]
            raise

    def _restore(self, operation: Restore) -> None:
        node = operation.node
        if not self._exists(node):
            raise Refused(Outcome.REFUSED, node, "the deleted node does not exist any more")
        hidden = self.tree.hidden_by(node)
        if node not in hidden:
            return
        deleters = self.history.deletions[node]
        others = [each for each in deleters if each.client != self.author.client]
        if len(others) == len(deleters):
            # The author's own deletion was undone before.
            raise Refused(Outcome.REFUSED, node, "another client deleted the node")
        self._reveal(each for each in hidden if each != node)
        for deleter in others:
            reason = "another client, who had deleted the same, undid that"
            self._tell(deleter, Outcome.UNDONE, node, self.author.client, reason)
        self._apply(operation)

    def _exists(self, node: NodeId) -> bool:
        try:
            # What was deleted before the log starts does not exist, even if the tree has it still.
            return self.tree.exists(node) and all(
                each in self.history.deletions for each in self.tree.hidden_by(node)
            )
        except PenstockError as malformed:
            raise Refused(Outcome.REFUSED, node, malformed.message) from None

    def _check_cycle(self, operation: Move) -> None:
        if self.tree.is_inside(operation.place.parent, operation.node):
            reason = "the target was moved into the node meanwhile"
            raise Refused(Outcome.UNDONE, operation.node, reason)

    def _reveal(self, hidden: Iterable[NodeId]) -> None:
        """Undoes every delete in the way, if the author knew none of them."""
        nodes = list(dict.fromkeys(hidden))
        for node in nodes:
            if any(self._knows(author) for author in self.history.deletions[node]):
                raise Refused(Outcome.REFUSED, node, "a node that it refers to was deleted before")
        for node in nodes:
            self._count(Restore(node))
        for node in nodes:
            for deleter in self.history.deletions[node]:
                reason = "another client changed something in what was deleted"
                self._tell(deleter, Outcome.UNDONE, node, self.author.client, reason)
            self._apply(Restore(node))

    def _knows(self, other: Author) -> bool:
        """Whether the base of this statement's author holds another's operation."""
        return other.version <= self.base or other.client == self.author.client

    def _has_seen(self, other: Author, is_unseen: bool) -> bool:
        """The same, about nodes that the author's cache may not have had."""
        return other.client == self.author.client if is_unseen else self._knows(other)

    def _concrete(self, operation: Operation) -> Operation:
        """The operation with the content that the server has now."""
        if not isinstance(operation, CopyAttribute):
            return operation
        value = self._attribute(operation.source, operation.name)
        if value is None:
            reason = "the copied attribute does not exist any more"
            raise Refused(Outcome.REFUSED, operation.source, reason)
        return SetAttribute(operation.node, operation.name, value)

    def _attribute(self, node: NodeId, name: Name) -> str | None:
        try:
            return attribute_value(self.tree, node, name)
        except PenstockError as refused:
            raise Refused(Outcome.REFUSED, node, refused.message) from None

    def _apply(self, effect: Operation) -> None:
        try:
            change = apply_observed(effect, self.tree, apply)
        except PenstockError as refused:
            outcome = Outcome.UNDONE if refused.code == "update.cycle" else Outcome.REFUSED
            raise Refused(outcome, touched(effect), refused.message) from None
        if isinstance(effect, Insert | Move | Copy):
            effect = replace(effect, place=self.tree.recorded_place(touched(effect)))
        self._record(effect)
        if change is not None:
            self.changes.append(change)

    def _record(self, effect: Operation, *, was_there: bool = False) -> None:
        self.decision.effects.append(effect)
        self.history.record(effect, self.author, was_there=was_there)

    def _tell_overwritten(self, effect: Operation) -> None:
        aspect = aspect_of(effect)
        writers = () if aspect is None else self.history.writers.get(aspect, ())
        node = touched(effect)
        for writer in writers:
            if not self._has_seen(writer, node in self.unseen):
                reason = "another client, who did not know it, set the same later"
                self._tell(writer, Outcome.OVERWRITTEN, node, self.author.client, reason)

    def tell_deleted_under(self) -> None:
        """Tells the authors of unknown operations inside the subtrees that the statement deleted.

        Once for all of them: many nodes may have changed, and the statement may have many
        deletions. What is looked at is the nodes that were deleted, or those that were changed,
        whichever are fewer.
        """
        if not self.deleted:
            return
        unseen = self.deleted & self.unseen
        is_unseen: dict[NodeId, bool] = {}
        unknown = [
            (author, node)
            for node in self._changed_and_deleted()
            for author in self.history.changes[node]
            if not self._has_seen(author, self._is_inside(node, unseen, is_unseen))
        ]
        for author, node in sorted(unknown, key=lambda each: each[0].version):
            reason = "another client, who did not know it, deleted the node"
            self._tell(author, Outcome.DELETED_UNDER, node, self.author.client, reason)

    def _changed_and_deleted(self) -> Iterable[NodeId]:
        """The nodes that were changed within the log, and are in subtrees that the statement
        deleted."""
        changed = self.history.changes
        deleted: dict[NodeId, None] = {}
        is_covered: dict[NodeId, bool] = {}
        for top in sorted(self.deleted):
            parent = self.tree.parent(top)
            if parent is not None and self._is_inside(parent, self.deleted, is_covered):
                continue  # It is listed with the one above it.
            count_max = len(changed) - len(deleted) + 1
            deleted.update(dict.fromkeys(self.tree.present_subtree(top, count_max)))
            if len(deleted) > len(changed):
                is_inside: dict[NodeId, bool] = {}
                return [node for node in changed if self._is_inside(node, self.deleted, is_inside)]
        return [node for node in deleted if node in changed]

    def _is_inside(self, node: NodeId, tops: Collection[NodeId], known: dict[NodeId, bool]) -> bool:
        """Whether a node is one of others or below one; ``known`` has what was found about them."""
        if not tops:
            return False
        path: list[NodeId] = []
        at: NodeId | None = node
        while at is not None and at not in known and at not in tops:
            path.append(at)
            at = self.tree.parent(at)
        found = at is not None and (at in tops or known[at])
        known.update(dict.fromkeys(path, found))
        return found

    def _tell(self, to: Author, outcome: Outcome, node: NodeId, by: str, reason: str) -> None:
        report = Report(outcome, to.number, node, by, reason)
        self.decision.reports.append(AddressedReport(to.client, report))
