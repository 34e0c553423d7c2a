"""Tree patterns: the facts that hold in a document in which a query selects a node.

A path becomes tree patterns, one per alternative of its ``or``s; ``and``, ``or`` and ``not`` are
eliminated, except that negated facts keep their original form. Nodes that must be identical (two
occurrences of one attribute) are merged. A pattern may be weaker than the query, never stronger:
facts dropped because of size only make the relations more conservative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from penstock.language.limits import MAX_CLAUSES
from penstock.language.relations.reference.document_domain import DocumentDomain, Place
from penstock.language.relations.reference.name_tests import ANY
from penstock.language.relations.reference.position_conditions import Counting, Placed
from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    ComparePaths,
    Contains,
    Count,
    Exists,
    Expr,
    Kind,
    NameTest,
    Not,
    Or,
    Path,
    StartsWith,
    Step,
    StringTest,
)
from penstock.language.xpath.string_functions import holds as string_holds
from penstock.language.xpath.value_tests import SELF, ValueTest, compare


@dataclass(frozen=True, slots=True)
class Opaque:
    """A condition that the relations do not look into, and whether it holds."""

    expr: StringTest | Count | ComparePaths
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one node."""

    values: tuple[ValueTest, ...] = ()
    children: tuple[Node, ...] = ()
    absent: tuple[Expr, ...] = ()
    """Nested paths, and conditions on their first nodes, that do not hold."""
    firsts: tuple[Contains | StartsWith, ...] = ()
    """Conditions on the first nodes of nested paths that hold."""
    placed: tuple[Placed, ...] = ()
    opaque: tuple[Opaque, ...] = ()
    """Conditions of which only their own truth is known."""

    def __add__(self, other: Facts) -> Facts:
        return Facts(
            self.values + other.values,
            self.children + other.children,
            self.absent + other.absent,
            self.firsts + other.firsts,
            self.placed + other.placed,
            self.opaque + other.opaque,
        )


NOTHING = Facts()


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node of a pattern; compared by identity, since results are cached by node."""

    axis: Axis
    kind: Kind
    test: NameTest
    facts: Facts = NOTHING
    spine: bool = False
    """Whether it is the selected node or one of its ancestors."""

    def bare(self) -> bool:
        """Whether the node has no facts besides its name and its spine child."""
        facts = self.facts
        own = facts.values or facts.absent or facts.firsts or facts.placed or facts.opaque
        return not own and all(child.spine for child in facts.children)

    def spine_nodes(self) -> tuple[Node, ...]:
        """The spine nodes below this one."""
        nodes: list[Node] = []
        onward = [child for child in self.facts.children if child.spine]
        while onward:
            nodes += onward
            onward = [child for child in onward[0].facts.children if child.spine]
        return tuple(nodes)

    def chains(self) -> Iterator[tuple[Node, ...]]:
        """The paths from this node to the leaves of the pattern."""
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


def documents(path: Path, domain: DocumentDomain) -> tuple[Node, ...]:
    """The document nodes of a path's patterns; the path matches if one of them does."""
    return tuple(
        assemble(Node(Axis.CHILD, Kind.ELEMENT, ANY, spine=True), None, facts, domain)
        for facts in _follow(path.steps, domain, spine=True)
    )


def assemble(node: Node, place: Place, facts: Facts, domain: DocumentDomain) -> Node:
    """The node with these facts; children that must be identical are merged."""
    children: list[Node] = []
    for child in facts.children:
        twin = next(
            (index for index, other in enumerate(children) if _same(place, other, child, domain)),
            None,
        )
        if twin is None:
            children.append(child)
        else:
            children[twin] = merge(children[twin], child, child.test, domain)
    return replace(
        node,
        facts=Facts(
            tuple(dict.fromkeys(facts.values)),
            tuple(children),
            tuple(dict.fromkeys(facts.absent)),
            tuple(dict.fromkeys(facts.firsts)),
            tuple(dict.fromkeys(facts.placed)),
            tuple(dict.fromkeys(facts.opaque)),
        ),
    )


def merge(one: Node, two: Node, test: NameTest, domain: DocumentDomain) -> Node:
    """The node with the facts of both."""
    bare = Node(one.axis, one.kind, test, spine=one.spine or two.spine)
    return assemble(bare, test, one.facts + two.facts, domain)


def _same(place: Place, one: Node, two: Node, domain: DocumentDomain) -> bool:
    return (
        one.axis is two.axis is Axis.CHILD
        and one.kind is two.kind
        and one.test == two.test
        and domain.at_most_one(place, one.kind, one.test)
    )


def _follow(steps: Sequence[Step], domain: DocumentDomain, *, spine: bool) -> list[Facts]:
    """The facts that the rest of a path adds to its context node, one child per alternative."""
    rest = [NOTHING]
    for step in reversed(steps):
        ways = [
            facts_of(predicate, Counting(step.kind, step.test, step.predicates[:index]), domain)
            for index, predicate in enumerate(step.predicates)
        ]
        bare = Node(step.axis, step.kind, step.test, spine=spine)
        rest = [
            Facts(children=(assemble(bare, step.test, facts, domain),))
            for facts in _all_of([*ways, rest])
        ]
    return rest


def facts_of(
    expr: Expr, counting: Counting, domain: DocumentDomain, *, holds: bool = True
) -> list[Facts]:
    """The alternatives in which an expression holds (or not) for a node; empty if impossible."""
    if isinstance(expr, Not):
        return facts_of(expr.item, counting, domain, holds=not holds)
    if isinstance(expr, And | Or):
        ways = [facts_of(item, counting, domain, holds=holds) for item in expr.items]
        if isinstance(expr, And) == holds:
            return _all_of(ways)
        return _bounded([facts for way in ways for facts in way])
    if isinstance(expr, Exists):
        if not expr.path.steps:
            return [NOTHING] if holds else []
        return _follow(expr.path.steps, domain, spine=False) if holds else [Facts(absent=(expr,))]
    if isinstance(expr, Compare | Contains | StartsWith):
        return _value_facts(expr, domain, holds)
    if isinstance(expr, StringTest | Count | ComparePaths):
        return _opaque_facts(expr, domain, holds)
    placed = Placed(counting, expr)
    return [Facts(placed=(placed if holds else placed.opposite(),))]


def _value_facts(
    expr: Compare | Contains | StartsWith, domain: DocumentDomain, holds: bool
) -> list[Facts]:
    if not expr.path.steps:
        return [Facts(values=(ValueTest(expr, holds),))]
    if isinstance(expr, Compare):
        some = with_condition(expr.path, replace(expr, path=SELF))
        return facts_of(Exists(some), NO_COUNTING, domain, holds=holds)
    if not expr.text:
        return [NOTHING] if holds else []
    if not holds:
        return [Facts(absent=(expr,))]
    some = with_condition(expr.path, replace(expr, path=SELF))
    first = Facts(firsts=(expr,))
    return [facts + first for facts in _follow(some.steps, domain, spine=False)]


def _opaque_facts(
    expr: StringTest | Count | ComparePaths, domain: DocumentDomain, holds: bool
) -> list[Facts]:
    """The truth of the condition, and the nodes without which it could not hold."""
    own = Facts(opaque=(Opaque(expr, holds),))
    match expr:
        case StringTest(path, functions, condition) if holds != string_holds(
            functions, condition, ""
        ):
            needed = [path]
        case Count(path, op, value) if holds != compare(0, op, value):
            needed = [path]
        case ComparePaths(left, _, right) if holds:
            needed = [left, right]
        case _:
            needed = []
    ways = [_follow(path.steps, domain, spine=False) for path in needed if path.steps]
    return _all_of([*ways, [own]])


NO_COUNTING = Counting(Kind.ELEMENT, ANY, ())
"""The same for expressions without a position at the top level."""


def with_condition(path: Path, condition: Expr) -> Path:
    """The path restricted to nodes that satisfy the condition."""
    last = path.steps[-1]
    return Path((*path.steps[:-1], replace(last, predicates=(*last.predicates, condition))))


def _all_of(ways: list[list[Facts]]) -> list[Facts]:
    """All combinations of alternatives; if there are too many, only those of the last are kept.

    The last is the rest of the path, so the selected node is preserved.
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
