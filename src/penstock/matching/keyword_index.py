"""The keyword subscriptions of many subscribers, ready to be matched."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike

from penstock.documents import Limits
from penstock.errors import QueryError
from penstock.matching.base_index import (
    StandingQueries,
    added,
    chosen,
    chosen_for_index,
    magic_of,
)
from penstock.matching.engine import KEYWORD_ENGINES, KeywordEngineIndex
from penstock.matching.keyword_matcher import KeywordMatcher
from penstock.matching.native_keyword_engine import NativeKeywordIndex
from penstock.matching.reference.index_file import KEYWORD_MAGIC
from penstock.matching.reference.keyword_engine import ReferenceKeywordIndex

NATIVE_MAGIC = b"penstock-words\r\n"
"""How the files of the native core begin."""


class KeywordIndex(StandingQueries):
    """Standing keyword queries by id: those who cannot write XPath subscribe with words.

    ``storm warning coast`` asks for all of the words, ``storm OR gale`` for any. A document meets a
    query when it has an answer: an element that holds the words together, closest. What is
    returned of it is the element with the ways down to the words. Changing an index is safe while
    others match: each :meth:`matcher` is a snapshot.

    Parameters
    ----------
    engine
        One of :data:`~penstock.matching.engine.KEYWORD_ENGINES`; by default ``"postings"`` where
        the native core is there, and ``"reference"`` where it is not.

    Examples
    --------
    >>> index = KeywordIndex()
    >>> index.add("coastguard", "storm warning coast")
    >>> news = b"<news><item><title>Storm warning</title><p>On the coast ...</p></item></news>"
    >>> index.matcher().match(news).ids
    ('coastguard',)
    """

    _index: KeywordEngineIndex

    def __init__(self, *, engine: str | None = None) -> None:
        self._engine = chosen(engine, KEYWORD_ENGINES)
        is_reference = self._engine == "reference"
        self._index = ReferenceKeywordIndex() if is_reference else NativeKeywordIndex()

    def add(self, id: str, query: str) -> None:  # noqa: A002
        """Add one subscription.

        Parameters
        ----------
        id
            The subscription's name, new to this index.
        query
            Words; see :func:`penstock.language.keywords.query.parse_keywords`.

        Raises
        ------
        QueryError
            The query is refused, or ``subscription.duplicate``: the id is taken.
        """
        for reason in self.add_many([id], [query]).values():
            raise reason

    def add_many(self, ids: Iterable[str], queries: Iterable[str]) -> dict[str, QueryError]:
        """Add many subscriptions at once; one that is refused does not keep the others out.

        Returns
        -------
        The errors by id. An id that is taken, or stands twice in ``ids``, keeps the query that
        came first, and the error is ``subscription.duplicate``.
        """
        return added(list(ids), list(queries), self._index.add_many)

    def matcher(
        self, *, limits: Limits | None = None, engine: str | None = None, discard: bool = True
    ) -> KeywordMatcher:
        """A snapshot of the subscriptions that matches documents.

        Parameters
        ----------
        limits
            How large a document may be, in every respect.
        engine
            Another engine over the same subscriptions: those of the native core share an index.
        discard
            Whether ``kemb`` discards elements as soon as nothing can use them any more. It changes
            no answer; other engines do not ask.
        """
        wanted = chosen_for_index(engine, self._engine, KEYWORD_ENGINES)
        limits = Limits() if limits is None else limits
        return KeywordMatcher(self._index.matcher(wanted, limits, discard=discard))

    @staticmethod
    def _opened(path: str | PathLike[str]) -> tuple[str, KeywordEngineIndex]:
        if magic_of(path, (NATIVE_MAGIC, KEYWORD_MAGIC)) == KEYWORD_MAGIC:
            return "reference", ReferenceKeywordIndex.load(path)
        return chosen("postings", KEYWORD_ENGINES), NativeKeywordIndex.load(path)
