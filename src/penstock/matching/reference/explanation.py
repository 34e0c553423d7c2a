"""Explains why a query selects nodes of a tree, or none.

The prefixes of a path are queries: ``/a/b[p]/c`` has ``/a``, ``/a/b``, ``/a/b[p]`` and itself. The
first prefix that selects nothing identifies the failing step or predicate. If the full path selects
a node, its ancestors selected by the prefixes are the witnesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from penstock.documents.reference.reader import Reading
from penstock.language.xpath.ast import Axis, Path, Query, Step
from penstock.language.xpath.reference.lxml_xpath import compile_query
from penstock.matching.explanation_text import ExplanationText
from penstock.matching.limits import OTHER_NAMESPACES_BYTES_MAX, WITNESSES_MAX
from penstock.matching.line_numbers import Lines
from penstock.matching.other_namespaces import OtherNamespaces
from penstock.matching.reference.document_tree import Tree, ancestors, identity, path_to, tree_of
from penstock.matching.results import Explanation, Failure, Witness


@dataclass(frozen=True, slots=True)
class Explainer:
    """Explains queries on one document."""

    lines: Lines
    tree: Tree
    names: OtherNamespaces

    @classmethod
    def of(cls, document: bytes, reading: Reading) -> Explainer:
        """Creates an explainer from a reading of the document."""
        names = OtherNamespaces(
            lambda: reading.events if len(document) <= OTHER_NAMESPACES_BYTES_MAX else ()
        )
        return cls(Lines(document, reading.encoding), tree_of(reading.events), names)

    def explain(self, subscription: str, text: str, query: Query) -> Explanation:
        """Explains a query in normal form."""
        formatter = ExplanationText(query, self.names)
        if formatter.never:
            return Explanation(subscription, text, never=True)
        selected = compile_query(query)(self.tree.root)
        if not selected:
            return Explanation(
                subscription,
                text,
                failures=tuple(
                    self._failure(branch, steps.steps, formatter)
                    for branch, steps in enumerate(query.branches)
                ),
                namespaces=formatter.namespaces,
            )
        branch, chain = self._chain(query, selected[0])
        return Explanation(
            subscription,
            text,
            witnesses=self._witnesses(selected),
            witness_count=len(selected),
            steps=formatter.steps_taken(branch, self._witnesses(chain)),
            namespaces=formatter.namespaces,
        )

    def _chain(self, query: Query, selected: object) -> tuple[int, list[object]]:
        """The first branch that selects the node, and the node that each of its steps selects."""
        branch = next(
            branch
            for branch, path in enumerate(query.branches)
            if identity(selected) in map(identity, self._select(path.steps))
        )
        steps = query.branches[branch].steps
        chain = [selected]
        for number in range(len(steps) - 1, 0, -1):
            above = ancestors(chain[0])
            if steps[number].axis is Axis.CHILD:
                above = above[:1]
            by_step = self._select(steps[:number])
            # The nearest one; it exists because the node below was selected.
            chain.insert(0, next(each for each in above if each in by_step))
        return branch, chain

    def _failure(self, branch: int, steps: Sequence[Step], formatter: ExplanationText) -> Failure:
        """Evaluates the branch step by step, predicate by predicate, until nothing is selected."""
        reached: list[object] = []
        for number, step in enumerate(steps):
            for conditions in range(len(step.predicates) + 1):
                so_far = replace(step, predicates=step.predicates[:conditions])
                found = self._select((*steps[:number], so_far))
                if not found:
                    return formatter.failure(
                        branch,
                        number,
                        conditions - 1 if conditions else None,
                        reached=len(reached),
                        witnesses=self._witnesses(reached),
                    )
                reached = found
        raise AssertionError("the branch selects something")

    def _select(self, steps: Iterable[Step]) -> list[object]:
        return compile_query(Query((Path(tuple(steps)),)))(self.tree.root)

    def _witnesses(self, found: Sequence[object]) -> tuple[Witness, ...]:
        return tuple(
            Witness(path_to(each), span, self.lines.at(span.start))
            for each in found[:WITNESSES_MAX]
            for span in [self.tree.node(each).span]
        )
