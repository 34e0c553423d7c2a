"""The subscriptions of many subscribers, ready to be matched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike

from penstock.documents import Limits
from penstock.errors import QueryError
from penstock.language import parse, why_never
from penstock.language.relations.universe import PathUniverse
from penstock.matching.base_index import (
    StandingQueries,
    added,
    chosen,
    chosen_for_index,
    magic_of,
)
from penstock.matching.engine import ENGINES, EngineIndex
from penstock.matching.matcher import Matcher
from penstock.matching.native_path_engine import NativeIndex
from penstock.matching.reference.index_file import MAGIC as REFERENCE_MAGIC
from penstock.matching.reference.path_engine import ReferenceIndex

NATIVE_MAGIC = b"penstock-index\r\n"
"""How the files of the native core begin."""


class SubscriptionIndex(StandingQueries):
    """Standing queries by id.

    Changing an index is safe while others match: each :meth:`matcher` is a snapshot.

    Parameters
    ----------
    engine
        One of :data:`~penstock.matching.engine.ENGINES`; by default ``"shared"`` where the native
        core is there, and ``"reference"`` where it is not.

    Examples
    --------
    >>> index = SubscriptionIndex()
    >>> index.add("cheap", "/news//item[@lang='en'][price < 10]")
    >>> matches = index.matcher().match(b"<news><item lang='en'><price>7</price></item></news>")
    >>> matches.ids
    ('cheap',)
    """

    _index: EngineIndex

    def __init__(self, *, engine: str | None = None) -> None:
        self._engine = chosen(engine, ENGINES)
        self._index = ReferenceIndex() if self._engine == "reference" else NativeIndex()

    def add(
        self,
        id: str,  # noqa: A002
        query: str,
        *,
        namespaces: Mapping[str, str] | None = None,
        default_namespace: str | None = None,
        schema: PathUniverse | None = None,
    ) -> str | None:
        """Add one subscription, and say so if it can never match.

        Parameters
        ----------
        id
            The subscription's name, new to this index.
        query
            An XPath.
        namespaces
            What the query's prefixes stand for.
        default_namespace
            The namespace of element names without a prefix; none by default.
        schema
            What documents will be like. It decides nothing but the flag that is returned.

        Returns
        -------
        Why no document, or none valid to the schema, can ever meet the query; ``None`` where one
        may. The subscription is added either way. This takes longer than adding, so
        :meth:`add_many` leaves it to :func:`penstock.language.why_never`.

        Raises
        ------
        QueryError
            The query is refused, or ``subscription.duplicate``: the id is taken.

        Examples
        --------
        >>> SubscriptionIndex().add("mistaken", "/items/item[@price < 10][@price > 30]")
        'no document meets predicate 2 of step 2'
        """
        for reason in self.add_many(
            [id], [query], namespaces=namespaces, default_namespace=default_namespace
        ).values():
            raise reason
        parsed = parse(query, namespaces=namespaces, default_namespace=default_namespace)
        return why_never(parsed, schema)

    def add_many(
        self,
        ids: Iterable[str],
        queries: Iterable[str],
        *,
        namespaces: Mapping[str, str] | None = None,
        default_namespace: str | None = None,
    ) -> dict[str, QueryError]:
        """Add many subscriptions at once; one that is refused does not keep the others out.

        Returns
        -------
        The errors by id. An id that is taken, or stands twice in ``ids``, keeps the query that
        came first, and the error is ``subscription.duplicate``. That a query can never match is
        no error: :func:`penstock.language.why_never` tells.
        """
        return added(
            list(ids),
            list(queries),
            lambda ids, queries: self._index.add_many(ids, queries, namespaces, default_namespace),
        )

    def matcher(self, *, limits: Limits | None = None, engine: str | None = None) -> Matcher:
        """A snapshot of the subscriptions that matches documents.

        Parameters
        ----------
        limits
            How large a document may be, in every respect.
        engine
            Another engine over the same subscriptions: those of the native core share an index.
        """
        wanted = chosen_for_index(engine, self._engine, ENGINES)
        limits = Limits() if limits is None else limits
        return Matcher(self._index.matcher(wanted, limits))

    @staticmethod
    def _opened(path: str | PathLike[str]) -> tuple[str, EngineIndex]:
        if magic_of(path, (NATIVE_MAGIC, REFERENCE_MAGIC)) == REFERENCE_MAGIC:
            return "reference", ReferenceIndex.load(path)
        return chosen("shared", ENGINES), NativeIndex.load(path)
