"""Schemas so small that the contents of each element are enumerated."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from xml.sax.saxutils import quoteattr

from hypothesis import strategies as st

from penstock.language.relations.path_universe import AttributeRule, Name, Occurs, TextRule
from penstock.language.xpath.ast import Axis, Kind, Path
from support.strategies.tiny_documents import accepts

Letter = tuple[Kind, Name]
Needs = frozenset[tuple[int, int]]
"""The (query, step) pairs of which the rest of the query selects something below a node."""


@dataclass(frozen=True)
class TinyElement:
    """The contents an element may have, each a sequence of labels; and its one attribute ``p``."""

    contents: tuple[tuple[str, ...], ...]
    attribute: AttributeRule | None = None
    text: TextRule = TextRule.NONE


UNKNOWN = TinyElement(())


@dataclass(frozen=True)
class TinyUniverse:
    """A path universe by enumeration; the root is ``a``. Labels are local names."""

    elements: tuple[tuple[str, TinyElement], ...]

    def element(self, label: str) -> TinyElement:
        return dict(self.elements).get(label, UNKNOWN)

    def roots(self) -> frozenset[Name]:
        return frozenset({("", "a")})

    def children(self, element: Name) -> Mapping[Name, Occurs]:
        contents = self.element(element[1]).contents
        labels = {label for content in contents for label in content}
        return {
            ("", label): Occurs(
                required=all(label in content for content in contents),
                many=any(content.count(label) > 1 for content in contents),
            )
            for label in labels
        }

    def attributes(self, element: Name) -> Mapping[Name, AttributeRule]:
        rule = self.element(element[1]).attribute
        return {("", "p"): rule} if rule else {}

    def text(self, element: Name) -> TextRule:
        return self.element(element[1]).text

    def admits(
        self, element: Name, among: frozenset[Name], wanted: frozenset[Name] = frozenset()
    ) -> bool:
        return any(
            among >= {("", label) for label in content} >= wanted
            for content in self.element(element[1]).contents
        )

    # By definition

    def finite(self) -> frozenset[str]:
        """The labels of elements that can be completed at all."""
        known: frozenset[str] = frozenset()
        while True:
            grown = frozenset(
                label
                for label, element in self.elements
                if any(known.issuperset(content) for content in element.contents)
            )
            if grown == known:
                return known
            known = grown

    def document(self, chance: random.Random, *, size: int = 12) -> str | None:
        """A valid document of about ``size`` elements; ``None`` if there is none."""
        return self._write("a", chance, [size]) if "a" in self.finite() else None

    def _write(self, label: str, chance: random.Random, left: list[int]) -> str:
        element = self.element(label)
        left[0] -= 1
        finite = self.finite()
        contents = [each for each in element.contents if finite.issuperset(each)]
        if left[0] <= 0:
            heights = self._heights()
            contents = [min(contents, key=lambda each: max((heights[x] for x in each), default=0))]
        written = ""
        rule = element.attribute
        if rule and (rule.required or chance.random() < 0.5):
            values = sorted(rule.values or {"1", "2", "x", "xy"})
            written = f" p={quoteattr(chance.choice(values))}"
        inner = "".join(self._write(child, chance, left) for child in chance.choice(contents))
        if element.text is not TextRule.NONE and chance.random() < 0.5:
            any_text = element.text is TextRule.ANY
            inner += chance.choice(("1", "2", "x", "xy")) if any_text else " "
        return f"<{label}{written}>{inner}</{label}>"

    def _heights(self) -> dict[str, int]:
        heights: dict[str, int] = {}
        for _ in self.elements:
            for label, element in self.elements:
                known = [
                    1 + max((heights[child] for child in content), default=0)
                    for content in element.contents
                    if heights.keys() >= set(content)
                ]
                if known:
                    heights[label] = min(known)
        return heights

    def paths_down(self, depth: int) -> Iterator[tuple[Letter, ...]]:
        """All paths from the root to a node of a valid document, up to a depth."""
        finite = self.finite()
        waiting: list[tuple[tuple[Letter, ...], str]] = []
        if "a" in finite:
            waiting.append((((Kind.ELEMENT, ("", "a")),), "a"))
        while waiting:
            way, label = waiting.pop()
            yield way
            element = self.element(label)
            if element.attribute:
                yield (*way, (Kind.ATTRIBUTE, ("", "p")))
            if element.text is not TextRule.NONE:
                yield (*way, (Kind.TEXT, ("", "")))
            if len(way) < depth:
                below = {x for each in element.contents if finite.issuperset(each) for x in each}
                waiting += [((*way, (Kind.ELEMENT, ("", child))), child) for child in sorted(below)]

    def met_together(self, paths: tuple[Path, ...]) -> set[frozenset[int]]:
        """For each valid document, which of some linear paths select something: all cases.

        Computed upwards: what the elements of one name can have below them, to a fixed point.
        """
        known: dict[str, set[Needs]] = {label: set() for label, _ in self.elements}
        grew = True
        while grew:
            grew = False
            for label, element in self.elements:
                fresh = set(self._needs_met(paths, element, known)) - known[label]
                known[label] |= fresh
                grew = grew or bool(fresh)
        return {
            frozenset(query for query, step in _met_by(paths, Kind.ELEMENT, "a", needs) if not step)
            for needs in known["a"]
        }

    def _needs_met(
        self, paths: tuple[Path, ...], element: TinyElement, known: dict[str, set[Needs]]
    ) -> Iterator[Needs]:
        rule = element.attribute
        without: list[Needs] = [] if rule and rule.required else [frozenset()]
        attributes = [
            *without,
            *([_met_by(paths, Kind.ATTRIBUTE, "p", frozenset())] if rule else []),
        ]
        texts: list[Needs] = [frozenset()]
        if element.text is not TextRule.NONE:
            texts.append(_met_by(paths, Kind.TEXT, "", frozenset()))
        for content in element.contents:
            for choice in product(*(known[label] for label in content)):
                below = [
                    _met_by(paths, Kind.ELEMENT, label, needs)
                    for label, needs in zip(content, choice, strict=True)
                ]
                for attribute, text in product(attributes, texts):
                    yield frozenset().union(attribute, text, *below)


def _met_by(paths: tuple[Path, ...], kind: Kind, label: str, needs: Needs) -> Needs:
    """What one child meets for its parent, given what is met below the child."""
    met = set()
    for query, path in enumerate(paths):
        for index, step in enumerate(path.steps):
            here = step.kind is kind and accepts(step.test, ("", label))
            rest = index + 1 == len(path.steps) or (query, index + 1) in needs
            if (here and rest) or (step.axis is Axis.DESCENDANT and (query, index) in needs):
                met.add((query, index))
    return frozenset(met)


def takes(path: Path, way: tuple[Letter, ...]) -> bool:
    """Whether a linear path selects the node at the end of a label path."""

    def rest(step: int, letter: int) -> bool:
        if step == len(path.steps):
            return letter == len(way)
        if letter == len(way):
            return False
        kind, name = way[letter]
        wanted = path.steps[step]
        if wanted.kind is kind and accepts(wanted.test, name) and rest(step + 1, letter + 1):
            return True
        return wanted.axis is Axis.DESCENDANT and kind is Kind.ELEMENT and rest(step, letter + 1)

    return rest(0, 0)


ATTRIBUTE_RULES = (
    None,
    AttributeRule(),
    AttributeRule(required=True),
    AttributeRule(required=True, values=frozenset({"1", "x"})),
)


@st.composite
def tiny_universes(draw: st.DrawFn, *, labels: str = "abc") -> TinyUniverse:
    """Universes with recursion, choices, required and impossible elements."""
    content = st.lists(st.sampled_from(labels), max_size=2).map(tuple)
    return TinyUniverse(
        tuple(
            (
                label,
                TinyElement(
                    tuple(draw(st.lists(content, min_size=1, max_size=3))),
                    draw(st.sampled_from(ATTRIBUTE_RULES)),
                    draw(st.sampled_from(TextRule)),
                ),
            )
            for label in labels
        )
    )
