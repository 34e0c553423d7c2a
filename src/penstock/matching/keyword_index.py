"""The index of keyword subscriptions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike

from penstock.documents import Limits
from penstock.errors import QueryError
from penstock.language.keywords.tokenizer_options import DEFAULT_TOKENIZER, TokenizerOptions
from penstock.matching.base_index import (
    BaseIndex,
    add_checked,
    choose_engine,
    choose_engine_for_index,
    read_magic,
)
from penstock.matching.engine import KEYWORD_ENGINES, KeywordEngineIndex
from penstock.matching.header_tests import HeaderFields
from penstock.matching.keyword_matcher import KeywordMatcher
from penstock.matching.native_keyword_engine import NativeKeywordIndex
from penstock.matching.reference.index_file import KEYWORD_MAGIC
from penstock.matching.reference.keyword_engine import ReferenceKeywordIndex

NATIVE_MAGIC = b"penstock-words\r\n"
"""Magic number of the native core's index files."""


class KeywordIndex(BaseIndex):
    """Standing keyword queries by id: those who cannot write XPath subscribe with words.

    ``storm warning coast`` asks for all of the words, ``storm OR gale`` for any. A document meets a
    query when it has an answer: an element that holds the words together, closest. What is
    returned of it is the element with the ways down to the words. Changing an index is safe while
    others match: each :meth:`matcher` is a snapshot.

    Parameters
    ----------
    engine
        One of :data:`~penstock.matching.engine.KEYWORD_ENGINES`; defaults to ``"postings"``,
        or to ``"reference"`` if the native core is not installed.
    tokenizer
        Which spellings of a word are the same word; defaults to all that
        :class:`~penstock.language.TokenizerOptions` can unify. Stored with the index.

    Examples
    --------
    >>> index = KeywordIndex()
    >>> index.add("coastguard", "storm warning coast")
    >>> news = b"<news><item><title>Storm warning</title><p>On the coast ...</p></item></news>"
    >>> index.matcher().match(news).ids
    ('coastguard',)
    """

    _index: KeywordEngineIndex

    def __init__(
        self, *, engine: str | None = None, tokenizer: TokenizerOptions = DEFAULT_TOKENIZER
    ) -> None:
        self._engine = choose_engine(engine, KEYWORD_ENGINES)
        is_reference = self._engine == "reference"
        make = ReferenceKeywordIndex if is_reference else NativeKeywordIndex.empty
        self._index = make(tokenizer)

    @property
    def tokenizer(self) -> TokenizerOptions:
        """How queries and documents are tokenized."""
        return self._index.options

    def add(
        self,
        id: str,  # noqa: A002
        query: str,
        *,
        where: HeaderFields | None = None,
    ) -> None:
        """Add one subscription.

        Parameters
        ----------
        id
            The subscription's id, unique in this index.
        query
            Words; see :func:`penstock.language.keywords.query.parse_keywords`.
        where
            Header fields and the values that they must have, in addition to the query.

        Raises
        ------
        QueryError
            The query is invalid, or the id is taken (``subscription.duplicate``).
        """
        for reason in self.add_many([id], [query], where=where).values():
            raise reason

    def add_many(
        self,
        ids: Iterable[str],
        queries: Iterable[str],
        *,
        where: HeaderFields | Sequence[HeaderFields] | None = None,
    ) -> dict[str, QueryError]:
        """Add many subscriptions; an invalid one does not affect the others.

        ``where`` applies to all queries, or is a sequence with the header tests of each.

        Returns
        -------
        The errors by id. A duplicate id keeps its first query and yields
        ``subscription.duplicate``.
        """
        return add_checked(list(ids), list(queries), where, self._index.add_many)

    def matcher(
        self, *, limits: Limits | None = None, engine: str | None = None, discard: bool = True
    ) -> KeywordMatcher:
        """Create a matcher: a snapshot of the subscriptions.

        Parameters
        ----------
        limits
            The limits of the reader.
        engine
            Another engine over the same subscriptions; the native engines share one index.
        discard
            Whether ``kemb`` discards elements as soon as they become irrelevant. Answers are the
            same either way; other engines ignore the option.
        """
        wanted = choose_engine_for_index(engine, self._engine, KEYWORD_ENGINES)
        limits = Limits() if limits is None else limits
        return KeywordMatcher(
            self._index.matcher(wanted, limits, discard=discard),
            description=self._description(wanted),
        )

    @staticmethod
    def _opened(path: str | PathLike[str]) -> tuple[str, KeywordEngineIndex]:
        if read_magic(path, (NATIVE_MAGIC, KEYWORD_MAGIC)) == KEYWORD_MAGIC:
            return "reference", ReferenceKeywordIndex.load(path)
        return choose_engine("postings", KEYWORD_ENGINES), NativeKeywordIndex.load(path)

    @staticmethod
    def _decoded(engine: str, content: bytes) -> KeywordEngineIndex:
        if choose_engine(engine, KEYWORD_ENGINES) == "reference":
            return ReferenceKeywordIndex.from_bytes(content)
        return NativeKeywordIndex.from_bytes(content)
