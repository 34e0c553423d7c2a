"""Applies operators to the local schema, and checks that they are applicable.

The schema is rewritten like documents: Exchanges first, one at a time, then node by node from the
root down. So an operator is checked against the schema at the time of its application.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock.documents import Name
from penstock.errors import PenstockError, Where, error
from penstock.language.relations.path_universe import Occurs
from penstock.mediation.limits import TRANSFORMED_DEPTH_MAX
from penstock.mediation.operators import (
    Downgrade,
    Exchange,
    Insert,
    Operator,
    Rename,
    ToElement,
    Upgrade,
)
from penstock.schema import NodePath, Place, SchemaAttribute, SchemaNode, SchemaTree
from penstock.schema.labels import is_attribute_name, is_element_name

ABOVE = Name("", "")
"""The name of the virtual node above the root; not a valid element name."""

_LEVELS: Final = f"the transformed schema has more than {TRANSFORMED_DEPTH_MAX} levels"


@dataclass(slots=True)
class DraftAttribute:
    """An attribute during the transformation: original place and current name."""

    place: Place
    name: Name
    required: bool


@dataclass(slots=True, eq=False)
class Draft:
    """A node during the transformation."""

    place: Place | None
    """Its place in the local schema; ``None`` for inserted nodes."""
    name: Name
    occurs: Occurs
    text: bool
    cut: bool = False
    attributes: dict[Name, DraftAttribute] = field(default_factory=dict)
    """Attributes by their names in the local schema."""
    children: list[Draft] = field(default_factory=list)
    parent: Draft | None = None

    @property
    def path(self) -> NodePath:
        """The current path of the node."""
        names: list[Name] = []
        node = self
        while node.parent is not None:
            names.append(node.name)
            node = node.parent
        return tuple(reversed(names))

    def add(self, *children: Draft) -> None:
        """Appends children, removing them from their parents."""
        if children and children[0].parent is not None:
            children[0].parent.release(children)
        for child in children:
            child.parent = self
        self.children += children

    def release(self, children: Sequence[Draft]) -> None:
        """Removes children in one pass, since there can be thousands."""
        if len(children) == 1:
            self.children.remove(children[0])
            return
        released = set(children)
        self.children[:] = [child for child in self.children if child not in released]


@dataclass(frozen=True, slots=True)
class Transformed:
    """The transformed local schema."""

    tree: SchemaTree
    places: Mapping[Place, Place]
    """New places by local place."""
    remarks: tuple[str, ...]
    """Possible deviations of documents from the tree, as text."""


def transform(
    local: SchemaTree,
    operators: Sequence[Operator],
    wheres: Mapping[Operator, Where] | None = None,
) -> Transformed:
    """Apply operators to the schema.

    Raises :class:`~penstock.errors.MappingError` for an inapplicable operator; ``wheres`` holds
    their positions in a file.
    """
    work = Transformation(local, operators, wheres or {})
    work.exchange()
    work.rewrite()
    return work.result()


class Transformation:
    """The transformation of one schema; :mod:`penstock.mediation.derivation` uses its phases."""

    def __init__(
        self,
        local: SchemaTree,
        operators: Sequence[Operator],
        wheres: Mapping[Operator, Where],
    ) -> None:
        self._local = local
        self._operators = operators
        self._wheres = wheres
        self._by_place: dict[Place, Draft] = {}
        self._remarks: list[str] = []
        self.above = Draft(Place(()), ABOVE, Occurs(required=True, many=False), text=False)
        """The virtual node above the root."""
        self._by_place[Place(())] = self.above
        for path, node in local.nodes().items():
            self._by_place[Place(path[:-1])].add(self._draft(path, node))

    def _draft(self, path: NodePath, node: SchemaNode) -> Draft:
        attributes = {
            each.name: DraftAttribute(Place(path, each.name), each.name, each.required)
            for each in node.attributes
        }
        draft = Draft(Place(path), node.name, node.occurs, node.text, node.cut, attributes)
        self._by_place[Place(path)] = draft
        return draft

    def exchange(self) -> None:
        """The first phase: Exchanges."""
        for operator in self._operators:
            if isinstance(operator, Exchange):
                self._exchange(operator)

    def rewrite(self) -> None:
        """The second phase: all other operators."""
        by_node: dict[NodePath, list[Operator]] = {}
        for operator in self._operators:
            self._node(operator)
            self._require_names(operator)
            if not isinstance(operator, Exchange):
                by_node.setdefault(operator.node, []).append(operator)
        self._apply_all(self.above, by_node.get((), []))
        # Iterates by index, because an Upgrade adds siblings after its node.
        waiting = [(self.above, 0)]
        while waiting:
            parent, index = waiting.pop()
            if index == len(parent.children):
                continue
            waiting.append((parent, index + 1))
            draft = parent.children[index]
            if draft.place is not None and draft.place.attribute is None:
                self._apply_all(draft, by_node.get(draft.place.path, []))
            waiting.append((draft, 0))

    def result(self) -> Transformed:
        """The transformed schema."""
        self._require_depth()
        places: dict[Place, Place] = {}
        for place, draft in self._by_place.items():
            if place.path:
                path = draft.path
                places[place] = Place(path)
                for attribute in draft.attributes.values():
                    places[attribute.place] = Place(path, attribute.name)
        root = _merged([_finished(child) for child in self.above.children])[0]
        return Transformed(SchemaTree(root, self._local.cut_at), places, tuple(self._remarks))

    # Refusals

    def _require_depth(self) -> None:
        """Checks the depth of the result, whose nodes are processed recursively."""
        level, depth = self.above.children, 0
        while level:
            depth += 1
            if depth > TRANSFORMED_DEPTH_MAX:
                raise error("mapping.levels", _LEVELS)
            level = [child for draft in level for child in draft.children]

    def _refuse(self, code: str, operator: Operator, message: str) -> PenstockError:
        kind = type(operator).__name__
        text = f"{kind} at {Place(operator.node)}: {message}"
        return error(code, text, self._wheres.get(operator))

    def _node(self, operator: Operator) -> Draft:
        draft = self._by_place.get(Place(operator.node))
        if draft is None:
            raise self._refuse("mapping.node", operator, "the local schema has no such node")
        if draft is self.above and not isinstance(operator, Insert):
            raise self._refuse("mapping.node", operator, "only Insert can be used above the root")
        return draft

    def _require_names(self, operator: Operator) -> None:
        """Checks that new names are valid in XML, because SDR serialises them."""
        match operator:
            case Rename(name=name, attribute=None) | ToElement(name=name):
                wrong = [] if is_element_name(name) else [name]
            case Rename(name=name):
                wrong = [] if is_attribute_name(name) else [name]
            case Insert(path=path):
                wrong = [name for name in path if not is_element_name(name)]
            case _:
                wrong = []
        if wrong:
            raise self._refuse("mapping.name", operator, f"{str(wrong[0])!r} is not a valid name")

    def _children(
        self, operator: Operator, parent: Draft, places: Iterable[Place] | None
    ) -> list[Draft]:
        """The drafts of these places, which must currently be children of ``parent``."""
        if places is None:
            found = list(parent.children)
        else:
            listed = sorted(places, key=str)
            found = [self._child(operator, parent, place) for place in listed]
            if len(found) > 1:
                numbers = {child: number for number, child in enumerate(parent.children)}
                found.sort(key=numbers.__getitem__)
        if not found:
            raise self._refuse("mapping.children", operator, "there are no children to move")
        return found

    def _child(self, operator: Operator, parent: Draft, place: Place) -> Draft:
        draft = self._by_place.get(place)
        if draft is None or draft.parent is not parent:
            raise self._refuse(
                "mapping.children",
                operator,
                f"{place} is not its child when the operator is applied",
            )
        return draft

    # Operators

    def _exchange(self, operator: Exchange) -> None:
        node = self._node(operator)
        child = self._child(operator, node, Place(operator.child))
        parent = node.parent
        assert parent is not None, "only the virtual node has no parent"
        if not child.occurs.required:
            self._remarks.append(
                f"{Place(operator.node)} stays in place where it has no {child.name}"
            )
        place = parent.children.index(node)
        node.children.remove(child)
        parent.children[place] = child
        child.parent = parent
        child.occurs = _through(node.occurs, child.occurs)
        node.parent = None
        node.occurs = Occurs(required=True, many=False)
        child.add(node)

    def _apply_all(self, draft: Draft, operators: Sequence[Operator]) -> None:
        self._require_one_upgrade([each for each in operators if isinstance(each, Upgrade)])
        self._require_apart([each for each in operators if isinstance(each, Insert)])
        made = [self._to_element(draft, each) for each in operators if isinstance(each, ToElement)]
        draft.children[:0] = made
        shared: dict[tuple[Name, ...], Draft] = {}
        for operator in operators:
            match operator:
                case Downgrade():
                    self._downgrade(draft, operator)
                case Insert():
                    self._insert(draft, operator, shared)
                case Upgrade():
                    self._upgrade(draft, operator)
        self._rename(draft, [each for each in operators if isinstance(each, Rename)])

    def _require_one_upgrade(self, upgrades: Sequence[Upgrade]) -> None:
        if len(upgrades) > 1:
            raise self._refuse("mapping.repeated", upgrades[1], "combine both into one Upgrade")

    def _require_apart(self, inserts: Sequence[Insert]) -> None:
        paths: set[tuple[Name, ...]] = set()
        for operator in inserts:
            if operator.children is None and len(inserts) > 1:
                raise self._refuse("mapping.repeated", operator, "Insert+ excludes other Inserts")
            if operator.path in paths:
                raise self._refuse(
                    "mapping.repeated", operator, "combine the Inserts of this path into one"
                )
            paths.add(operator.path)

    def _to_element(self, draft: Draft, operator: ToElement) -> Draft:
        """The child that replaces an attribute; it precedes all others."""
        found = draft.attributes.pop(operator.attribute, None)
        if found is None:
            raise self._refuse(
                "mapping.node", operator, f"it has no attribute {operator.attribute} (any more)"
            )
        made = Draft(found.place, operator.name, Occurs(found.required, many=False), text=True)
        made.parent = draft
        self._by_place[found.place] = made
        return made

    def _downgrade(self, draft: Draft, operator: Downgrade) -> None:
        moved = self._children(operator, draft, operator.children)
        target = self._child(operator, draft, operator.target)
        if target in moved:
            raise self._refuse("mapping.children", operator, "it would be moved into itself")
        if not target.occurs.required:
            self._remarks.append(
                f"where {Place(operator.node)} has no {target.name}, what is to be moved into it"
                " stays"
            )
        target.add(*moved)

    def _insert(
        self, draft: Draft, operator: Insert, shared: dict[tuple[Name, ...], Draft]
    ) -> None:
        """Applies an Insert; ``shared`` are the shared elements that earlier ones created."""
        moved = self._children(operator, draft, operator.children)
        if not operator.path:
            raise self._refuse("mapping.children", operator, "there is no path to insert")
        if len(draft.path) + len(operator.path) >= TRANSFORMED_DEPTH_MAX:
            raise self._refuse("mapping.levels", operator, _LEVELS)
        if not 0 <= operator.shared <= len(operator.path):
            raise self._refuse("mapping.children", operator, "it shares more than its path")
        has_content = Occurs(required=any(each.occurs.required for each in moved), many=False)
        occurs, inner = has_content, draft
        for length, name in enumerate(operator.path, 1):
            is_shared = length <= operator.shared
            made = shared.get(operator.path[:length]) if is_shared else None
            if made is None:
                made = Draft(None, name, occurs, text=False)
                inner.add(made)
            elif has_content.required:
                made.occurs = has_content
            if is_shared:
                shared[operator.path[:length]] = made
            # A shared element can exist because of another Insert.
            inner, occurs = made, has_content if is_shared else Occurs(required=True, many=False)
        inner.add(*moved)

    def _upgrade(self, draft: Draft, operator: Upgrade) -> None:
        moved = self._children(operator, draft, operator.children)
        parent = draft.parent
        if parent is None or parent is self.above:
            raise self._refuse("mapping.root", operator, "the root cannot have siblings")
        place = parent.children.index(draft) + 1
        draft.release(moved)
        for each in moved:
            each.parent = parent
            each.occurs = _through(draft.occurs, each.occurs)
        parent.children[place:place] = moved

    def _rename(self, draft: Draft, operators: Sequence[Rename]) -> None:
        done: set[Name | None] = set()
        for operator in operators:
            if operator.attribute in done:
                raise self._refuse("mapping.repeated", operator, "it is renamed twice")
            done.add(operator.attribute)
            if operator.attribute is None:
                draft.name = operator.name
                continue
            found = draft.attributes.get(operator.attribute)
            if found is None:
                message = f"it has no attribute {operator.attribute} (any more)"
                raise self._refuse("mapping.node", operator, message)
            found.name = operator.name
        names = Counter(each.name for each in draft.attributes.values())
        for operator in operators:
            if operator.attribute is not None and names[operator.name] > 1:
                message = f"it already has an attribute {operator.name}"
                raise self._refuse("mapping.attribute", operator, message)


def _through(outer: Occurs, inner: Occurs) -> Occurs:
    """The cardinality of a node through an intermediate level."""
    return Occurs(outer.required and inner.required, outer.many or inner.many)


def _finished(draft: Draft) -> SchemaNode:
    attributes = (SchemaAttribute(each.name, each.required) for each in draft.attributes.values())
    return SchemaNode(
        draft.name,
        draft.occurs,
        draft.text,
        tuple(attributes),
        tuple(_merged([_finished(child) for child in draft.children])),
        draft.cut,
    )


def _merged(siblings: Sequence[SchemaNode]) -> list[SchemaNode]:
    """Merges nodes of the same name."""
    by_name: dict[Name, list[SchemaNode]] = {}
    for node in siblings:
        by_name.setdefault(node.name, []).append(node)
    return [nodes[0] if len(nodes) == 1 else _one(nodes) for nodes in by_name.values()]


def _one(nodes: Sequence[SchemaNode]) -> SchemaNode:
    required: dict[Name, bool] = {}
    for node in nodes:
        for each in node.attributes:
            required[each.name] = required.get(each.name, True) and each.required
    return SchemaNode(
        nodes[0].name,
        Occurs(any(node.occurs.required for node in nodes), many=True),
        any(node.text for node in nodes),
        tuple(SchemaAttribute(*each) for each in required.items()),
        tuple(_merged([child for node in nodes for child in node.children])),
        any(node.cut for node in nodes),
    )
