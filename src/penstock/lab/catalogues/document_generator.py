"""Generates documents that are valid for a catalogue's local schema, by seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from xml.sax.saxutils import escape, quoteattr

from penstock.errors import error
from penstock.lab.catalogues.catalogue_collection import Catalogue
from penstock.lab.catalogues.value_generator import ValueGenerator, vocabulary_of
from penstock.lab.workload.weighted_choice import Rnd, geometric
from penstock.schema import NodePath, Place, SchemaNode

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

SIZE_MIN = 1_000
"""Smallest document size in bytes, about that of one course in any catalogue."""

OPTIONAL_PROBABILITY = 0.7
"""Probability of an optional element or attribute."""

REPEATS_MEAN = 1.5
"""Mean repetitions of days, books and instructors of a course, and of courses of an instructor."""

BRANCH_MEAN = 4.0
"""Mean repetitions of courses and their containers, except the outermost."""


class CatalogueDocuments:
    """Generates documents that are valid for the schema of one catalogue, in UTF-8.

    The outermost repeatable element, such as a department or a course, repeats until the document
    has its size. ``repeats`` fixes how often some nodes occur below each parent.

    Examples
    --------
    >>> from penstock.lab.catalogues import catalogue
    >>> document = CatalogueDocuments(catalogue("elmsted")).document(2_000, seed=3)
    >>> 2_000 <= len(document) < 3_000
    True
    """

    def __init__(
        self, catalogue: Catalogue, *, repeats: Mapping[NodePath, int] | None = None
    ) -> None:
        self._catalogue = catalogue
        self._repeats = dict(repeats or {})
        self._meanings = dict(catalogue.matching.pairs)
        self._course = next(
            local.path
            for local, meaning in catalogue.matching.pairs
            if meaning.attribute is None and meaning.path[-1].local == "course"
        )
        nodes = catalogue.schema.nodes()
        holders = [self._course[:length] for length in range(1, len(self._course) + 1)]
        self._spine = [path for path in holders if nodes[path].occurs.many]

    def document(self, size_bytes: int, seed: int) -> bytes:
        """A document of this size; the last record may exceed it."""
        if size_bytes < SIZE_MIN:
            message = f"a catalogue document has at least {SIZE_MIN} bytes, not {size_bytes}"
            raise error("lab.parameter", message)
        rnd = Random(seed).random
        one = self._catalogue
        values = ValueGenerator(vocabulary_of(one.language), one.language, one.university, rnd)
        draft = _Draft(size_bytes, rnd, values)
        draft.emit(DECLARATION)
        root = one.schema.root
        self._element(draft, root, (root.name,))
        return "".join(draft.pieces).encode()

    def documents(self, count: int, size_bytes: int, seed: int = 0) -> Iterator[bytes]:
        """Generate ``count`` documents; a larger count only appends."""
        seeds = Random(seed)
        for _ in range(count):
            yield self.document(size_bytes, int(seeds.random() * 2**53))

    def _element(self, draft: _Draft, node: SchemaNode, path: NodePath) -> None:
        if path == self._course:
            draft.values.begin_course()
        label = node.name.local
        draft.emit(f"<{label}")
        for attribute in node.attributes:
            if attribute.required or draft.rnd() < OPTIONAL_PROBABILITY:
                value = draft.values.value(self._meanings[Place(path, attribute.name)])
                draft.emit(f" {attribute.name.local}={quoteattr(value)}")
        draft.emit(">")
        if node.text:
            draft.emit(escape(draft.values.value(self._meanings[Place(path)])))
        made = False
        for child in node.children:
            below = (*path, child.name)
            for _ in self._repetitions(draft, child, below):
                draft.emit("\n" + "  " * len(path))
                self._element(draft, child, below)
                made = True
        if made:
            draft.emit("\n" + "  " * (len(path) - 1))
        draft.emit(f"</{label}>")

    def _repetitions(self, draft: _Draft, node: SchemaNode, path: NodePath) -> Iterator[None]:
        """Yields once per repetition of the node."""
        occurs = node.occurs
        if path in self._repeats:
            yield from [None] * self._repeats[path]
        elif not occurs.many:
            if occurs.required or draft.rnd() < OPTIONAL_PROBABILITY:
                yield None
        elif self._spine and path == self._spine[0]:
            yield None
            while not draft.is_full:
                yield None
        elif path in self._spine:
            yield None
            is_few = self._meanings[Place(path[:-1])].path[-1].local == "instructor"
            for _ in range(geometric(REPEATS_MEAN if is_few else BRANCH_MEAN, draft.rnd)):
                if draft.is_full:
                    return
                yield None
        else:
            count = geometric(REPEATS_MEAN, draft.rnd)
            yield from [None] * (max(count, 1) if occurs.required else count)


@dataclass(slots=True)
class _Draft:
    """A document under construction."""

    size_wanted: int
    rnd: Rnd
    values: ValueGenerator
    pieces: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def is_full(self) -> bool:
        return self.size >= self.size_wanted

    def emit(self, piece: str) -> None:
        self.pieces.append(piece)
        self.size += len(piece) if piece.isascii() else len(piece.encode())
