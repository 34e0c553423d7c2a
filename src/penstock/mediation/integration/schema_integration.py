"""Integrates local schemas into a new global schema, or extends an existing one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors import error
from penstock.mediation.correspondence import SchemaMatching
from penstock.mediation.global_schema import GlobalSchema
from penstock.mediation.integration.majority_vote import by_majority
from penstock.mediation.integration.progressive_merge import merge_all
from penstock.mediation.integration.schema_merge import Unplaced, join_to_fixpoint
from penstock.mediation.integration.sources import Source
from penstock.mediation.schema_matching import Abbreviations
from penstock.schema import Place, SampleValues, SchemaTree, print_tree


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
    domain: str,
    locals_: Sequence[SchemaTree],
    *,
    values: Sequence[SampleValues] | None = None,
    abbreviations: Abbreviations | None = None,
) -> Integration:
    r"""Create the first global schema of a domain from local ones.

    Corresponding places are found by matching all schemas with each other, within limits; then the
    majority determines the name and the parent of each place. The order of the schemas does not
    matter.

    Parameters
    ----------
    domain
        The name of the domain.
    locals_
        The local schemas.
    values
        Values of sample documents of each local schema, used where both sides have some.
    abbreviations
        Abbreviations; by default the built-in table.

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
    sources = _sources(locals_, values)
    order = sorted(range(len(sources)), key=lambda each: _largest_first(sources[each]))
    merged = merge_all([sources[each] for each in order], abbreviations or Abbreviations.shipped())
    matchings = dict(zip(order, merged.matchings, strict=True))
    unplaced = dict(zip(order, merged.unplaced, strict=True))
    images = [dict(matchings[number].pairs) for number in range(len(sources))]
    made, moved = by_majority(merged.tree, locals_, images)
    return Integration(
        GlobalSchema(domain, 1, made),
        tuple(_moved(matchings[number], moved) for number in range(len(sources))),
        tuple(unplaced[number] for number in range(len(sources))),
        tuple(made.places()),
    )


def extend(
    schema: GlobalSchema,
    locals_: Sequence[SchemaTree],
    *,
    values: Sequence[SampleValues] | None = None,
    global_values: SampleValues | None = None,
    abbreviations: Abbreviations | None = None,
) -> Integration:
    """Extend a global schema with local ones; it gets a new version if it changes.

    Existing places keep their positions and names; places are added and cardinalities widened.
    Extending with the same local schema again changes nothing. ``values`` has the values of sample
    documents of each local schema, compared with ``global_values`` where both have some.
    """
    table = abbreviations or Abbreviations.shipped()
    target = Source(schema.tree, global_values or SampleValues())
    matchings, unplaced, added = [], [], list[Place]()
    for local in _sources(locals_, values):
        joined = join_to_fixpoint(target, local, table)
        target = Source(joined.tree, target.values)
        matchings.append(joined.matching)
        unplaced.append(joined.unplaced)
        added += joined.added
    if target.tree != schema.tree:
        schema = GlobalSchema(schema.domain, schema.version + 1, target.tree, schema.digest)
    return Integration(schema, tuple(matchings), tuple(unplaced), tuple(added))


def _sources(locals_: Sequence[SchemaTree], values: Sequence[SampleValues] | None) -> list[Source]:
    if values is None:
        return [Source(tree) for tree in locals_]
    return [Source(tree, found) for tree, found in zip(locals_, values, strict=True)]


def _largest_first(source: Source) -> tuple[object, ...]:
    sketches = ((str(place), sketch.hashes) for place, sketch in source.values.places.items())
    return -sum(1 for _ in source.tree.places()), print_tree(source.tree), sorted(sketches)


def _moved(matching: SchemaMatching, moved: dict[Place, Place]) -> SchemaMatching:
    pairs = tuple((place, moved[image]) for place, image in matching.pairs)
    return SchemaMatching(pairs, matching.ratings)
