"""A schema matching: which node of a local schema stands for which of the global one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import Where, error
from penstock.schema import Labels, Place, SchemaTree
from penstock.schema.outline import lines_of


@dataclass(frozen=True, slots=True)
class SchemaMatching:
    """Pairs of places, local and global; no place is in two of them.

    >>> matching = SchemaMatching.from_text('''penstock matching 1
    ... /department              /dept
    ... /department/course/@code /dept/course/code
    ... ''')
    >>> [str(place) for place in matching.pairs[1]]
    ['/department/course/@code', '/dept/course/code']
    """

    pairs: tuple[tuple[Place, Place], ...]

    def __post_init__(self) -> None:
        for side in (0, 1):
            for place, number in Counter(pair[side] for pair in self.pairs).items():
                if not place.path:
                    raise error("mapping.matching", "the node above the root is in no pair")
                if number > 1:
                    raise error("mapping.matching", f"{place} is in two pairs")

    @classmethod
    def from_text(cls, text: str) -> SchemaMatching:
        """Read a matching file: a line a pair, the local place and the global one."""
        labels = Labels()
        pairs = []
        lines = lines_of(text)
        first = next(lines, None)
        if first is None or first.text != "penstock matching 1":
            where = first.where if first else Where(0, 1, 1)
            raise error("mapping.matching", "the first line is not `penstock matching 1`", where)
        for line in lines:
            if labels.read_line(line.text):
                continue
            words = line.text.split()
            places = [place for place in map(labels.place, words) if place is not None]
            if len(words) != 2 or len(places) != 2:
                message = "expected two places, `/a/b` or `/a/@b`, or `namespace PREFIX URI`"
                raise error("mapping.matching", message, line.where)
            pairs.append((places[0], places[1]))
        return cls(tuple(pairs))

    def to_text(self) -> str:
        """The matching file: read again, it gives the same matching."""
        labels = Labels.for_names(
            name
            for pair in self.pairs
            for place in pair
            for name in (*place.path, place.attribute)
            if name is not None
        )
        rows = [tuple(map(labels.place_text, pair)) for pair in self.pairs]
        width = max((len(row[0]) for row in rows), default=0)
        lines = ["penstock matching 1", *labels.lines()]
        return "\n".join([*lines, *(f"{row[0]:{width}} {row[1]}" for row in rows)]) + "\n"

    def images(self, local: SchemaTree, target: SchemaTree) -> Mapping[Place, Place]:
        """Each local place with its global one, all of which the schemas must have."""
        for side, tree, name in ((0, local, "local"), (1, target, "global")):
            known = set(tree.places())
            for pair in self.pairs:
                if pair[side] not in known:
                    raise error("mapping.matching", f"the {name} schema has no {pair[side]}")
        return dict(self.pairs)
