"""A query as facts: what is known of a document that the query selects a node in.

A path becomes tree patterns, one for each way to satisfy its ``or``s; ``and``, ``or`` and ``not``
are gone, except that what is known *not* to hold is kept as it was written. Nodes that must be one
and the same (two mentions of one attribute) are merged. A pattern may say less than the query,
never more: what is dropped for being too large only makes the relations more careful.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from penstock.language.limits import MAX_CLAUSES
from penstock.language.relations.counting import Counting, Placed
from penstock.language.relations.name_tests import ANY
from penstock.language.relations.world import Place, World
from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    Contains,
    Exists,
    Expr,
    Kind,
    NameTest,
    Not,
    Or,
    Path,
    StartsWith,
    Step,
)
from penstock.language.xpath.value_tests import SELF, ValueTest


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one node."""

    values: tuple[ValueTest, ...] = ()
    children: tuple[Node, ...] = ()
    absent: tuple[Expr, ...] = ()
    """Nested paths, and conditions on their first node, that do not hold."""
    firsts: tuple[Contains | StartsWith, ...] = ()
    """Conditions on the first node of a nested path that hold."""
    placed: tuple[Placed, ...] = ()

    def __add__(self, other: Facts) -> Facts:
        return Facts(
            self.values + other.values,
            self.children + other.children,
            self.absent + other.absent,
            self.firsts + other.firsts,
            self.placed + other.placed,
        )


NOTHING = Facts()


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node of a pattern; compared by identity, since results are remembered by node."""

    axis: Axis
    kind: Kind
    test: NameTest
    facts: Facts = NOTHING
    spine: bool = False
    """Whether it lies on the way to the selected node, or is that node."""

    def bare(self) -> bool:
        """Whether nothing is known of the node but its name and what is selected below it."""
        facts = self.facts
        return not (facts.values or facts.absent or facts.firsts or facts.placed) and all(
            child.spine for child in facts.children
        )

    def spine_nodes(self) -> tuple[Node, ...]:
        """The nodes below this one on the way to the selected one."""
        nodes: list[Node] = []
        onward = [child for child in self.facts.children if child.spine]
        while onward:
            nodes += onward
            onward = [child for child in onward[0].facts.children if child.spine]
        return tuple(nodes)

    def chains(self) -> Iterator[tuple[Node, ...]]:
        """The ways from this node down to the leaves of the pattern."""
        chain: list[Node] = []
        waiting = [(0, child) for child in reversed(self.facts.children)]
        if not waiting:
            yield ()
        while waiting:
            depth, node = waiting.pop()
            chain[depth:] = [node]
            if node.facts.children:
                waiting += [(depth + 1, child) for child in reversed(node.facts.children)]
            else:
                yield tuple(chain)


def documents(path: Path, world: World) -> tuple[Node, ...]:
    """The document nodes of the patterns of a path: it matches where one of them does."""
    return tuple(
        assemble(Node(Axis.CHILD, Kind.ELEMENT, ANY, spine=True), None, facts, world)
        for facts in _follow(path.steps, world, spine=True)
    )


def assemble(node: Node, place: Place, facts: Facts, world: World) -> Node:
    """The node with these facts, children that must be one and the same merged."""
    children: list[Node] = []
    for child in facts.children:
        twin = next(
            (index for index, other in enumerate(children) if _same(place, other, child, world)),
            None,
        )
        if twin is None:
            children.append(child)
        else:
            children[twin] = merge(children[twin], child, child.test, world)
    return replace(
        node,
        facts=Facts(
            tuple(dict.fromkeys(facts.values)),
            tuple(children),
            tuple(dict.fromkeys(facts.absent)),
            tuple(dict.fromkeys(facts.firsts)),
            tuple(dict.fromkeys(facts.placed)),
        ),
    )


def merge(one: Node, two: Node, test: NameTest, world: World) -> Node:
    """The node of which all facts of both hold."""
    bare = Node(one.axis, one.kind, test, spine=one.spine or two.spine)
    return assemble(bare, test, one.facts + two.facts, world)


def _same(place: Place, one: Node, two: Node, world: World) -> bool:
    return (
        one.axis is two.axis is Axis.CHILD
        and one.kind is two.kind
        and one.test == two.test
        and world.at_most_one(place, one.kind, one.test)
    )


def _follow(steps: Sequence[Step], world: World, *, spine: bool) -> list[Facts]:
    """What the rest of a path says of the node it starts from: each way one child."""
    rest = [NOTHING]
    for step in reversed(steps):
        ways = [
            facts_of(predicate, Counting(step.kind, step.test, step.predicates[:index]), world)
            for index, predicate in enumerate(step.predicates)
        ]
        bare = Node(step.axis, step.kind, step.test, spine=spine)
        rest = [
            Facts(children=(assemble(bare, step.test, facts, world),))
            for facts in _all_of([*ways, rest])
        ]
    return rest


def facts_of(expr: Expr, counting: Counting, world: World, *, holds: bool = True) -> list[Facts]:
    """The ways in which an expression holds (or does not) of a node; none where it cannot."""
    if isinstance(expr, Not):
        return facts_of(expr.item, counting, world, holds=not holds)
    if isinstance(expr, And | Or):
        ways = [facts_of(item, counting, world, holds=holds) for item in expr.items]
        if isinstance(expr, And) == holds:
            return _all_of(ways)
        return _bounded([facts for way in ways for facts in way])
    if isinstance(expr, Exists):
        if not expr.path.steps:
            return [NOTHING] if holds else []
        return _follow(expr.path.steps, world, spine=False) if holds else [Facts(absent=(expr,))]
    if isinstance(expr, Compare | Contains | StartsWith):
        return _value_facts(expr, world, holds)
    placed = Placed(counting, expr)
    return [Facts(placed=(placed if holds else placed.opposite(),))]


def _value_facts(expr: Compare | Contains | StartsWith, world: World, holds: bool) -> list[Facts]:
    if not expr.path.steps:
        return [Facts(values=(ValueTest(expr, holds),))]
    if isinstance(expr, Compare):
        some = with_condition(expr.path, replace(expr, path=SELF))
        return facts_of(Exists(some), NO_COUNTING, world, holds=holds)
    if not expr.text:
        return [NOTHING] if holds else []
    if not holds:
        return [Facts(absent=(expr,))]
    some = with_condition(expr.path, replace(expr, path=SELF))
    first = Facts(firsts=(expr,))
    return [facts + first for facts in _follow(some.steps, world, spine=False)]


NO_COUNTING = Counting(Kind.ELEMENT, ANY, ())
"""For expressions in which no position is counted at the outermost level."""


def with_condition(path: Path, condition: Expr) -> Path:
    """The nodes of the path of which the condition holds too."""
    last = path.steps[-1]
    return Path((*path.steps[:-1], replace(last, predicates=(*last.predicates, condition))))


def _all_of(ways: list[list[Facts]]) -> list[Facts]:
    """One way of each, in all combinations; where they are too many, only the last is kept apart.

    The last is the rest of the path, so that what it selects is not lost.
    """
    if prod(map(len, ways)) > MAX_CLAUSES:
        ways = [*(way if len(way) <= 1 else [NOTHING] for way in ways[:-1]), ways[-1]]
    combined = []
    for choice in product(*ways):
        facts = NOTHING
        for each in choice:
            facts = facts + each if facts is not NOTHING else each
        combined.append(facts)
    return combined


def _bounded(ways: list[Facts]) -> list[Facts]:
    return ways if len(ways) <= MAX_CLAUSES else [NOTHING]
