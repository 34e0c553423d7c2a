"""Proves that a goal follows from a pattern, or that a pattern is unsatisfiable.

The facts of a pattern hold in some document. A goal (an expression or paths) is proved by following
the paths down each chain of the pattern, for all lengths of its ``//``, proving all predicates on
the way. This is exact on chains without predicates, and sound but incomplete otherwise.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.language.limits import MAX_PROOF_ASSUMPTIONS, MAX_PROOF_STEPS
from penstock.language.relations.path_universe import TextRule
from penstock.language.relations.reference.chain_search import Chain, Word, escape
from penstock.language.relations.reference.document_domain import DocumentDomain, Place
from penstock.language.relations.reference.goal_automaton import Goals, goals_of
from penstock.language.relations.reference.name_tests import exact
from penstock.language.relations.reference.position_conditions import (
    Counting,
    Placed,
    PositionExpr,
    clash,
    met_by_some,
)
from penstock.language.relations.reference.schema_obligations import Unavoidable
from penstock.language.relations.reference.tree_patterns import (
    NO_COUNTING,
    Node,
    Opaque,
    assemble,
    facts_of,
    with_condition,
)
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
    Not,
    Or,
    Path,
    StartsWith,
    Step,
    StringTest,
)
from penstock.language.xpath.value_tests import NOT_EMPTY, SELF, ValueTest, implies, unsatisfiable


class OutOfStepsError(Exception):
    """The step limit of a proof was reached; internal to the relations."""


GAVE_UP = (OutOfStepsError, RecursionError)
"""The exceptions of a proof that is too long or nested too deeply."""


class Prover:
    """Proves facts in one document domain; caches results and counts steps."""

    def __init__(self, domain: DocumentDomain) -> None:
        self.domain = domain
        self._steps_left = MAX_PROOF_STEPS
        self._assumptions = 0
        self._impossible: dict[tuple[Node, Place, Place], bool] = {}
        self._held: dict[tuple[Node, Place, Step], bool] = {}
        self._unavoidable: dict[Goals, Unavoidable] = {}

    def spend(self) -> None:
        """Counts a step; raises when the limit is reached."""
        self._steps_left -= 1
        if self._steps_left < 0:
            raise OutOfStepsError

    # Satisfied paths

    def missed(self, node: Node, place: Place, paths: tuple[Path, ...]) -> Word | None:
        """``None`` if one of the paths is satisfied below the node, else a counterexample.

        With predicates, the counterexample may be infeasible.
        """
        goals = goals_of(tuple(map(_without_last_position, paths)))
        missed: Word | None = ()
        if node.kind is not Kind.ELEMENT:
            return None if goals.start & goals.done else missed
        for chain in node.chains():
            missed = self.missed_on(chain, place, goals)
            if missed is None:
                return None
        return missed

    def missed_on(self, chain: Chain, place: Place, goals: Goals) -> Word | None:
        """The same for the nodes of one chain and the content that the schema requires."""
        certain = None
        if self.domain.schema is not None:
            certain = self._unavoidable.get(goals)
            if certain is None:
                certain = Unavoidable(self.domain, goals, self.spend)
                self._unavoidable[goals] = certain
        return escape(chain, place, goals, self, certain)

    def missed_above(self, chain: Chain, place: Place, goals: Goals) -> Word | None:
        """The same for the nodes of the chain only."""
        return escape(chain, place, goals, self, None)

    def step_holds(self, node: Node, place: Place, step: Step) -> bool:
        """Whether all predicates of a step are proved for a node."""
        key = (node, place, step)
        known = self._held.get(key)
        if known is None:
            known = self._held[key] = all(
                self.proves(
                    node,
                    place,
                    predicate,
                    Counting(step.kind, step.test, step.predicates[:index]),
                )
                for index, predicate in enumerate(step.predicates)
            )
        return known

    # Expressions

    def proves(self, node: Node, place: Place, expr: Expr, counting: Counting) -> bool:
        """Whether the expression provably holds for the node."""
        self.spend()
        if isinstance(expr, And):
            return all(self.proves(node, place, item, counting) for item in expr.items)
        if isinstance(expr, Or):
            return any(self.proves(node, place, item, counting) for item in expr.items)
        if isinstance(expr, Not):
            return self._refutes(node, place, expr.item, counting)
        if isinstance(expr, Exists):
            return not expr.path.steps or self.missed(node, place, (expr.path,)) is None
        if isinstance(expr, Compare | Contains | StartsWith):
            return self._proves_value(node, place, expr)
        if isinstance(expr, StringTest | Count | ComparePaths):
            return Opaque(expr) in node.facts.opaque
        return _proves_position(node, Placed(counting, expr))

    def _proves_value(
        self, node: Node, place: Place, expr: Compare | Contains | StartsWith
    ) -> bool:
        of_self = replace(expr, path=SELF)
        if not expr.path.steps:
            return implies(_values(node), ValueTest(of_self))
        some = Exists(with_condition(expr.path, of_self))
        if isinstance(expr, Compare):
            return self.proves(node, place, some, NO_COUNTING)
        if not expr.text:
            return True
        goal = ValueTest(of_self)
        return any(
            first.path == expr.path and implies((ValueTest(replace(first, path=SELF)),), goal)
            for first in node.facts.firsts
        ) or (self._selects_one(expr.path, place) and self.proves(node, place, some, NO_COUNTING))

    def _selects_one(self, path: Path, place: Place) -> bool:
        for step in path.steps:
            if step.axis is Axis.DESCENDANT:
                return False
            if not self.domain.at_most_one(place, step.kind, step.test):
                return False
            place = step.test
        return True

    def _refutes(self, node: Node, place: Place, expr: Expr, counting: Counting) -> bool:
        """Whether the expression provably fails for the node: assuming it leads to a
        contradiction."""
        if self._assumptions == MAX_PROOF_ASSUMPTIONS:
            return False
        self._assumptions += 1
        try:
            return all(
                self.impossible(assemble(node, place, node.facts + facts, self.domain), place, None)
                for facts in facts_of(expr, counting, self.domain)
            )
        finally:
            self._assumptions -= 1

    # Unsatisfiable patterns

    def impossible(self, node: Node, place: Place, parent: Place) -> bool:
        """Whether provably no node in a document of the domain has these facts."""
        key = (node, place, parent)
        known = self._impossible.get(key)
        if known is None:
            self.spend()
            known = self._impossible[key] = (
                self._value_impossible(node, place, parent)
                or (node.kind is not Kind.ELEMENT and bool(node.facts.children))
                or clash(node.facts.placed)
                or _contradict(node.facts.opaque)
                or any(self.child_impossible(child, place) for child in node.facts.children)
                or self._content_impossible(node, place)
                or any(
                    self.proves(node, place, absent, NO_COUNTING) for absent in node.facts.absent
                )
            )
        return known

    def child_impossible(self, child: Node, parent: Place) -> bool:
        """Whether provably no such child or descendant exists there."""
        return all(
            self.impossible(child, place, above)
            for above, place in self.domain.ways(parent, child.axis, child.kind, child.test)
        )

    def _value_impossible(self, node: Node, place: Place, parent: Place) -> bool:
        tests = _values(node)
        if not tests:
            return False
        values = None
        blank = False
        if place is not None and parent is not None and self.domain.schema is not None:
            if node.kind is Kind.ATTRIBUTE:
                values = self.domain.attribute(parent, place).values
            elif node.kind is Kind.TEXT:
                blank = self.domain.text(parent) is TextRule.SPACE
            elif not self.domain.elements(place) and self.domain.text(place) is TextRule.NONE:
                values = frozenset(("",))
        return unsatisfiable(tests, values=values, blank=blank)

    def _content_impossible(self, node: Node, place: Place) -> bool:
        """Whether the schema allows no element with all these children."""
        if self.domain.schema is None or place is None or node.kind is not Kind.ELEMENT:
            return False
        wanted = frozenset(
            (child.test.uri or "", child.test.local or "")
            for child in node.facts.children
            if child.axis is Axis.CHILD and child.kind is Kind.ELEMENT and exact(child.test)
        )
        return len(wanted) > 1 and not self.domain.admits(
            place, frozenset(self.domain.elements(place)), wanted
        )


def _values(node: Node) -> tuple[ValueTest, ...]:
    if node.kind is Kind.TEXT:
        return (*node.facts.values, NOT_EMPTY)
    return node.facts.values


def _contradict(opaque: tuple[Opaque, ...]) -> bool:
    return any(replace(each, holds=not each.holds) in opaque for each in opaque)


def _proves_position(node: Node, goal: Placed) -> bool:
    return clash((*node.facts.placed, goal.opposite()))


def _without_last_position(path: Path) -> Path:
    """The path without a final positional predicate such as ``[1]``.

    The path selects a node exactly if it does without that predicate.
    """
    if not path.steps:
        return path
    last = path.steps[-1]
    predicates = last.predicates
    while predicates and isinstance(predicates[-1], PositionExpr) and met_by_some(predicates[-1]):
        predicates = predicates[:-1]
    if predicates is last.predicates:
        return path
    return Path((*path.steps[:-1], replace(last, predicates=predicates)))
