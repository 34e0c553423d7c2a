"""Query rewriting: rewrites subscriptions to the global schema into ones to a local schema.

This is the alternative to document rewriting, with one subscription per publisher's schema; it
exists for comparison. A rewritten query matches a valid local document exactly if the original
matches the rewritten document. Queries that cannot be expressed are refused with the reason.

The query is evaluated on the transformed schema, so ``*`` and ``//`` become concrete places. Each
element of the global document belongs to a node of the local one, its *anchor*; the anchor of an
inserted element is the node it was inserted in. A condition on a child is attached to the nearest
determined node of the local document. After an Exchange or Downgrade, that can be an ancestor or
sibling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from penstock.documents import Name
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
    Op,
    Or,
    Path,
    Query,
    StartsWith,
    Step,
    StringTest,
)
from penstock.language.xpath.string_functions import holds as string_holds
from penstock.mediation.limits import QUERY_PLACES_MAX
from penstock.mediation.mapping import Mapping
from penstock.mediation.query_alternatives import (
    ALWAYS,
    NEVER,
    Alternative,
    Alternatives,
    all_of,
    either,
    inexpressible,
    negated,
)
from penstock.mediation.schema_transformation import Draft, Transformation
from penstock.schema import NodePath, Place

_ITSELF = Path(())


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of the global document during the rewriting of a query."""

    draft: Draft | None
    """Its node of the transformed schema; ``None`` for attributes and text."""
    anchor: NodePath | None
    """The local element it belongs to; ``None`` for current and former attributes."""
    known: frozenset[NodePath]
    """Local elements that are determined: the anchors from the root down and their ancestors."""

    def below(self, draft: Draft) -> _Node:
        """A child of the node."""
        if draft.place is None:
            return _Node(draft, self.anchor, self.known)
        path = draft.place.path
        known = self.known.union(path[:length] for length in range(len(path) + 1))
        return _Node(draft, path if draft.place.attribute is None else None, known)

    def hook(self, path: NodePath) -> NodePath:
        """The lowest determined ancestor-or-self of ``path``."""
        return next(path[:end] for end in range(len(path), -1, -1) if path[:end] in self.known)


_VALUE = _Node(None, None, frozenset())


class QueryRewriter:
    """Rewrites queries to the global schema into queries to a mapping's local schema.

    Examples
    --------
    >>> from penstock.language import parse, to_text
    >>> rewriter = QueryRewriter(Mapping.from_text('''penstock mapping 1
    ... department
    ...   => rename dept
    ...   course*
    ...     @code
    ...     => to-element @code
    ...     => insert schedule (time)
    ...     time? text
    ... '''))
    >>> local = rewriter.rewrite(parse("/dept/course[code = 'db1']/schedule/time"))
    >>> str(to_text(local))
    "/department/course[@code[. = 'db1']]/time"
    """

    def __init__(self, mapping: Mapping) -> None:
        self._schema = mapping.local.nodes()
        self._remarks = mapping.transformed.remarks
        self._is_cut = any(node.cut for node in self._schema.values())
        work = Transformation(mapping.local, mapping.operators, {})
        work.exchange()
        work.rewrite()
        self._above = work.above
        self._root = (mapping.local.root.name,)
        self._tried = 0

    def rewrite(self, query: Query) -> Query | None:
        """The query for local documents; ``None`` if no valid document can match it.

        Raises :class:`~penstock.errors.MappingError` (``mapping.query``) if it cannot be expressed.
        """
        if self._is_cut:
            raise inexpressible("the local schema tree is truncated")
        if self._remarks:
            raise inexpressible(f"the mapping has exceptions: {self._remarks[0]}")
        self._tried = 0
        top = _Node(self._above, (), frozenset([(), self._root]))
        found = either(self._path(top, branch.steps) for branch in query.branches)
        branches = dict.fromkeys(Path(self._from_root(each)) for each in found)
        return Query(tuple(branches)) if branches else None

    def _from_root(self, alternative: Alternative) -> tuple[Step, ...]:
        """Steps from the root, to which all conditions are attached."""
        assert not alternative.here, "the document node has no conditions"
        assert all(place == self._root for place, _ in alternative.elsewhere)
        conditions = tuple(expr for _, expr in alternative.elsewhere)
        return _unrolled([_element(self._root[-1], conditions)])

    # Predicates

    def _holds(self, node: _Node, expr: Expr) -> Alternatives:
        match expr:
            case And(items):
                return all_of(self._holds(node, item) for item in items)
            case Or(items):
                return either(self._holds(node, item) for item in items)
            case Not(item):
                return negated(self._holds(node, item))
            case Exists(path):
                return self._path(node, path.steps)
            case Compare(path, op, literal):
                return self._path(node, path.steps, Compare(_ITSELF, op, literal))
            case Contains(path, text) | StartsWith(path, text):
                return self._first(node, path.steps, expr, holds_for_nothing=not text)
            case StringTest(path, functions, condition):
                holds_for_nothing = string_holds(functions, condition, "")
                return self._first(node, path.steps, expr, holds_for_nothing=holds_for_nothing)
            case Count() | ComparePaths():
                raise inexpressible("a mapping can change how many nodes there are")
            case _:
                raise inexpressible("a mapping can change positions")

    def _all_hold(self, node: _Node, predicates: Iterable[Expr]) -> Alternatives:
        return all_of(self._holds(node, each) for each in predicates)

    def _value(self, node: _Node, expr: Expr) -> Alternatives:
        """A condition on the string-value of the node."""
        self._require_unchanged(node)
        return (Alternative((expr,)),)

    def _require_unchanged(self, node: _Node) -> None:
        if node.draft is not None and not self._is_unchanged(node.draft):
            raise inexpressible(f"the mapping changes the text of {node.draft.name}")

    def _is_unchanged(self, draft: Draft) -> bool:
        """Whether an element still has exactly its original children in order."""
        if draft.place is None or not draft.place.path:
            return False
        if draft.place.attribute is not None:
            return not draft.children
        path = draft.place.path
        here = [child.place for child in draft.children]
        before = [Place((*path, child.name)) for child in self._schema[path].children]
        return here == before and all(map(self._is_unchanged, draft.children))

    def _first(
        self,
        node: _Node,
        steps: tuple[Step, ...],
        expr: Contains | StartsWith | StringTest,
        *,
        holds_for_nothing: bool,
    ) -> Alternatives:
        """A condition on the first node of a path, which must select at most one node."""
        local: list[Step] = []
        for step in steps:
            if step.kind is not Kind.ELEMENT or step.axis is Axis.DESCENDANT or step.predicates:
                raise inexpressible("the mapping can change which node is first")
            children = list(_children(node, step))
            if not children:
                return ALWAYS if holds_for_nothing else NEVER
            if len(children) > 1:
                raise inexpressible("the mapping can change which node is first")
            local += self._only_way(node, children[0])
            node = children[0]
        self._require_unchanged(node)
        return (Alternative((replace(expr, path=Path(tuple(local))),)),)

    def _only_way(self, node: _Node, child: _Node) -> tuple[Step, ...]:
        """The local steps from a node to an only child."""
        assert child.draft is not None
        if child.draft.place is None:
            return ()
        path, attribute = child.draft.place.path, child.draft.place.attribute
        if node.hook(path) != node.anchor:
            raise inexpressible("the mapping can change which node is first")
        ends = range(len(node.anchor) + 1, len(path) + 1)
        if any(self._schema[path[:end]].occurs.many for end in ends):
            raise inexpressible("the mapping can change which node is first")
        steps = tuple(_element(path[end - 1]) for end in ends)
        return steps if attribute is None else (*steps, _attribute(attribute))

    # Paths

    def _path(self, node: _Node, steps: tuple[Step, ...], tail: Expr | None = None) -> Alternatives:
        """The condition that a path from the node selects a node where ``tail`` holds."""
        self._tried += 1
        if self._tried > QUERY_PLACES_MAX:
            raise inexpressible(f"it expands to more than {QUERY_PLACES_MAX} places")
        if not steps:
            return ALWAYS if tail is None else self._value(node, tail)
        step, rest = steps[0], steps[1:]
        found: list[Alternatives] = []
        if step.kind is Kind.ELEMENT:
            for child in _children(node, step):
                inner = self._element(child, step.predicates, rest, tail)
                found.append(self._attach(inner, child, node))
        else:
            conditions = (*step.predicates, *([] if tail is None else [tail]))
            inner = self._all_hold(_VALUE, conditions)
            if inner != NEVER:
                found.append(self._leaves(node, step, inner[0].here))
        if step.axis is Axis.DESCENDANT and node.draft is not None:
            for draft in node.draft.children:
                below = node.below(draft)
                found.append(self._attach(self._path(below, steps, tail), below, node))
        return either(found)

    def _element(
        self,
        node: _Node,
        predicates: tuple[Expr, ...],
        rest: tuple[Step, ...],
        tail: Expr | None,
    ) -> Alternatives:
        """The condition of a path element: its predicates and the rest of the path."""
        held = self._all_hold(node, predicates)
        if held == NEVER:
            return NEVER
        # The content of an inserted element implies that it exists.
        shown = ALWAYS if rest else self._is_made(node)
        return all_of((held, shown, self._path(node, rest, tail)))

    def _is_made(self, node: _Node) -> Alternatives:
        """The condition that an element exists; an inserted one exists if it has content."""
        assert node.draft is not None
        if node.draft.place is not None:
            return ALWAYS
        children = [node.below(draft) for draft in node.draft.children]
        return either(self._attach(self._is_made(child), child, node) for child in children)

    def _leaves(self, node: _Node, step: Step, conditions: tuple[Expr, ...]) -> Alternatives:
        """The attributes or texts of a node that a step selects."""
        draft = node.draft
        if draft is None or draft.place == Place(()):
            return NEVER
        if step.kind is Kind.ATTRIBUTE:
            found = [
                Exists(Path((_attribute(attribute.place.attribute, conditions),)))
                for attribute in draft.attributes.values()
                if attribute.place.attribute is not None and _passes(step.test, attribute.name)
            ]
            return either((Alternative((each,)),) for each in found)
        if draft.place is not None and draft.place.attribute is not None:
            return (Alternative((*conditions, Compare(_ITSELF, Op.NE, ""))),)
        if draft.children or not self._is_unchanged(draft):
            raise inexpressible(f"the mapping can move text of {draft.name}")
        text = Step(Axis.CHILD, Kind.TEXT, NameTest(), conditions)
        return (Alternative((Exists(Path((text,))),)),)

    def _attach(self, inner: Alternatives, child: _Node, node: _Node) -> Alternatives:
        """The conditions on a node that imply these conditions on a child."""
        assert child.draft is not None
        place = child.draft.place
        if place is None:
            return inner
        return tuple(_attach_alternative(each, place, node) for each in inner)


def _attach_alternative(inner: Alternative, place: Place, node: _Node) -> Alternative:
    hook = node.hook(place.path)
    ends = range(len(hook) + 1, len(place.path) + 1)
    conditions: dict[NodePath, list[Expr]] = {place.path[:end]: [] for end in ends}
    elsewhere: list[tuple[NodePath, Expr]] = []
    for where, expr in inner.elsewhere:
        if where in conditions:
            conditions[where].append(expr)
        else:
            elsewhere.append((where, expr))
    if place.attribute is None and place.path in conditions:
        conditions[place.path] += inner.here
    steps = [_element(path[-1], tuple(exprs)) for path, exprs in conditions.items()]
    if place.attribute is not None:
        steps.append(_attribute(place.attribute, inner.here))
    wanted: tuple[Expr, ...] = (Exists(Path(_unrolled(steps))),) if steps else inner.here
    elsewhere += ((hook, expr) for expr in wanted)
    return Alternative(
        tuple(expr for where, expr in elsewhere if where == node.anchor),
        tuple((where, expr) for where, expr in elsewhere if where != node.anchor),
    )


def _unrolled(steps: list[Step]) -> tuple[Step, ...]:
    """Replaces ``a[b][c]`` by the shorter equivalent ``a[b]/c``."""
    *before, last = steps
    if last.predicates and isinstance(inner := last.predicates[-1], Exists):
        return (*before, replace(last, predicates=last.predicates[:-1]), *inner.path.steps)
    return tuple(steps)


def _children(node: _Node, step: Step) -> Iterator[_Node]:
    """The child elements of a node that a step can select."""
    for draft in node.draft.children if node.draft is not None else ():
        if _passes(step.test, draft.name):
            yield node.below(draft)


def _passes(test: NameTest, name: Name) -> bool:
    return test.uri in (None, name.uri) and test.local in (None, name.local)


def _element(name: Name, predicates: tuple[Expr, ...] = ()) -> Step:
    return Step(Axis.CHILD, Kind.ELEMENT, NameTest(name.uri, name.local), predicates)


def _attribute(name: Name, predicates: tuple[Expr, ...] = ()) -> Step:
    return Step(Axis.CHILD, Kind.ATTRIBUTE, NameTest(name.uri, name.local), predicates)
