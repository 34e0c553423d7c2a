"""From declarations to elements, with the checks that need all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.errors import error
from penstock.schema.dtd import Declarations
from penstock.schema.model import (
    Child,
    Children,
    Choice,
    Element,
    Particle,
    cardinalities,
    names_in,
)
from penstock.schema.namespaces import is_namespace_declaration


def declared_elements(found: Declarations) -> dict[str, Element]:
    """Each declared element with its attributes, and how often each child may occur."""
    elements = {}
    for label, content in found.contents.items():
        where = found.places[label]
        for name in names_in(content):
            if name not in found.contents:
                raise error(
                    "schema.undeclared",
                    f"{label!r} may contain {name!r}, which is not declared",
                    where,
                )
        attributes = {
            name: attribute
            for name, attribute in found.attributes.get(label, {}).items()
            if not is_namespace_declaration(name)
        }
        elements[label] = Element(
            name=label,
            content=content,
            attributes=attributes,
            children=cardinalities(content, found.contents),
            where=where,
        )
    return elements


def root_labels(elements: Mapping[str, Element], given: Iterable[str] | None) -> tuple[str, ...]:
    """The roots as given, or else the elements that no other element contains."""
    if given is not None:
        roots = tuple(dict.fromkeys(given))
        for label in roots:
            if label not in elements:
                raise error("schema.root", f"the root {label!r} is not declared")
    else:
        contained = {
            child
            for label, element in elements.items()
            for child in element.children
            if child != label
        }
        roots = tuple(label for label in elements if label not in contained)
    if not roots:
        raise error("schema.root", "every element is contained in another: none is the root")
    return roots


def minimal_heights(elements: Mapping[str, Element]) -> dict[str, int]:
    """For each element the least levels a valid one needs; refuses one that can never end."""
    heights: dict[str, int] = {}
    waiting = list(elements.values())
    level = 1
    while waiting:
        settled = [one for one in waiting if _completable(one, heights)]
        if not settled:
            raise error(
                "schema.endless",
                f"{waiting[0].name!r} requires itself within itself without end",
                waiting[0].where,
            )
        heights.update((one.name, level) for one in settled)
        waiting = [one for one in waiting if one.name not in heights]
        level += 1
    return heights


def _completable(element: Element, known: Mapping[str, int]) -> bool:
    if not isinstance(element.content, Children):
        return True
    return _completable_particle(element.content.particle, known)


def _completable_particle(particle: Particle, known: Mapping[str, int]) -> bool:
    if not particle.indicator.occurs.required:
        return True
    if isinstance(particle, Child):
        return particle.name in known
    results = (_completable_particle(item, known) for item in particle.items)
    return any(results) if isinstance(particle, Choice) else all(results)
