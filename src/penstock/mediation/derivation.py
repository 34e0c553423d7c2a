"""Derives a mapping from a schema matching, by six rules in two phases.

Exchange comes first, since it changes parent-child relations. The other rules apply to the schema
after all Exchanges. Matched nodes that do not reach their global places are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.documents import Name
from penstock.mediation.correspondence import SchemaMatching
from penstock.mediation.mapping import Mapping as SchemaMapping
from penstock.mediation.operators import (
    Downgrade,
    Exchange,
    Insert,
    Operator,
    Rename,
    ToElement,
    Upgrade,
)
from penstock.mediation.schema_comparison import Comparison, Unreached, compare, unreached
from penstock.mediation.schema_transformation import Draft, Transformation
from penstock.schema import NodePath, Place, SchemaTree


@dataclass(frozen=True, slots=True)
class SeparateInserts:
    """Inserts whose paths begin alike, but whose elements are not shared."""

    local: Place
    repeated: Place
    """The first global place on the paths that may occur several times in its parent."""

    def __str__(self) -> str:
        return (
            f"{self.local} gets several {self.repeated}, one for each path below it: the global"
            " schema allows more than one"
        )


@dataclass(frozen=True, slots=True)
class Derivation:
    """A derived mapping with its limitations."""

    mapping: SchemaMapping
    unreached: tuple[Unreached, ...]
    """Pairs of the matching that the six rules cannot unite."""
    comparison: Comparison
    """Differences between the transformed local schema and the global schema."""
    separate: tuple[SeparateInserts, ...] = ()
    """Elements inserted several times, since the global schema does not say that they are one."""


def derive(local: SchemaTree, target: SchemaTree, matching: SchemaMatching) -> Derivation:
    """Derive the mapping from ``local`` to the global schema ``target``."""
    images = matching.images(local, target)
    exchanges = list(_exchanges(local, images))
    work = Transformation(local, exchanges, {})
    work.exchange()
    rules = _Rules(images, work.above, target)
    mapping = SchemaMapping(local, (*exchanges, *rules.operators()))
    return Derivation(
        mapping,
        unreached(mapping.transformed, matching),
        compare(mapping.transformed.tree, target),
        tuple(dict.fromkeys(rules.separate)),
    )


def _exchanges(local: SchemaTree, images: Mapping[Place, Place]) -> Iterator[Exchange]:
    """Exchanges for nodes whose parent's image is a child of their own image."""
    for path in local.nodes():
        own, parents = images.get(Place(path)), images.get(Place(path[:-1]))
        if own is None or parents is None or own.attribute or parents.attribute:
            continue
        if parents.path[:-1] == own.path:
            yield Exchange(path[:-1], path)


class _Rules:
    """The five rules of the second phase, applied after all Exchanges."""

    def __init__(self, images: Mapping[Place, Place], above: Draft, target: SchemaTree) -> None:
        self.separate: list[SeparateInserts] = []
        self._images = images
        self._target = target.nodes()
        self._above = above
        self._entered: set[Place] = set()
        """Nodes that received moved children."""
        self._taken = {place.path for place in images.values() if place.attribute is None}

    def operators(self) -> Iterator[Operator]:
        """All operators, from the root down."""
        waiting = [self._above]
        while waiting:
            draft = waiting.pop()
            yield from self._at(draft)
            waiting.extend(reversed(draft.children))

    def _image(self, place: Place | None) -> NodePath | None:
        """The path of a place's image if it is an element; the virtual node maps to itself."""
        if place is None or place == self._above.place:
            return ()
        image = self._images.get(place)
        return image.path if image is not None and image.attribute is None else None

    def _at(self, draft: Draft) -> Iterator[Operator]:
        assert draft.place is not None, "no node is inserted yet"
        node, image = draft.place.path, self._image(draft.place)
        made = self._to_elements(draft, image)
        yield from made
        # Converted attributes are ordinary children from here on.
        children = [Place(node, operator.attribute) for operator in made]
        children += [child.place for child in draft.children if child.place is not None]
        downgrades = list(self._downgrades(node, children))
        yield from downgrades
        self._entered.update(each.target for each in downgrades)
        left = set(children).difference(*(each.children for each in downgrades))
        yield from self._inserts(draft, image, left)
        moved = {place for place in left if self._is_upgraded(draft, place)}
        if moved:
            is_all = moved == left and self._is_complete(draft)
            yield Upgrade(node, None if is_all else frozenset(moved))
        if node and image is not None and image[-1] != draft.name:
            yield Rename(node, image[-1])
        yield from self._attribute_names(draft, {operator.attribute for operator in made})

    def _to_elements(self, draft: Draft, image: NodePath | None) -> list[ToElement]:
        """Attributes whose images are children of the node's image or can be moved there."""
        siblings = {self._image(child.place) for child in draft.children}
        found = []
        for attribute in draft.attributes.values():
            goal, name = self._image(attribute.place), attribute.place.attribute
            if goal is None or image is None or name is None:
                continue
            if (
                goal[:-1] == image
                or goal[:-1] in siblings
                or self._between(image, goal)
                or self._is_upgraded(draft, attribute.place)
            ):
                found.append(ToElement(attribute.place.path, name, goal[-1]))
        return found

    def _between(self, upper: NodePath, lower: NodePath) -> tuple[Name, ...]:
        """The names strictly between two global nodes, if nothing is mapped to them."""
        if lower[: len(upper)] != upper:
            return ()
        nodes = [lower[:length] for length in range(len(upper) + 1, len(lower))]
        return lower[len(upper) : -1] if self._taken.isdisjoint(nodes) else ()

    def _downgrades(self, node: NodePath, children: list[Place]) -> Iterator[Downgrade]:
        """Children whose images are children of a sibling's image; innermost first."""
        images = {place: self._image(place) for place in children}
        targets = {image: place for place, image in images.items() if image is not None}
        by_target: dict[Place, set[Place]] = {}
        for place, image in images.items():
            target = targets.get(image[:-1]) if image else None
            if target is not None:
                by_target.setdefault(target, set()).add(place)
        inner_first = sorted(by_target, key=lambda place: -len(self._images[place].path))
        for target in inner_first:
            yield Downgrade(node, frozenset(by_target[target]), target)

    def _inserts(self, draft: Draft, image: NodePath | None, children: set[Place]) -> list[Insert]:
        """Children whose images are deeper, without mapped nodes in between; one Insert per
        path."""
        assert draft.place is not None
        if image is None:
            return []
        by_path: dict[tuple[Name, ...], set[Place]] = {}
        for place in sorted(children, key=str):
            goal = self._image(place)
            path = self._between(image, goal) if goal is not None else ()
            if path:
                by_path.setdefault(path, set()).add(place)
        # An unmatched root is not wrapped.
        is_all = (
            children in by_path.values() and draft is not self._above and self._is_complete(draft)
        )
        paths = list(by_path)
        return [
            Insert(
                draft.place.path,
                path,
                None if is_all else frozenset(moved),
                max((self._shared(draft.place, image, path, other) for other in paths), default=0),
            )
            for path, moved in by_path.items()
        ]

    def _shared(
        self, node: Place, image: NodePath, path: Sequence[Name], other: Sequence[Name]
    ) -> int:
        """How many elements two inserted paths share: those that occur at most once."""
        if path == other:
            return 0
        for length, (name, same) in enumerate(zip(path, other, strict=False), 1):
            if name != same:
                return length - 1
            place = (*image, *path[:length])
            if self._target[place].occurs.many:
                self.separate.append(SeparateInserts(node, Place(place)))
                return length - 1
        return min(len(path), len(other))

    def _is_complete(self, draft: Draft) -> bool:
        """Whether the node has exactly the children of its schema node."""
        return not draft.cut and draft.place not in self._entered

    def _is_upgraded(self, draft: Draft, child: Place) -> bool:
        """Whether the image of a child is a sibling of the node's image.

        A node without an image stays in place: its siblings belong under the image of its parent.
        """
        parent, goal = draft.parent, self._image(child)
        if (
            parent is None
            or goal is None
            or (parent is self._above and not self._is_wrapped(draft))
        ):
            return False
        own = self._image(draft.place)
        siblings_parent = own[:-1] if own is not None else self._image(parent.place)
        return goal[:-1] == siblings_parent and goal != own

    def _is_wrapped(self, root: Draft) -> bool:
        image = self._image(root.place)
        return image is not None and bool(self._between((), image))

    def _attribute_names(self, draft: Draft, converted: set[Name]) -> Iterator[Rename]:
        """New names of the remaining attributes, unless the name is in use."""
        owner = self._image(draft.place)
        names: dict[Place, Name] = {}
        for attribute in draft.attributes.values():
            if attribute.name not in converted:
                image = self._images.get(attribute.place)
                is_its_own = image is not None and image.path == owner
                wanted = image.attribute if image is not None and is_its_own else None
                names[attribute.place] = wanted or attribute.name
        for place, name in names.items():
            assert place.attribute is not None
            if name != place.attribute and list(names.values()).count(name) == 1:
                yield Rename(place.path, name, place.attribute)
