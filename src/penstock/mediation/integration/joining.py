"""A local schema joins a global one: what corresponds is paired, what is new is added.

No place of the global schema goes away or gets another name; its cardinalities may get wider.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from penstock.mediation.correspondence import Rating, SchemaMatching
from penstock.mediation.integration.facts import (
    Facts,
    above,
    child_of,
    facts_of,
    name_of,
    parent_of,
    tree_of,
)
from penstock.mediation.limits import JOINS_MAX
from penstock.mediation.schema_matching import Abbreviations, match_schemas
from penstock.schema import Place, SchemaTree


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A place of a local schema that stands for nothing in the global one."""

    place: Place
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Joined:
    """A global tree that a local schema has joined."""

    tree: SchemaTree
    matching: SchemaMatching
    added: tuple[Place, ...]
    unplaced: tuple[Unplaced, ...]


def join(target: SchemaTree, local: SchemaTree, abbreviations: Abbreviations) -> Joined:
    """Let a local schema join a global tree."""
    return _joined(
        target, local, match_schemas(local, target, abbreviations=abbreviations).matching
    )


def join_for_good(target: SchemaTree, local: SchemaTree, abbreviations: Abbreviations) -> Joined:
    """Let a local schema join a global tree so that, joining again, it changes nothing.

    Beside what a schema has added, its other places can look like something else than before. Then
    those pairs count, and it joins the global tree anew.
    """
    known = set(target.places())
    joined = join(target, local, abbreviations)
    for _ in range(JOINS_MAX):
        again = match_schemas(local, joined.tree, abbreviations=abbreviations).matching
        if _joined(joined.tree, local, again).tree == joined.tree:
            break
        joined = _joined(target, local, _among(again, known))
    return joined


def _among(matching: SchemaMatching, known: Set[Place]) -> SchemaMatching:
    """The pairs of a matching with these global places."""
    pairs = tuple((place, image) for place, image in matching.pairs if image in known)
    kept = {place for place, _ in pairs}
    ratings = {place: rating for place, rating in matching.ratings.items() if place in kept}
    return SchemaMatching(pairs, ratings)


def _joined(target: SchemaTree, local: SchemaTree, proposed: SchemaMatching) -> Joined:
    joining = _Joining(target, local, proposed)
    joining.place_all()
    pairs = tuple(
        (place, joining.images[place]) for place in local.places() if place in joining.images
    )
    return Joined(
        tree_of(joining.facts, target.cut_at | local.cut_at),
        SchemaMatching(pairs, joining.ratings),
        tuple(joining.added),
        tuple(joining.unplaced),
    )


class _Joining:
    """The global schema while a local one joins it."""

    def __init__(self, target: SchemaTree, local: SchemaTree, proposed: SchemaMatching) -> None:
        self.facts = facts_of(target)
        self.images = dict(proposed.pairs)
        self.ratings = dict(proposed.ratings)
        self.added: list[Place] = []
        self.unplaced: list[Unplaced] = []
        self._local = facts_of(local)
        self._roots = Place((local.root.name,)), Place((target.root.name,))
        self._owners = {image: place for place, image in proposed.pairs}
        """The local place that each global one stands for."""

    def place_all(self) -> None:
        """Find a place for each of the local schema, in document order."""
        root, other = self._roots
        if root not in self.images and other not in self._owners:
            # Documents begin somewhere: roots that nothing is like are each other's.
            self._pair(root, other)
        levels = self._levels()
        for place, facts in self._local.items():
            image = self.images.get(place)
            if image is not None:
                self.facts[image] = self.facts[image].widened(facts)
            elif place in levels:
                self.unplaced.append(Unplaced(place, "it only holds what has its place elsewhere"))
            else:
                self._add(place, facts)
        for place, facts in self.facts.items():
            if place not in self._owners and parent_of(place) in self._owners:
                self.facts[place] = facts.optional()

    def _pair(self, place: Place, image: Place) -> None:
        """Take two places for the same although nothing but where they are speaks for it."""
        self.images[place] = image
        self._owners[image] = place
        self.ratings[place] = Rating(0.0, is_uncertain=True)

    def _levels(self) -> set[Place]:
        """Elements in no pair that have nothing of their own, nor anything new below them."""
        holders = {parent_of(place) for place in self._local}
        needed: set[Place | None] = set()
        for place, facts in reversed(self._local.items()):
            is_something = facts.text or facts.cut or place not in holders
            if place not in self.images and (is_something or place in needed):
                needed |= {place, parent_of(place)}
        return {place for place in self._local if place not in self.images and place not in needed}

    def _add(self, place: Place, facts: Facts) -> None:
        holder = next((each for each in above(place) if each in self.images), None)
        if holder is None and place == self._roots[0]:
            reason = "it is the root, and the global root stands for something else"
            self.unplaced.append(Unplaced(place, reason))
            return
        parent = self._roots[1] if holder is None else self.images[holder]
        if parent.attribute is not None:
            reason = f"{holder} stands for an attribute, and nothing can be in it"
            self.unplaced.append(Unplaced(place, reason))
            return
        wanted = child_of(parent, name_of(place), is_attribute=place.attribute is not None)
        if wanted in self._owners:
            reason = f"{wanted} stands for {self._owners[wanted]} already"
            self.unplaced.append(Unplaced(place, reason))
        elif wanted in self.facts:
            self._pair(place, wanted)
            self.facts[wanted] = self.facts[wanted].widened(facts)
        else:
            self.images[place] = wanted
            self._owners[wanted] = place
            self.facts[wanted] = facts.optional()
            self.added.append(wanted)
