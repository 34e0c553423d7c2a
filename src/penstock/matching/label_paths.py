"""The distinct label paths of a document.

A *label path* is a distinct sequence of element names from the root. A document has few, however
many elements it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.documents import EndElement, Event, Name, StartElement
from penstock.native import native

if TYPE_CHECKING:
    from penstock import _native


@dataclass(frozen=True, slots=True)
class LabelPath:
    """The elements with one label path."""

    parent: int | None
    """Number of the parent's path; ``None`` for the root."""

    name: Name
    """Name of the elements."""

    attributes: frozenset[Name]
    """Names of their attributes."""

    end: int
    """The greatest offset at which one of the elements ends, in bytes of the original."""


class LabelPaths:
    """The distinct label paths of a document; the parent of a path comes before it.

    Examples
    --------
    >>> from penstock import SubscriptionIndex
    >>> matcher = SubscriptionIndex().matcher()
    >>> matches = matcher.match(b"<a><b id='1'/><b/><c/></a>", label_paths=True)
    >>> [(str(path.name), path.parent, path.end) for path in matches.label_paths]
    [('a', None, 26), ('b', 0, 18), ('c', 0, 22)]
    """

    __slots__ = ("_core", "_paths")

    def __init__(
        self, paths: Iterable[LabelPath] = (), *, core: _native.LabelPaths | None = None
    ) -> None:
        self._core = core
        self._paths = None if core is not None else tuple(paths)

    @property
    def core(self) -> _native.LabelPaths:
        """The paths in the native core."""
        if self._core is None:
            self._core = native.LabelPaths(
                [(path.parent, path.name, sorted(path.attributes), path.end) for path in self.paths]
            )
        return self._core

    @property
    def paths(self) -> Sequence[LabelPath]:
        """The paths by number."""
        if self._paths is None:
            assert self._core is not None
            self._paths = tuple(
                LabelPath(parent, Name(*name), frozenset(Name(*each) for each in attributes), end)
                for parent, name, attributes, end in self._core.paths()
            )
        return self._paths

    def __len__(self) -> int:
        return len(self.paths if self._core is None else self._core)

    def __iter__(self) -> Iterator[LabelPath]:
        return iter(self.paths)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelPaths) and self.paths == other.paths

    def __hash__(self) -> int:
        return hash(self.paths)

    def __reduce__(self) -> tuple[type[LabelPaths], tuple[Sequence[LabelPath]]]:
        return LabelPaths, (self.paths,)

    def __repr__(self) -> str:
        return f"<LabelPaths: {len(self)}>"


def label_paths_of(events: Iterable[Event], paths_max: int) -> LabelPaths | None:
    """The label paths of a document's events: the reference.

    ``None`` if there are more than ``paths_max``, attribute names at each path included.
    """
    numbers: dict[tuple[int | None, Name], int] = {}
    attributes: list[set[Name]] = []
    ends: list[int] = []
    opened: list[int] = []
    for event in events:
        match event:
            case StartElement(name=name):
                key = (opened[-1] if opened else None, name)
                number = numbers.setdefault(key, len(numbers))
                if number == len(ends):
                    ends.append(0)
                    attributes.append(set())
                attributes[number].update(each.name for each in event.attributes)
                opened.append(number)
            case EndElement(span=span):
                number = opened.pop()
                ends[number] = max(ends[number], span.end)
    if len(ends) + sum(map(len, attributes)) > paths_max:
        return None
    return LabelPaths(
        LabelPath(parent, name, frozenset(attributes[number]), ends[number])
        for (parent, name), number in numbers.items()
    )
