"""Subscriptions in extended XQL, translated to queries of the matching language.

A path of XQL is evaluated in *stages*. ``//(Restaurant/Entree)[0]/Name`` counts the entrees of the
whole document, which no predicate of a step does: the first stage selects ``//Restaurant/Entree``
and picks the first node, the second selects ``/*/Name`` with that node as the root element. ``*``
is a union of elements and text. What no stage expresses is refused with its position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from penstock.language.updates.ast import (
    AllOf,
    AnyChild,
    AnyOf,
    Axis,
    Comparison,
    Condition,
    Contains,
    Content,
    Exists,
    Filter,
    Group,
    Index,
    Negation,
    NodeStep,
    Step,
    UpdatePath,
)
from penstock.language.updates.parser import LocatedPaths, parse_union
from penstock.language.updates.printer import literal_text, number_text

_ROOT = "/*"
"""The root element: that of the document, or the node that the stage before picked."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A query, and which of the nodes that it selects counts."""

    query: str
    """A query of the matching language."""
    index: int | None = None
    """From 0 in document order; -1 is the last. Without it, all nodes count."""


@dataclass(frozen=True, slots=True)
class XqlSubscription:
    """A subscription in extended XQL."""

    branches: tuple[tuple[Stage, ...], ...]
    """A union; the stages of a branch but the last pick the node that the next starts from."""
    observed: str
    """A query that observes at least what the subscription does. Both observe the same paths, since
    predicates and positions do not count on the way to a node; the branches may select less."""
    paths: tuple[UpdatePath, ...]
    """The paths of the union."""


def parse_xql_subscription(
    text: str,
    *,
    namespaces: Mapping[str, str] | None = None,
    default_namespace: str | None = None,
) -> XqlSubscription:
    """Parses a subscription in extended XQL without method invocations.

    Parameters
    ----------
    text
        Paths as in statements, separated by ``|``: positions count from 0, and ``*`` selects
        elements and text.
    namespaces
        Namespace URIs by prefix.
    default_namespace
        The namespace of element names without a prefix; defaults to none.

    Raises
    ------
    UpdateError
        The text is malformed, or ``update.subscription``: statements may have such a path, but
        subscriptions may not; ``where`` is the position.

    Examples
    --------
    >>> from penstock.language.updates import parse_xql_subscription
    >>> parse_xql_subscription("//(Restaurant/Entree)[0]/Name").branches
    ((Stage(query='//Restaurant/Entree', index=0), Stage(query='/*/Name', index=None)),)
    """
    located = parse_union(text, namespaces=namespaces, default_namespace=default_namespace)
    branches: list[tuple[Stage, ...]] = []
    observed: list[str] = []
    for path in located.paths:
        translation = _Translation(located)
        translation.path(path)
        branches.append(translation.stages())
        observed += translation.observed
    return XqlSubscription(tuple(branches), " | ".join(observed), located.paths)


@dataclass(frozen=True, slots=True)
class _LinearPath:
    """The text of a path without groups, and whether it selects only leaves: attributes or text."""

    text: str
    ends: bool = False


class _Translation:
    """Translates one path of a union."""

    def __init__(self, located: LocatedPaths) -> None:
        self._located = located
        self._stages: list[Stage] = []
        self._current: list[_LinearPath] = [_LinearPath("")]
        """The union that the current stage selects so far."""
        self._observed: list[_LinearPath] = [_LinearPath("")]

    @property
    def observed(self) -> list[str]:
        return [path.text for path in self._observed]

    def stages(self) -> tuple[Stage, ...]:
        if self._stages and [path.text for path in self._current] == [_ROOT]:
            return tuple(self._stages)
        return (*self._stages, self._stage(None))

    def _stage(self, index: int | None) -> Stage:
        return Stage(" | ".join(path.text for path in self._current), index)

    def path(self, path: UpdatePath) -> None:
        if not path.steps:
            self._located.refuse(path, "the document node is no part of a document; use `/*`")
        self._steps(path.steps, path.steps[0].axis, is_grouped=False)
        if any(not path.text for path in self._current):
            self._located.refuse(path, "the document node is no part of a document; use `/*`")

    def _steps(self, steps: Sequence[Step], axis: Axis, *, is_grouped: bool) -> None:
        for number, step in enumerate(steps):
            if number:
                axis = step.axis
            if isinstance(step, Group):
                self._steps(step.path.steps, axis, is_grouped=True)
                self._group_filters(step, is_grouped=is_grouped)
            else:
                self._node_step(step, axis)

    def _group_filters(self, group: Group, *, is_grouped: bool) -> None:
        for number, each in enumerate(group.filters):
            if not isinstance(each, Index):
                self._append(f"[{self._condition(each, group)}]")
                continue
            if is_grouped:
                self._refuse(group, "a group with an index is inside of another group")
            if any(path.text.endswith("@*") for path in self._current):
                self._refuse(group, "attributes have no order")
            if number + 1 < len(group.filters):
                self._refuse(group, "the index is not the last filter of its group")
            self._stages.append(self._stage(each.number))
            self._current = [_LinearPath(_ROOT)]
            # Whether a node has the index depends on the nodes before it and after it.
            self._observed = [
                path
                if path.ends and "@" in path.text
                else _LinearPath(f"{path.text}[1]", path.ends)
                for path in self._observed
            ]

    def _append(self, text: str) -> None:
        self._current = [_LinearPath(path.text + text, path.ends) for path in self._current]
        self._observed = [_LinearPath(path.text + text, path.ends) for path in self._observed]

    def _node_step(self, step: NodeStep, axis: Axis) -> None:
        if step.test is Content.SELF and axis is Axis.CHILD and not step.filters:
            return
        if all(path.ends for path in self._observed):
            self._refuse(step, "the path continues below a leaf")
        is_top = not self._stages and [path.text for path in self._current] == [""]
        tests = self._tests(step, is_document_child=is_top and axis is Axis.CHILD)
        filters = "".join(f"[{self._filter(each, step)}]" for each in step.filters)
        self._current = _continued(self._current, axis, tests, filters)
        self._observed = _continued(self._observed, axis, tests, filters)

    def _tests(self, step: NodeStep, *, is_document_child: bool) -> list[str]:
        if isinstance(step.test, Content) and step.test is not Content.TEXT:
            self._refuse(step, f"`{step.test.value}` is not supported in a subscription")
        if step.is_attribute:
            if any(isinstance(each, Index) for each in step.filters):
                self._refuse(step, "attributes have no order")
            return ["@*" if isinstance(step.test, AnyChild) else f"@{step.test}"]
        if step.test is Content.TEXT:
            return ["text()"]
        if not isinstance(step.test, AnyChild):
            return [str(step.test)]
        if is_document_child:
            return ["*"]
        if any(isinstance(each, Index) for each in step.filters):
            self._refuse(step, "`*` selects elements and text, which cannot be counted together")
        return ["*", "text()"]

    def _filter(self, item: Filter, step: Step) -> str:
        if not isinstance(item, Index):
            return self._condition(item, step)
        if item.number < -1:
            self._refuse(step, "only the last node, [-1], is counted from the end")
        return str(item.number + 1) if item.number >= 0 else "last()"

    def _condition(self, item: Condition, step: Step) -> str:
        match item:
            case AllOf(items):
                return " and ".join(f"({self._condition(each, step)})" for each in items)
            case AnyOf(items):
                return " or ".join(self._condition(each, step) for each in items)
            case Negation(inner):
                return f"not({self._condition(inner, step)})"
            case Exists(path):
                return " or ".join(self._relative(path, step))
            case Comparison(path, op, literal):
                value = literal_text(literal) if isinstance(literal, str) else number_text(literal)
                return " or ".join(
                    f"{each} {op.value} {value}" for each in self._relative(path, step)
                )
            case Contains(path, text, at_start):
                paths = self._relative(path, step)
                if len(paths) > 1:
                    self._refuse(step, "`*` selects elements and text, of which only one is tested")
                function = "starts-with" if at_start else "contains"
                return f"{function}({paths[0]}, {literal_text(text)})"

    def _relative(self, path: UpdatePath, step: Step) -> list[str]:
        """A path of a condition, as a union."""
        if path.is_absolute:
            self._refuse(step, "a path in a filter starts at the filtered node")
        inner = _Translation(self._located)
        # Texts have no children, but conditions on them are evaluated.
        inner._current = inner._observed = [_LinearPath(".")]
        inner._steps(path.steps, Axis.CHILD, is_grouped=True)
        return [each.text for each in inner._current]

    def _refuse(self, step: Step, message: str) -> NoReturn:
        self._located.refuse(step, message)


def _continued(
    paths: Sequence[_LinearPath], axis: Axis, tests: Sequence[str], filters: str
) -> list[_LinearPath]:
    """Paths continued by a step; nothing is below leaves."""
    return [
        _LinearPath(f"{path.text}{axis.value}{test}{filters}", test.startswith(("@", "text()")))
        for path in paths
        if not path.ends
        for test in tests
    ]
