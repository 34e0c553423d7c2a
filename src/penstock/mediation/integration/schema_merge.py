"""Merges a local schema into a global one: pairs corresponding places and adds new ones.

Places of the global schema are never removed or renamed; cardinalities may widen.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from penstock.mediation.correspondence import Rating, SchemaMatching
from penstock.mediation.integration.place_properties import (
    Facts,
    above,
    child_of,
    facts_of,
    name_of,
    parent_of,
    tree_of,
)
from penstock.mediation.integration.sources import Source
from penstock.mediation.limits import JOINS_MAX
from penstock.mediation.schema_matching import Abbreviations, match_schemas
from penstock.schema import Place, SchemaTree


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A place of a local schema without a global counterpart."""

    place: Place
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Joined:
    """A global tree after merging a local schema."""

    tree: SchemaTree
    matching: SchemaMatching
    added: tuple[Place, ...]
    unplaced: tuple[Unplaced, ...]


def merge(target: SchemaTree, local: SchemaTree, proposed: SchemaMatching) -> Joined:
    """Merges a local schema into a global tree, given their matching."""
    joining = _Merge(target, local, proposed)
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


def join(target: Source, local: Source, abbreviations: Abbreviations) -> Joined:
    """Matches a local schema with a global one and merges it."""
    return merge(target.tree, local.tree, _matching(target, local, abbreviations))


def join_to_fixpoint(target: Source, local: Source, abbreviations: Abbreviations) -> Joined:
    """Merges a local schema repeatedly until merging it again changes nothing.

    Places added by the schema can change the best matches of its other places. Then the new pairs
    are used, and the schema is merged again.
    """
    known = set(target.tree.places())
    joined = join(target, local, abbreviations)
    for _ in range(JOINS_MAX):
        again = _matching(Source(joined.tree, target.values), local, abbreviations)
        if merge(joined.tree, local.tree, again).tree == joined.tree:
            break
        joined = merge(target.tree, local.tree, _among(again, known))
    return joined


def _matching(target: Source, local: Source, abbreviations: Abbreviations) -> SchemaMatching:
    return match_schemas(
        local.tree,
        target.tree,
        abbreviations=abbreviations,
        local_values=local.values,
        target_values=target.values,
    ).matching


def _among(matching: SchemaMatching, known: Set[Place]) -> SchemaMatching:
    """The pairs of a matching with these global places."""
    pairs = tuple((place, image) for place, image in matching.pairs if image in known)
    kept = {place for place, _ in pairs}
    ratings = {place: rating for place, rating in matching.ratings.items() if place in kept}
    return SchemaMatching(pairs, ratings)


class _Merge:
    """The state of merging a local schema into a global one."""

    def __init__(self, target: SchemaTree, local: SchemaTree, proposed: SchemaMatching) -> None:
        self.facts = facts_of(target)
        self.images = dict(proposed.pairs)
        self.ratings = dict(proposed.ratings)
        self.added: list[Place] = []
        self.unplaced: list[Unplaced] = []
        self._local = facts_of(local)
        self._roots = Place((local.root.name,)), Place((target.root.name,))
        self._owners = {image: place for place, image in proposed.pairs}
        """Local places by global place."""

    def place_all(self) -> None:
        """Places all local places, in document order."""
        root, other = self._roots
        if root not in self.images and other not in self._owners:
            # Roots without other counterparts correspond to each other.
            self._pair(root, other)
        levels = self._levels()
        for place, facts in self._local.items():
            image = self.images.get(place)
            if image is not None:
                self.facts[image] = self.facts[image].widened(facts)
            elif place in levels:
                self.unplaced.append(
                    Unplaced(place, "it contains only places that are matched elsewhere")
                )
            else:
                self._add(place, facts)
        for place, facts in self.facts.items():
            if place not in self._owners and parent_of(place) in self._owners:
                self.facts[place] = facts.optional()

    def _pair(self, place: Place, image: Place) -> None:
        """Pairs two places based on their position alone."""
        self.images[place] = image
        self._owners[image] = place
        self.ratings[place] = Rating(0.0, is_uncertain=True)

    def _levels(self) -> set[Place]:
        """Unmatched elements without content of their own and without new descendants."""
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
            reason = "it is the root, but the global root corresponds to something else"
            self.unplaced.append(Unplaced(place, reason))
            return
        parent = self._roots[1] if holder is None else self.images[holder]
        if parent.attribute is not None:
            reason = f"{holder} corresponds to an attribute, which cannot have children"
            self.unplaced.append(Unplaced(place, reason))
            return
        wanted = child_of(parent, name_of(place), is_attribute=place.attribute is not None)
        if wanted in self._owners:
            reason = f"{wanted} already corresponds to {self._owners[wanted]}"
            self.unplaced.append(Unplaced(place, reason))
        elif wanted in self.facts:
            self._pair(place, wanted)
            self.facts[wanted] = self.facts[wanted].widened(facts)
        else:
            self.images[place] = wanted
            self._owners[wanted] = place
            self.facts[wanted] = facts.optional()
            self.added.append(wanted)
