"""Catalogues whose places are annotated with concepts.

A file has a line of settings, then the tree: per line a name and its concept. Names of repeated
elements end in ``*``, those of attributes begin with ``@``. Two places of two catalogues correspond
if they have the same concept. Elements without a text value have concepts too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from random import Random
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from penstock.documents import Name, read_events
from penstock.lab.matching_catalogues.concept_values import ConceptValues
from penstock.schema import Place, SampleSummary, SampleValues, SchemaTree

TUNING: Final = "tuning"
HELD_BACK: Final = "held_back"
RECORD_NAMES: Final = "record_names"
"""Catalogues whose courses are elements of different names at different depths."""

NAMES: Final = {
    TUNING: ("alder", "birch", "cedar", "dogwood", "elm", "fir", "gum", "hazel"),
    HELD_BACK: ("juniper", "larch", "maple", "nutmeg", "oak", "pine", "rowan", "spruce"),
    RECORD_NAMES: (
        *("acacia", "beech", "cypress", "ebony", "ginkgo"),
        *("holly", "ivy", "laurel", "myrtle", "willow"),
    ),
}
"""The catalogues of each set; a catalogue never changes its set."""

COURSES: Final = 60
"""Courses of a catalogue, over all its departments."""

REPEATED_MAX: Final = 3
"""Sections, meetings and instructors of one course."""

OPTIONAL: Final = frozenset({"remark", "section-remark", "restriction", "prerequisite", "email"})
"""Concepts that a third of the courses do not have."""


@dataclass(frozen=True, slots=True)
class _Node:
    name: str
    concept: str
    children: tuple[_Node, ...] = ()

    @property
    def is_many(self) -> bool:
        return self.name.endswith("*")


@dataclass(frozen=True)
class AnnotatedCatalogue:
    """A catalogue: its documents, the schema inferred from them, and the concept of each place."""

    name: str
    root: _Node
    clock: str
    days: str

    @cached_property
    def document(self) -> bytes:
        """A document with generated values."""
        values = ConceptValues(Random(self.name), clock=self.clock, days=self.days)
        return "".join(_written(self.root, values, Random(f"{self.name} shape"))).encode()

    @cached_property
    def schema(self) -> SchemaTree:
        """The schema inferred from the document."""
        return SampleSummary.of(read_events(self.document)).tree()

    @cached_property
    def values(self) -> SampleValues:
        """The values of the document."""
        return SampleValues.of(read_events(self.document))

    @cached_property
    def concepts(self) -> dict[str, Place]:
        """The place of each concept."""
        return dict(_places(self.root, ()))


def catalogues_of(which: str) -> list[AnnotatedCatalogue]:
    """The catalogues of a set."""
    folder = files(__package__) / which
    return [
        _parsed(name, (folder / f"{name}.catalogue").read_text("utf-8")) for name in NAMES[which]
    ]


def correspondences(
    local: AnnotatedCatalogue, target: AnnotatedCatalogue
) -> set[tuple[Place, Place]]:
    """The pairs of places with the same concept."""
    return {
        (place, target.concepts[concept])
        for concept, place in local.concepts.items()
        if concept in target.concepts
    }


def _parsed(name: str, text: str) -> AnnotatedCatalogue:
    first, *lines = text.splitlines()
    settings = dict(word.split("=") for word in first.split())
    (root,), _ = _children(lines, 0, 0)
    return AnnotatedCatalogue(name, root, **settings)


def _children(lines: list[str], at: int, depth: int) -> tuple[tuple[_Node, ...], int]:
    """The nodes at this depth from line ``at`` on, and the line after them."""
    found = []
    while at < len(lines) and len(lines[at]) - len(lines[at].lstrip()) == 2 * depth:
        name, concept = lines[at].split()
        inside, at = _children(lines, at + 1, depth + 1)
        found.append(_Node(name, concept, inside))
    return tuple(found), at


def _places(node: _Node, above: tuple[Name, ...]) -> Iterator[tuple[str, Place]]:
    if node.name.startswith("@"):
        yield node.concept, Place(above, Name("", node.name[1:]))
        return
    path = (*above, Name("", node.name.rstrip("*")))
    yield node.concept, Place(path)
    for child in node.children:
        yield from _places(child, path)


def _written(node: _Node, values: ConceptValues, rnd: Random) -> Iterator[str]:
    name = node.name.rstrip("*")
    attributes = [child for child in node.children if child.name.startswith("@")]
    elements = [child for child in node.children if not child.name.startswith("@")]
    if node.concept == "course":
        values.begin_course()
    given = "".join(f" {each.name[1:]}={quoteattr(values.of(each.concept))}" for each in attributes)
    yield f"<{name}{given}>"
    if not elements:
        yield escape(values.of(node.concept))
    for child in elements:
        for _ in range(_count(child, rnd)):
            yield from _written(child, values, rnd)
    yield f"</{name}>\n"


def _count(node: _Node, rnd: Random) -> int:
    if node.concept in OPTIONAL:
        return int(rnd.random() > 1 / 3)
    if not node.is_many:
        return 1
    if node.concept == "department":
        return 4
    is_only_level = node.concept == "course"
    return COURSES if is_only_level else rnd.randint(1, REPEATED_MAX)
