"""Builds elements from declarations, with the checks that need all declarations."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from penstock.errors import error
from penstock.schema.content_model import (
    Child,
    Children,
    Choice,
    Element,
    Indicator,
    Particle,
    cardinalities,
    names_in,
)
from penstock.schema.dtd import Declarations
from penstock.schema.prefix_resolution import is_namespace_declaration


def declared_elements(found: Declarations) -> dict[str, Element]:
    """Each declared element with its attributes and the cardinalities of its children."""
    elements = {}
    any_content = dict.fromkeys(found.contents, Indicator.ANY.occurs)
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
            children=cardinalities(content, any_content),
            where=where,
        )
    return elements


def root_labels(elements: Mapping[str, Element], given: Iterable[str] | None) -> tuple[str, ...]:
    """The given roots, or else the elements that no other element contains."""
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
        raise error("schema.root", "every element is contained in another, so there is no root")
    return roots


def minimal_heights(elements: Mapping[str, Element]) -> dict[str, int]:
    """Minimum height of each element; refuses an element that can only be infinite.

    A content model is evaluated again only when one of its children is completed, so that a long
    chain of elements does not take quadratic time.
    """
    parents: dict[str, list[Element]] = {}
    for element in elements.values():
        for name in dict.fromkeys(names_in(element.content)):
            parents.setdefault(name, []).append(element)
    heights: dict[str, int] = {}
    candidates: Iterable[Element] = elements.values()
    for level in itertools.count(1):
        settled = [one for one in candidates if _completable(one, heights)]
        if not settled:
            break
        heights.update((one.name, level) for one in settled)
        above = {
            parent.name: parent
            for one in settled
            for parent in parents.get(one.name, ())
            if parent.name not in heights
        }
        candidates = above.values()
    for element in elements.values():
        if element.name not in heights:
            raise error(
                "schema.endless",
                f"{element.name!r} requires itself recursively without end",
                element.where,
            )
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
