"""The index of XPath subscriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike

from penstock.documents import Limits
from penstock.errors import QueryError
from penstock.language import Query, normalise, parse, parse_normal, why_never
from penstock.language.relations.path_universe import PathUniverse
from penstock.language.xpath.namespaces import check_namespaces
from penstock.matching.base_index import (
    BaseIndex,
    add_checked,
    choose_engine,
    choose_engine_for_index,
    read_magic,
)
from penstock.matching.engine import ENGINES, EngineIndex
from penstock.matching.header_tests import NO_FIELDS, HeaderFields, header_test_error
from penstock.matching.matcher import Matcher
from penstock.matching.native_path_engine import NativeIndex
from penstock.matching.reference.index_file import MAGIC as REFERENCE_MAGIC
from penstock.matching.reference.path_engine import ReferenceIndex

NATIVE_MAGIC = b"penstock-index\r\n"
"""Magic number of the native core's index files."""


class SubscriptionIndex(BaseIndex):
    """XPath subscriptions by id.

    An index may change while documents are being matched: each :meth:`matcher` is a snapshot.

    Parameters
    ----------
    engine
        One of :data:`~penstock.matching.engine.ENGINES`; defaults to ``"shared"``, or to
        ``"reference"`` if the native core is not installed.

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
        self._engine = choose_engine(engine, ENGINES)
        self._index = ReferenceIndex() if self._engine == "reference" else NativeIndex()

    def add(
        self,
        id: str,  # noqa: A002
        query: str,
        *,
        namespaces: Mapping[str, str] | None = None,
        default_namespace: str | None = None,
        where: HeaderFields | None = None,
        schema: PathUniverse | None = None,
    ) -> str | None:
        """Add one subscription, and report if it can never match.

        Parameters
        ----------
        id
            The subscription's id, unique in this index.
        query
            An XPath query.
        namespaces
            The namespace URIs of the query's prefixes.
        default_namespace
            The namespace of element names without a prefix; none by default.
        where
            Header fields and the values that they must have, in addition to the query. They are
            indexed with the query: see the parameter ``header`` of :meth:`Matcher.match`.
        schema
            The schema of the documents. It affects only the returned reason.

        Returns
        -------
        The reason why no document (or none that is valid to the schema) can match the query, else
        ``None``. The subscription is added either way. The check takes longer than adding, so
        :meth:`add_many` omits it: call :func:`penstock.language.why_never`.

        Raises
        ------
        QueryError
            The query is invalid, or the id is taken (``subscription.duplicate``).

        Examples
        --------
        >>> SubscriptionIndex().add("mistaken", "/items/item[@price < 10][@price > 30]")
        'no document meets predicate 2 of step 2'
        """
        for reason in self.add_many(
            [id], [query], namespaces=namespaces, default_namespace=default_namespace, where=where
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
        where: HeaderFields | Sequence[HeaderFields] | None = None,
    ) -> dict[str, QueryError]:
        """Add many subscriptions; an invalid one does not affect the others.

        ``where`` applies to all queries, or is a sequence with the header tests of each.

        Returns
        -------
        The errors by id. A duplicate id keeps its first query and yields
        ``subscription.duplicate``. A query that can never match is not an error: see
        :func:`penstock.language.why_never`.
        """

        def add(
            ids: Sequence[str], queries: Sequence[str], tests: Sequence[HeaderFields]
        ) -> Mapping[int, QueryError]:
            try:
                check_namespaces(namespaces, default_namespace)
            except QueryError as refused:
                return dict.fromkeys(range(len(ids)), refused)
            return self._index.add_many(ids, queries, namespaces, default_namespace, tests)

        return add_checked(list(ids), list(queries), where, add)

    def containers(
        self,
        query: str | Query,
        *,
        namespaces: Mapping[str, str] | None = None,
        default_namespace: str | None = None,
        where: HeaderFields | None = None,
    ) -> tuple[str, ...]:
        """The subscriptions that provably match each document that a query matches.

        They are those whose queries contain the query, decided as by
        :func:`penstock.language.contains` on queries in normal form, and which require no header
        fields besides those of ``where``.

        Parameters
        ----------
        query
            An XPath query, parsed or not.
        namespaces, default_namespace
            As for :meth:`add`; of no effect on a parsed query.
        where
            Header fields and values that documents have besides matching the query.

        Returns
        -------
        The ids, in no particular order. A subscription with the same query is one of them.

        Raises
        ------
        QueryError
            The query is invalid.

        Examples
        --------
        >>> index = SubscriptionIndex()
        >>> errors = index.add_many(["wide", "narrow", "other"], ["//item", "/news/item[b]", "/a"])
        >>> index.containers("/news/item")
        ('wide',)
        >>> index.contained("/news/item")
        ('narrow',)
        """
        normal, fields = _checked(query, namespaces, default_namespace, where)
        return tuple(self._index.containers(normal, fields))

    def contained(
        self,
        query: str | Query,
        *,
        namespaces: Mapping[str, str] | None = None,
        default_namespace: str | None = None,
        where: HeaderFields | None = None,
    ) -> tuple[str, ...]:
        """The subscriptions that provably match only documents that a query matches.

        They are those whose queries the query contains, and which require at least the header
        fields of ``where``. Parameters and result as for :meth:`containers`. The first call after
        many additions takes longer: it reads the queries of each new segment of the index.
        """
        normal, fields = _checked(query, namespaces, default_namespace, where)
        return tuple(self._index.contained(normal, fields))

    def all_containers(self) -> Mapping[str, tuple[str, ...]]:
        """For each subscription, the others that provably match every document that it matches.

        Leaves out subscriptions for which all others would have to be tested, such as those that no
        document can match; use :meth:`containers` for them. For the others, one call is faster.

        Examples
        --------
        >>> index = SubscriptionIndex()
        >>> index.add_many(["wide", "narrow"], ["//item", "/news/item"])
        {}
        >>> index.all_containers()
        {'wide': (), 'narrow': ('wide',)}
        """
        return {id_: tuple(above) for id_, above in self._index.all_containers().items()}

    def matcher(self, *, limits: Limits | None = None, engine: str | None = None) -> Matcher:
        """Create a matcher: a snapshot of the subscriptions.

        Parameters
        ----------
        limits
            The limits of the reader.
        engine
            Another engine over the same subscriptions; the native engines share one index.
        """
        wanted = choose_engine_for_index(engine, self._engine, ENGINES)
        limits = Limits() if limits is None else limits
        return Matcher(self._index.matcher(wanted, limits), description=self._description(wanted))

    @staticmethod
    def _opened(path: str | PathLike[str]) -> tuple[str, EngineIndex]:
        if read_magic(path, (NATIVE_MAGIC, REFERENCE_MAGIC)) == REFERENCE_MAGIC:
            return "reference", ReferenceIndex.load(path)
        return choose_engine("shared", ENGINES), NativeIndex.load(path)

    @staticmethod
    def _decoded(engine: str, content: bytes) -> EngineIndex:
        if choose_engine(engine, ENGINES) == "reference":
            return ReferenceIndex.from_bytes(content)
        return NativeIndex.from_bytes(content)


def _checked(
    query: str | Query,
    namespaces: Mapping[str, str] | None,
    default_namespace: str | None,
    where: HeaderFields | None,
) -> tuple[Query, HeaderFields]:
    """The query in normal form and its header tests."""
    fields = NO_FIELDS if where is None else where
    problem = header_test_error(fields)
    if problem is not None:
        raise problem
    if isinstance(query, str):
        normal = parse_normal(query, namespaces=namespaces, default_namespace=default_namespace)
    else:
        normal = normalise(query)
    return normal, fields
