"""Infers schemas from sample documents.

Each document is summarised by counts per path. Merging summaries is commutative and associative, so
they can be computed in parallel and combined by tree reduction. The native core counts while it
reads; :meth:`SampleSummary.of` counts the events of a document, and tests compare the two.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass, field

from penstock.documents import EndElement, Event, Limits, Name, StartElement, Text, read_events
from penstock.documents.reading import raise_refusal
from penstock.errors import error
from penstock.language.relations.path_universe import Occurs
from penstock.native import native
from penstock.schema.limits import (
    FILE_DEPTH_MAX,
    SAMPLE_PATHS_MAX,
    UNFOLD_LIMITS,
    UnfoldLimits,
)
from penstock.schema.tree import NodePath, SchemaAttribute, SchemaTree
from penstock.schema.unfolding import Declared, unfold

XML_SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class PathCounts:
    """Counts of the samples at one path."""

    elements: int = 0
    """Number of elements."""
    parents: int = 0
    """Parents with at least one such child."""
    most: int = 0
    """Maximum number of such children of one parent."""
    with_text: int = 0
    """Elements that directly contain text other than white space."""
    attributes: Mapping[Name, int] = field(default_factory=dict)
    """Number of elements with each attribute."""

    def merged(self, other: PathCounts) -> PathCounts:
        """Merges two counts."""
        return PathCounts(
            self.elements + other.elements,
            self.parents + other.parents,
            max(self.most, other.most),
            self.with_text + other.with_text,
            dict(Counter(self.attributes) + Counter(other.attributes)),
        )


@dataclass(frozen=True, slots=True)
class SampleSummary:
    """Counts of the samples by path; empty by default.

    >>> from penstock.documents import read_events
    >>> one = SampleSummary.of(read_events(b"<a><b/><b n='1'/></a>"))
    >>> two = SampleSummary.of(read_events(b"<a>text</a>"))
    >>> root = one.merged(two).tree().root
    >>> root.text, root.children[0].occurs
    (True, Occurs(required=False, many=True))
    """

    paths: Mapping[NodePath, PathCounts] = field(default_factory=dict)

    @classmethod
    def of(cls, events: Iterable[Event]) -> SampleSummary:
        """Summarises one document."""
        counting = _PathCounter()
        for event in events:
            counting.handle(event)
        return cls(counting.counts())

    def merged(self, other: SampleSummary) -> SampleSummary:
        """Merges two summaries."""
        paths = dict(self.paths)
        for path, counts in other.paths.items():
            paths[path] = paths[path].merged(counts) if path in paths else counts
        _require_few(paths)
        return SampleSummary(paths)

    def roots(self) -> tuple[Name, ...]:
        """The root names of the samples, sorted."""
        return tuple(sorted(path[0] for path in self.paths if len(path) == 1))

    def tree(self, root: Name | None = None, limits: UnfoldLimits = UNFOLD_LIMITS) -> SchemaTree:
        """The tightest schema that all samples conform to, with ``?``, ``*`` and ``+``.

        Children and attributes are sorted by name, so the order of the samples does not matter.
        """
        found = self.roots()
        if not found:
            raise error("schema.samples", "there are no samples")
        if root is None and len(found) > 1:
            listed = ", ".join(map(str, found))
            raise error("schema.samples", f"the samples have several roots: {listed}")
        if root is not None and root not in found:
            raise error("schema.samples", f"no sample has the root {root}")
        children: dict[NodePath, list[NodePath]] = {}
        for path in sorted(self.paths):
            children.setdefault(path[:-1], []).append(path)

        def declared(path: NodePath) -> Declared[NodePath]:
            return self._declared(path, children.get(path, []))

        start: NodePath = (root or found[0],)
        return unfold(declared, start, limits)

    def _declared(self, path: NodePath, children: list[NodePath]) -> Declared[NodePath]:
        counts = self.paths[path]
        return Declared(
            name=path[-1],
            text=counts.with_text > 0,
            attributes=tuple(
                SchemaAttribute(name, required=number == counts.elements)
                for name, number in sorted(counts.attributes.items())
            ),
            children={child: self._occurs(child, counts.elements) for child in children},
        )

    def _occurs(self, path: NodePath, parents: int) -> Occurs:
        counts = self.paths[path]
        return Occurs(required=counts.parents == parents, many=counts.most > 1)


class SampleReader:
    """Reads sample documents one by one and summarises them.

    >>> reader = SampleReader()
    >>> reader.add(b"<a><b/><b n='1'/></a>")
    >>> reader.add(b"<a>text</a>")
    >>> reader.summary().tree().root.text
    True
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._summary = SampleSummary()
        self._counter = None
        if native is not None:
            self._counter = native.SampleCounter(
                self._limits.by_name(), FILE_DEPTH_MAX, SAMPLE_PATHS_MAX
            )

    def add(self, document: bytes) -> None:
        """Adds a document.

        Raises
        ------
        DocumentError
            The document is refused; it is not counted.
        SchemaError
            ``schema.samples``: the samples are too deep or have too many paths. No document can be
            added afterwards.
        """
        if self._counter is None:
            events = read_events(document, limits=self._limits)
            self._summary = self._summary.merged(SampleSummary.of(events))
            return
        problem, refusal = self._counter.add(document)
        raise_refusal(refusal)
        if problem is not None:
            raise _too_deep() if problem == "depth" else _too_many_paths()

    def summary(self) -> SampleSummary:
        """The summary of all documents that were added."""
        if self._counter is None:
            return self._summary
        paths: list[NodePath] = []
        summarised: dict[NodePath, PathCounts] = {}
        for parent, name, counts, attributes in self._counter.counts():
            path = (*(() if parent is None else paths[parent]), Name(*name))
            paths.append(path)
            own = {Name(*attribute): number for attribute, number in attributes}
            summarised[path] = PathCounts(*counts, own)
        return SampleSummary(summarised)


def _require_few(paths: Sized) -> None:
    if len(paths) > SAMPLE_PATHS_MAX:
        raise _too_many_paths()


def _too_many_paths() -> Exception:
    return error("schema.samples", f"the samples have more than {SAMPLE_PATHS_MAX} paths")


def _too_deep() -> Exception:
    return error("schema.samples", f"a sample has more than {FILE_DEPTH_MAX} levels")


@dataclass(slots=True)
class _Open:
    path: NodePath
    attributes: tuple[Name, ...]
    has_text: bool = False
    children: Counter[Name] = field(default_factory=Counter)


@dataclass(slots=True)
class _Counts:
    """Counts of one document at one path, while it is read."""

    elements: int = 0
    parents: int = 0
    most: int = 0
    with_text: int = 0
    attributes: Counter[Name] = field(default_factory=Counter)


class _PathCounter:
    """Counts the paths of one document."""

    def __init__(self) -> None:
        self._counts: dict[NodePath, _Counts] = defaultdict(_Counts)
        self._open = [_Open((), ())]

    def counts(self) -> dict[NodePath, PathCounts]:
        """The counts of the elements that have ended."""
        return {
            path: PathCounts(
                each.elements, each.parents, each.most, each.with_text, dict(each.attributes)
            )
            for path, each in self._counts.items()
        }

    def handle(self, event: Event) -> None:
        here = self._open[-1]
        if isinstance(event, StartElement):
            here.children[event.name] += 1
            names = tuple(attribute.name for attribute in event.attributes)
            if len(self._open) > FILE_DEPTH_MAX:
                raise _too_deep()
            self._open.append(_Open((*here.path, event.name), names))
        elif isinstance(event, Text):
            here.has_text = here.has_text or bool(event.text.strip(XML_SPACE))
        elif isinstance(event, EndElement):
            self._open.pop()
            counts = self._counts[here.path]
            counts.elements += 1
            counts.with_text += here.has_text
            counts.attributes.update(here.attributes)
            self._add_children(here)
            if len(self._open) == 1:
                self._add_children(self._open[0])

    def _add_children(self, parent: _Open) -> None:
        for name, number in parent.children.items():
            counts = self._counts[*parent.path, name]
            counts.parents += 1
            counts.most = max(counts.most, number)
        _require_few(self._counts)
