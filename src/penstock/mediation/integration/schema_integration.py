"""Integrates local schemas into a new global schema, or extends an existing one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors import error
from penstock.mediation.correspondence import SchemaMatching
from penstock.mediation.global_schema import GlobalSchema
from penstock.mediation.integration.majority_vote import by_majority
from penstock.mediation.integration.schema_merge import Unplaced, join, join_to_fixpoint
from penstock.mediation.schema_matching import Abbreviations
from penstock.schema import Place, SchemaTree, print_tree


@dataclass(frozen=True, slots=True)
class Integration:
    """A global schema with the matching of each local schema, in the given order."""

    schema: GlobalSchema
    matchings: tuple[SchemaMatching, ...]
    unplaced: tuple[tuple[Unplaced, ...], ...]
    """For each local schema, the places without a global counterpart."""
    added: tuple[Place, ...]
    """The places added to the global schema."""


def integrate(
    domain: str, locals_: Sequence[SchemaTree], *, abbreviations: Abbreviations | None = None
) -> Integration:
    r"""Create the first global schema of a domain from local ones.

    The schemas are merged by decreasing size, independently of the given order. Then the majority
    determines the name and the parent of each place.

    Examples
    --------
    >>> from penstock.schema import read_tree
    >>> one = read_tree("penstock schema 1\ncatalogue\n  course*\n    title text\n")
    >>> two = read_tree("penstock schema 1\ncatalog\n  course*\n    @title\n    room text\n")
    >>> three = read_tree("penstock schema 1\ncatalogue\n  course*\n    room? text\n")
    >>> print(integrate("courses", [one, two, three]).schema.to_text(), end="")
    penstock schema 1
    domain courses version 1
    <BLANKLINE>
    catalogue
      course*
        title? text
        room? text
    """
    if not locals_:
        raise error("schema.domain", "a global schema needs at least one local schema")
    table = abbreviations or Abbreviations.shipped()
    order = sorted(range(len(locals_)), key=lambda each: _largest_first(locals_[each]))
    tree = locals_[order[0]]
    matchings = {order[0]: SchemaMatching(tuple((place, place) for place in tree.places()))}
    unplaced: dict[int, tuple[Unplaced, ...]] = {order[0]: ()}
    for number in order[1:]:
        joined = join(tree, locals_[number], table)
        tree, matchings[number] = joined.tree, joined.matching
        unplaced[number] = joined.unplaced
    images = [dict(matchings[number].pairs) for number in range(len(locals_))]
    made, moved = by_majority(tree, locals_, images)
    return Integration(
        GlobalSchema(domain, 1, made),
        tuple(_moved(matchings[number], moved) for number in range(len(locals_))),
        tuple(unplaced[number] for number in range(len(locals_))),
        tuple(made.places()),
    )


def extend(
    schema: GlobalSchema,
    locals_: Sequence[SchemaTree],
    *,
    abbreviations: Abbreviations | None = None,
) -> Integration:
    """Extend a global schema with local ones; it gets a new version if it changes.

    Existing places keep their positions and names; places are added and cardinalities widened.
    Extending with the same local schema again changes nothing.
    """
    table = abbreviations or Abbreviations.shipped()
    tree = schema.tree
    matchings, unplaced, added = [], [], list[Place]()
    for local in locals_:
        joined = join_to_fixpoint(tree, local, table)
        tree = joined.tree
        matchings.append(joined.matching)
        unplaced.append(joined.unplaced)
        added += joined.added
    if tree != schema.tree:
        schema = GlobalSchema(schema.domain, schema.version + 1, tree, schema.digest)
    return Integration(schema, tuple(matchings), tuple(unplaced), tuple(added))


def _largest_first(tree: SchemaTree) -> tuple[int, str]:
    return -sum(1 for _ in tree.places()), print_tree(tree)


def _moved(matching: SchemaMatching, moved: dict[Place, Place]) -> SchemaMatching:
    pairs = tuple((place, moved[image]) for place, image in matching.pairs)
    return SchemaMatching(pairs, matching.ratings)
