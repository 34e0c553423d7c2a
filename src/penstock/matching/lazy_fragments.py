"""The fragments of a subscription in one document, created when they are requested.

A small document can have millions of fragments, all subscriptions together. The native core keeps
them in a tenth of the memory and time that Python objects take.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import overload

from penstock.documents import Fragment


class LazyFragments(Sequence[Fragment]):
    """Fragments of which each is created whenever it is requested."""

    @overload
    def __getitem__(self, index: int) -> Fragment: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Fragment, ...]: ...

    def __getitem__(self, index: int | slice) -> Fragment | tuple[Fragment, ...]:
        numbers = range(len(self))[index]
        if isinstance(numbers, int):
            return self._fragment(numbers)
        return tuple(map(self._fragment, numbers))

    def __iter__(self) -> Iterator[Fragment]:
        return map(self._fragment, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[object, ...]:
        return (tuple, (tuple(self),))

    @abstractmethod
    def _fragment(self, number: int) -> Fragment:
        """The fragment with this number."""
