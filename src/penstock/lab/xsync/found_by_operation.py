"""False positives and missed clients by kind of operation, with predicates and positions."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lxml import etree

from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import Cell, ResultTable
from penstock.lab.xsync.document_types import Expressions, Labels, Population, RandomDtd
from penstock.lab.xsync.engines import XSyncEngine, dtd_of
from penstock.lab.xsync.false_positives import choose_author, random_document
from penstock.lab.xsync.scale import DEPTH_MAX, Scale
from penstock.language.updates.ast import Name
from penstock.sync import DocumentTree, SyncSubscription
from penstock.sync.affected.affected_index import AffectedIndex
from penstock.sync.document_tree import NewNode, NodeId, NodeKind, Place
from penstock.sync.effect_changes import apply_observed
from penstock.sync.operations import (
    Copy,
    Delete,
    Insert,
    Move,
    Operation,
    Rename,
    SetValue,
    apply,
)

PENSTOCK, DOWN, DOWN_ALL = "Penstock", "XSync, DOWN", "XSync, DOWN-ALL"

ATTEMPTS_MAX: Final = 200
"""Random operations that are tried until the document type allows one."""

_OWN: Final = "9.1"
"""The identity of what an operation creates."""


@dataclass(frozen=True, slots=True)
class TriedOperation:
    """An operation, and the paths of the statement that it comes from."""

    operation: Operation
    target: Labels
    """The label path of the statement's target, or of what it inserts."""
    source: Labels | None = None
    """That of the sub path: what is copied or moved."""


def found_by_operation(scale: Scale, progress: Progress) -> ResultTable:
    """Change a document by each kind of operation; each engine names those affected."""
    dtd = dtd_of(20)
    chance = random.Random(21)
    tree = DocumentTree.read(etree.tostring(random_document(dtd, chance)))
    population = _mixed(dtd, scale.judged_clients)
    judge = _Judge(population, tree, chance)
    rows: list[tuple[Cell, ...]] = []
    for kind in _OPERATIONS:
        progress(f"lab xsync: false positives, {kind}")
        for engine, (found, affected, missed) in judge.totals(
            kind, scale.judged_operations
        ).items():
            hits = affected - missed
            wrong = 100 * (found - hits) / found if found else 0.0
            operations = scale.judged_operations
            cells = found / operations, affected / operations, wrong, missed / operations
            rows.append((kind, engine, *cells))
    return ResultTable(
        "false-positives-operations",
        "False positives and missed clients, by operation",
        ("operation", "engine", "found", "affected", "false positives %", "missed"),
        tuple(rows),
        (
            f"{len(population.queries)} clients; half of the subscriptions end with a predicate or"
            " a position, which XSync ignores. XSync is given the target's path below what the"
            " author subscribed to, and for copies and moves also the path of the source, in a"
            " second search. Affected: the restriction differs. Means of an operation.",
        ),
    )


def _mixed(dtd: RandomDtd, count: int) -> Population:
    """Clients with expressions of every kind."""
    lengths = range(DEPTH_MAX + 1)
    parts = [
        Population.draw(dtd, kind, max(1, count // len(Expressions)), lengths, seed=21)
        for kind in Expressions
    ]
    return Population(
        dtd,
        Expressions.SIMPLE,
        [query for part in parts for query in part.queries],
        [labels for part in parts for labels in part.labels],
    )


class _Judge:
    """Both engines, and the restrictions before and after an operation."""

    def __init__(self, population: Population, tree: DocumentTree, chance: random.Random) -> None:
        self._population = population
        self._tree = tree
        self._chance = random.Random()
        queries = [
            _with_predicate(query, labels, population.dtd, chance)
            for query, labels in zip(population.queries, population.labels, strict=True)
        ]
        self._compiled = [SyncSubscription(query).compiled for query in queries]
        self._xsync = XSyncEngine(population)
        self._index = AffectedIndex()
        refused = self._index.add_many(map(str, range(len(queries))), queries)
        assert not refused
        self._before = self._restrictions()

    def _restrictions(self) -> list[bytes]:
        tree = self._tree
        return [tree.restricted(tree.view(query)).canonical_xml() for query in self._compiled]

    def totals(self, kind: str, operations: int) -> dict[str, tuple[int, int, int]]:
        """By engine: clients found, affected and missed, summed over operations."""
        self._chance = random.Random(f"21/{kind}")
        totals: dict[str, tuple[int, int, int]] = {}
        for _ in range(operations):
            tried = self._random_operation(kind)
            affected, answers = self._answers(tried)
            for engine, found in answers.items():
                sums = totals.get(engine, (0, 0, 0))
                counts = len(found), len(affected), len(affected - found)
                totals[engine] = (sums[0] + counts[0], sums[1] + counts[1], sums[2] + counts[2])
        return totals

    def _random_operation(self, kind: str) -> TriedOperation:
        make = _OPERATIONS[kind]
        for _ in range(ATTEMPTS_MAX):
            tried = make(self._tree, self._population.dtd, self._chance)
            if tried is not None:
                return tried
        raise AssertionError(f"the document type allows no {kind}")

    def _answers(self, tried: TriedOperation) -> tuple[set[int], Mapping[str, frozenset[int]]]:
        tree = self._tree
        tree.set_version(1)
        change = apply_observed(tried.operation, tree, apply)
        after = self._restrictions()
        tree.undo_after(0)
        pairs = zip(self._before, after, strict=True)
        affected = {client for client, (before, now) in enumerate(pairs) if before != now}
        ours = () if change is None else self._index.affected(change).handles
        author, update = choose_author(self._population, tried.target, self._chance)
        second: frozenset[int] = frozenset()
        if tried.source is not None:
            second = frozenset(self._xsync.search_path(_path_text(tried.source)).clients)
        return affected, {
            PENSTOCK: frozenset(ours),
            DOWN: second | frozenset(self._xsync.search(author, update, down_all=False).clients),
            DOWN_ALL: second | frozenset(self._xsync.search(author, update, down_all=True).clients),
        }


def _with_predicate(query: str, labels: Labels, dtd: RandomDtd, chance: random.Random) -> str:
    """The subscription; every other one gets a predicate or a position at its end."""
    if query == "/":
        return "/*"
    if chance.random() < 0.5:
        return query
    predicates = ["[1]", "[last()]", "[. > 4]"]
    children = dtd.children[labels[-1]]
    if children:
        child = f"e{chance.choice(children)}"
        predicates += [f"[{child}]", f"[not({child})]", f"[{child} > 4]"]
    return query + chance.choice(predicates)


# Operations that the document type allows; ``None`` if a random choice is not possible.


def _labels(tree: DocumentTree, node: NodeId) -> Labels:
    return tuple(int(local[1:]) for _, local in tree.label_path(node))


def _path_text(labels: Labels) -> str:
    return "".join(f"/e{label}" for label in labels)


def _elements(tree: DocumentTree) -> list[NodeId]:
    assert tree.root is not None
    nodes = tree.subtree(tree.root)
    return [node for node in nodes if tree.node(node).kind is NodeKind.ELEMENT]


def _below_root(tree: DocumentTree, chance: random.Random) -> NodeId:
    return chance.choice(_elements(tree)[1:])


def _delete(tree: DocumentTree, _dtd: RandomDtd, chance: random.Random) -> TriedOperation | None:
    node = _below_root(tree, chance)
    return TriedOperation(Delete(node), _labels(tree, node))


def _insert(tree: DocumentTree, dtd: RandomDtd, chance: random.Random) -> TriedOperation | None:
    parent = chance.choice(_elements(tree))
    labels = _labels(tree, parent)
    children = dtd.children[labels[-1]]
    if not children or len(labels) == DEPTH_MAX:
        return None
    child = chance.choice(children)
    made = NewNode(_OWN, 0, NodeKind.ELEMENT, Name("", "", f"e{child}"), "", (), ())
    return TriedOperation(Insert((made,), Place(parent)), (*labels, child))


def _rename(tree: DocumentTree, dtd: RandomDtd, chance: random.Random) -> TriedOperation | None:
    node = _below_root(tree, chance)
    labels = _labels(tree, node)
    below = {_labels(tree, each)[-1] for each in tree.children(node) if _is_element(tree, each)}
    others = [
        name
        for name in dtd.children[labels[-2]]
        if name != labels[-1] and below <= set(dtd.children[name])
    ]
    if not others:
        return None
    name = Name("", "", f"e{chance.choice(others)}")
    return TriedOperation(Rename(node, name), labels)


def _move(tree: DocumentTree, dtd: RandomDtd, chance: random.Random) -> TriedOperation | None:
    placed = _place(tree, dtd, chance)
    if placed is None:
        return None
    node, parent = placed
    return TriedOperation(Move(node, Place(parent)), _labels(tree, parent), _labels(tree, node))


def _copy(tree: DocumentTree, dtd: RandomDtd, chance: random.Random) -> TriedOperation | None:
    placed = _place(tree, dtd, chance)
    if placed is None:
        return None
    node, parent = placed
    operation = Copy(node, _OWN, Place(parent))
    return TriedOperation(operation, _labels(tree, parent), _labels(tree, node))


def _value(tree: DocumentTree, _dtd: RandomDtd, chance: random.Random) -> TriedOperation | None:
    node = _below_root(tree, chance)
    texts = [each for each in tree.children(node) if not _is_element(tree, each)]
    if not texts:
        return None
    value = str(chance.randrange(10))
    return TriedOperation(SetValue(chance.choice(texts), value), _labels(tree, node))


def _place(
    tree: DocumentTree, dtd: RandomDtd, chance: random.Random
) -> tuple[NodeId, NodeId] | None:
    """An element, and another parent that it may have."""
    node, parent = _below_root(tree, chance), chance.choice(_elements(tree))
    own, above = _labels(tree, node), _labels(tree, parent)
    if tree.is_inside(parent, node) or own[-1] not in dtd.children[above[-1]]:
        return None
    height = max(len(_labels(tree, each)) for each in tree.subtree(node)) - len(own) + 1
    return (node, parent) if len(above) + height <= DEPTH_MAX else None


def _is_element(tree: DocumentTree, node: NodeId) -> bool:
    return tree.node(node).kind is NodeKind.ELEMENT


_OPERATIONS: Final[
    Mapping[str, Callable[[DocumentTree, RandomDtd, random.Random], TriedOperation | None]]
] = {
    "delete": _delete,
    "insert": _insert,
    "rename": _rename,
    "move": _move,
    "copy": _copy,
    "value": _value,
}
