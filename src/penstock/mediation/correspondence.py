"""A schema matching: correspondences between nodes of a local and the global schema."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from penstock.errors import Where, error
from penstock.schema import Labels, Place, SchemaTree
from penstock.schema.outline import lines_of

UNCERTAIN = "uncertain"
"""The marker of a pair that needs review."""

_SCORE = re.compile(r"[01](?:\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class Rating:
    """The confidence of an automatically found pair."""

    score: float
    """From 0 to 1, rounded to two decimals."""
    is_uncertain: bool = False
    """Whether the pair needs review."""

    def __post_init__(self) -> None:
        if not 0 <= self.score <= 1:
            raise error("mapping.matching", f"a score must be from 0 to 1, not {self.score}")
        object.__setattr__(self, "score", round(self.score, 2))

    def __str__(self) -> str:
        return f"{self.score:.2f}{f' {UNCERTAIN}' if self.is_uncertain else ''}"


@dataclass(frozen=True, slots=True)
class SchemaMatching:
    """Pairs of local and global places; each place occurs in one pair at most.

    >>> matching = SchemaMatching.from_text('''penstock matching 1
    ... /department              /dept
    ... /department/course/@code /dept/course/code
    ... ''')
    >>> [str(place) for place in matching.pairs[1]]
    ['/department/course/@code', '/dept/course/code']
    """

    pairs: tuple[tuple[Place, Place], ...]
    ratings: Mapping[Place, Rating] = field(default_factory=dict, hash=False)
    """Ratings of automatically found pairs, by local place."""

    def __post_init__(self) -> None:
        for side in (0, 1):
            for place, number in Counter(pair[side] for pair in self.pairs).items():
                if not place.path:
                    raise error(
                        "mapping.matching", "the virtual node above the root cannot be matched"
                    )
                if number > 1:
                    raise error("mapping.matching", f"{place} is in two pairs")

    @classmethod
    def from_text(cls, text: str) -> SchemaMatching:
        """Parse a matching file: one pair per line, local place and global place."""
        labels = Labels()
        pairs = []
        ratings = {}
        lines = lines_of(text)
        first = next(lines, None)
        if first is None or first.text != "penstock matching 1":
            where = first.where if first else Where(0, 1, 1)
            raise error("mapping.matching", "the first line must be `penstock matching 1`", where)
        for line in lines:
            if labels.read_line(line.text):
                continue
            words = line.text.split()
            places = [place for place in map(labels.place, words[:2]) if place is not None]
            if len(places) != 2:
                message = "expected two places, `/a/b` or `/a/@b`, or `namespace PREFIX URI`"
                raise error("mapping.matching", message, line.where)
            pairs.append((places[0], places[1]))
            if len(words) > 2:
                ratings[places[0]] = _rating(words[2:], line.where)
        return cls(tuple(pairs), ratings)

    def to_text(
        self, unmatched_local: Iterable[Place] = (), unmatched_target: Iterable[Place] = ()
    ) -> str:
        """The text of the matching file; parsing it yields the same matching.

        Unmatched places are listed as comments.
        """
        rest = [("local", place) for place in unmatched_local]
        rest += [("global", place) for place in unmatched_target]
        labels = Labels.for_names(
            name
            for place in (*chain.from_iterable(self.pairs), *(place for _, place in rest))
            for name in (*place.path, place.attribute)
            if name is not None
        )
        rows = [tuple(map(labels.place_text, pair)) for pair in self.pairs]
        widths = [max((len(row[side]) for row in rows), default=0) for side in (0, 1)]
        lines = ["penstock matching 1", *labels.lines()]
        for (local, _), row in zip(self.pairs, rows, strict=True):
            rating = f" {self.ratings[local]}" if local in self.ratings else ""
            target = f"{row[1]:{widths[1]}}" if rating else row[1]
            lines.append(f"{row[0]:{widths[0]}} {target}{rating}")
        lines += [f"# unmatched, {side}: {labels.place_text(place)}" for side, place in rest]
        return "\n".join(lines) + "\n"

    @property
    def uncertain(self) -> tuple[tuple[Place, Place], ...]:
        """The pairs that need review."""
        return tuple(
            pair
            for pair in self.pairs
            if pair[0] in self.ratings and self.ratings[pair[0]].is_uncertain
        )

    def images(self, local: SchemaTree, target: SchemaTree) -> Mapping[Place, Place]:
        """Global places by local place; both must exist in their schemas."""
        for side, tree, name in ((0, local, "local"), (1, target, "global")):
            known = set(tree.places())
            for pair in self.pairs:
                if pair[side] not in known:
                    raise error("mapping.matching", f"the {name} schema has no {pair[side]}")
        return dict(self.pairs)


def _rating(words: list[str], where: Where) -> Rating:
    score, *rest = words
    if not _SCORE.fullmatch(score) or float(score) > 1 or rest not in ([], [UNCERTAIN]):
        message = (
            f"expected a score from 0 to 1 after the places, optionally followed by `{UNCERTAIN}`"
        )
        raise error("mapping.matching", message, where)
    return Rating(float(score), bool(rest))
