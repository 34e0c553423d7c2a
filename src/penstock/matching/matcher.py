"""Matches documents against a snapshot of the subscriptions."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from os import PathLike

from penstock.documents import Document, Fragment
from penstock.errors import DocumentError, error
from penstock.matching.batch import BatchMatches, BinaryArray, match_batch
from penstock.matching.engine import Buffer, EngineMatcher, Outcome
from penstock.matching.results import Counters, Explanation, Matches, Names


class Matcher:
    """A snapshot of an index: what is added or removed later, it does not see.

    Made by :meth:`SubscriptionIndex.matcher` and :meth:`KeywordIndex.matcher`. One matcher may
    serve many threads. A document that is refused gives :class:`Matches` without ids and with the
    error: only what is no fault of the document, such as a file that is not there, is raised.
    """

    def __init__(self, engine: EngineMatcher) -> None:
        self._engine = engine

    @property
    def engine(self) -> EngineMatcher:
        """What does the work."""
        return self._engine

    def match(self, document: Buffer | Document, *, fragments: bool = False) -> Matches:
        """Match one document.

        Parameters
        ----------
        document
            Its bytes, in any encoding that the reader knows.
        fragments
            Also return what each query selected, as far as it can be told: see
            :attr:`Matches.untold`.
        """
        data = bytes_of(document)
        return self._matches(self._engine.match(data), data if fragments else None)

    def match_file(self, path: str | PathLike[str], *, fragments: bool = False) -> Matches:
        """Match a file of any size: it is read as it is matched."""
        if not fragments:
            return self._matches(self._engine.match_file(path), None)
        with open(path, "rb") as file:
            try:
                content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:  # an empty file cannot be mapped
                return self.match(b"", fragments=True)
            with content, memoryview(content) as data:
                return self.match(data, fragments=True)

    def match_chunks(self, chunks: Iterable[Buffer], *, fragments: bool = False) -> Matches:
        """Match a document that comes in pieces, cut anywhere.

        With ``fragments`` the pieces are kept until the end, since it takes a second look.
        """
        if fragments:
            return self.match(b"".join(chunks), fragments=True)
        return self._matches(self._engine.match_chunks(chunks), None)

    def match_batch(self, documents: BinaryArray) -> BatchMatches:
        """Match an Arrow array of binary: one row a document, sound, refused or null."""
        return match_batch(self._engine, documents)

    def select(
        self, document: Buffer | Document, ids: Sequence[str]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """What each of these subscriptions selects in a document that was matched before.

        Those of which it cannot be told in bounded memory, which are keywords with ``OR`` in a
        document past :data:`~penstock.matching.limits.KEYWORD_WINDOW_MAX`, are left out.
        """
        return self._engine.select(bytes_of(document), ids)

    def explain(self, document: Buffer | Document, id: str) -> Explanation:  # noqa: A002
        """Say why a document meets a subscription, or at which step it does not.

        Raises
        ------
        UnknownSubscriptionError
            The snapshot has no such subscription.
        """
        explanation = self._engine.explain(bytes_of(document), id)
        if explanation is None:
            raise error("subscription.unknown", f"there is no subscription `{id}`")
        return explanation

    def _matches(self, outcome: Outcome, to_select_in: Buffer | None) -> Matches:
        if to_select_in is None:
            return matches_of(outcome)
        return matches_of(outcome, partial(self._engine.select, to_select_in))


def matches_of(
    outcome: Outcome,
    select: Callable[[Sequence[str]], Mapping[str, tuple[Fragment, ...]]] | None = None,
) -> Matches:
    """What became of one document; with what ``select`` tells of the subscriptions it meets."""
    selected: Mapping[str, tuple[Fragment, ...]] = {}
    untold: list[str] = []
    if select is not None and len(outcome.handles):
        ids = outcome.handles.ids()
        try:
            selected = select(ids)
            untold = [name for name in ids if name not in selected]
        except DocumentError as reason:  # to say where it matches takes more than matching it
            outcome = Outcome(Names(), error=reason)
    return Matches(
        outcome.handles,
        counters=Counters.of_one(
            matches=len(outcome.handles),
            refused=outcome.error is not None,
            work=outcome.work,
        ),
        errors=() if outcome.error is None else (outcome.error,),
        fragments=selected,
        untold=untold,
    )


def bytes_of(document: Buffer | Document) -> Buffer:
    """A document's bytes, whether or not it has a header."""
    return document.content if isinstance(document, Document) else document
