"""Why a query selects something in a tree, or why nothing.

A path's prefixes are queries themselves: ``/a/b[p]/c`` has ``/a``, ``/a/b``, ``/a/b[p]`` and
itself. The first that selects nothing names the step, or predicate, at which the document failed;
where the whole path selects something, the nodes that its prefixes select above are the witnesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from penstock.documents.reference.reader import Reading
from penstock.language.xpath.ast import Axis, Path, Query, Step
from penstock.matching.explanation_text import Wording
from penstock.matching.limits import WITNESSES_MAX
from penstock.matching.line_numbers import Lines
from penstock.matching.reference.document_tree import Tree, ancestors, identity, path_to, tree_of
from penstock.matching.reference.lxml_xpath import compile_query
from penstock.matching.results import Explanation, Failure, Witness


@dataclass(frozen=True, slots=True)
class Explainer:
    """Explains queries on one document."""

    lines: Lines
    tree: Tree

    @classmethod
    def of(cls, document: bytes, reading: Reading) -> Explainer:
        """For a document that was read."""
        return cls(Lines(document, reading.encoding), tree_of(reading.events))

    def explain(self, subscription: str, text: str, query: Query) -> Explanation:
        """Why the query, in normal form, selects something, or why nothing."""
        wording = Wording(query)
        selected = compile_query(query)(self.tree.root)
        if not selected:
            return Explanation(
                subscription,
                text,
                failures=tuple(
                    self._failure(branch, steps.steps, wording)
                    for branch, steps in enumerate(query.branches)
                ),
                namespaces=wording.namespaces,
            )
        branch, chain = self._chain(query, selected[0])
        return Explanation(
            subscription,
            text,
            witnesses=self._witnesses(selected),
            witness_count=len(selected),
            steps=wording.steps_taken(branch, self._witnesses(chain)),
            namespaces=wording.namespaces,
        )

    def _chain(self, query: Query, selected: object) -> tuple[int, list[object]]:
        """The first branch that selects the node, and what its steps select on the way to it."""
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
            # The nearest of them: there is one, or the node below would not have been selected.
            chain.insert(0, next(each for each in above if each in by_step))
        return branch, chain

    def _failure(self, branch: int, steps: Sequence[Step], wording: Wording) -> Failure:
        """Walk down the branch, a condition at a time, until nothing is left."""
        reached: list[object] = []
        for number, step in enumerate(steps):
            for conditions in range(len(step.predicates) + 1):
                so_far = replace(step, predicates=step.predicates[:conditions])
                found = self._select((*steps[:number], so_far))
                if not found:
                    return wording.failure(
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
