"""How explanations name the parts of a query.

A query is explained in its normal form, which is what every engine evaluates; namespaces get the
prefixes that :func:`~penstock.language.to_text` invents, since prefixes are not kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.language import to_text
from penstock.language.xpath.ast import Axis, Expr, Kind, NameTest, Path, Query, Step
from penstock.matching.results import Failure, StepTaken, Witness


class Wording:
    """The words for one query in normal form."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self.namespaces: Mapping[str, str] = to_text(query).namespaces

    def steps_taken(self, branch: int, witnesses: Sequence[Witness]) -> tuple[StepTaken, ...]:
        """What each step of a branch, counted from 0, selected on the way to a node."""
        steps = self._query.branches[branch].steps
        return tuple(
            StepTaken(self._text([step]), witness)
            for step, witness in zip(steps, witnesses, strict=True)
        )

    def failure(
        self,
        branch: int,
        step: int,
        predicate: int | None,
        *,
        reached: int,
        witnesses: tuple[Witness, ...],
    ) -> Failure:
        """Where a branch ends; branch, step and predicate are counted from 0."""
        steps = self._query.branches[branch].steps
        failing = None if predicate is None else steps[step].predicates[predicate]
        return Failure(
            branch=self._text(steps),
            step_number=step + 1,
            step=self._text([replace(steps[step], predicates=())]),
            predicate=None if failing is None else self._predicate_text(failing),
            reached=reached,
            witnesses=witnesses,
        )

    def _text(self, steps: Sequence[Step]) -> str:
        return to_text(Query((Path(tuple(steps)),)), self.namespaces).text

    def _predicate_text(self, predicate: Expr) -> str:
        """The predicate in its brackets."""
        anything = Step(Axis.CHILD, Kind.ELEMENT, NameTest(), (predicate,))
        return self._text([anything]).removeprefix("/*")
