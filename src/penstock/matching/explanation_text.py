"""Formats the parts of a query for explanations.

An explanation refers to the normal form of the query, which all engines evaluate. Original prefixes
are not stored, so :func:`~penstock.language.to_text` generates new ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.language import to_text
from penstock.language.xpath.ast import Axis, Expr, Kind, NameTest, Path, Query, Step
from penstock.language.xpath.normal_form import NOTHING
from penstock.matching.other_namespaces import OtherNamespaces
from penstock.matching.results import Failure, StepTaken, Witness


class ExplanationText:
    """Formats the steps and predicates of one query in normal form."""

    def __init__(self, query: Query, names: OtherNamespaces) -> None:
        self._query = query
        self._names = names
        self.namespaces: Mapping[str, str] = to_text(query).namespaces

    def steps_taken(self, branch: int, witnesses: Sequence[Witness]) -> tuple[StepTaken, ...]:
        """The node that each step of a branch selected; branches count from 0."""
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
        """The step or predicate where a branch fails; all three numbers count from 0."""
        steps = self._query.branches[branch].steps
        failing = None if predicate is None else steps[step].predicates[predicate]
        return Failure(
            branch=self._text(steps),
            step_number=step + 1,
            step=self._text([replace(steps[step], predicates=())]),
            predicate=None if failing is None else self._predicate_text(failing),
            reached=reached,
            witnesses=witnesses,
            other_namespaces=()
            if failing is not None
            else self._names.of(steps[step].kind, steps[step].test),
        )

    @property
    def never(self) -> bool:
        """Whether the query contradicts itself, so that its normal form is that of nothing."""
        return self._query.branches == (NOTHING,)

    def _text(self, steps: Sequence[Step]) -> str:
        return to_text(Query((Path(tuple(steps)),)), self.namespaces).text

    def _predicate_text(self, predicate: Expr) -> str:
        """The predicate with its brackets."""
        anything = Step(Axis.CHILD, Kind.ELEMENT, NameTest(), (predicate,))
        return self._text([anything]).removeprefix("/*")
