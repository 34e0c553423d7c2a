"""The index of subscriptions by what they observe in a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from penstock.errors import QueryError, error
from penstock.language.relations.path_universe import Name, PathUniverse, TextRule
from penstock.language.source_position import position_of
from penstock.language.xpath.namespaces import check_namespaces
from penstock.native import native
from penstock.sync.affected.change import Change
from penstock.sync.limits import AFFECTED_CACHE_BYTES_MAX, AFFECTED_SUBSCRIPTIONS_MAX
from penstock.sync.reference.affected import Observation, ReferenceAffected

ENGINES = ("automaton", "reference")
"""The engines; the first is the default."""


@dataclass(frozen=True, slots=True)
class SearchWork:
    """What a search did; the reference counts nothing."""

    labels: int = 0
    """Labels read: one for each element on the label paths of the change."""
    nodes: int = 0
    """Trie nodes visited because something was not cached."""
    lists: int = 0
    """Posting lists read."""
    postings: int = 0
    """Postings read: one for each observed path of a subscription found."""

    @property
    def operations(self) -> int:
        """All of it."""
        return self.labels + self.nodes + self.lists + self.postings


@dataclass(frozen=True)
class Affected:
    """The subscriptions that a change may affect; their ids are resolved on demand."""

    handles: Sequence[int]
    """Dense numbers of the subscriptions, in no particular order. They are valid in the index until
    a subscription is removed."""
    work: SearchWork
    _ids: Sequence[str] = field(repr=False)

    def __len__(self) -> int:
        return len(self.handles)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids, in the order in which the subscriptions were added."""
        ids = self._ids
        return tuple(ids[handle] for handle in sorted(self.handles))


class Engine(Protocol):
    """Finds the handles of affected subscriptions."""

    def add_many(
        self, queries: Sequence[str], namespaces: Mapping[str, str], default_namespace: str
    ) -> dict[int, QueryError]:
        """Adds the valid queries with the next handles, in order; returns the errors of others."""

    def remove(self, handle: int) -> None:
        """Removes a subscription, which is there."""

    def compact(self) -> Sequence[int]:
        """Renumbers what is left, in order; returns the old handle of each."""

    def affected(self, change: Change) -> tuple[Sequence[int], SearchWork]:
        """The handles, each once."""


class AffectedIndex:
    """Subscriptions by what they observe in a document.

    A search finds every subscription whose restriction (the nodes it selects, with everything below
    them, and the names of their ancestors) differs before and after a change, and some more:
    predicates and positions are not evaluated.

    Parameters
    ----------
    schema
        The schema of the documents, which are valid before and after each change. Subscriptions
        that could only be affected in an invalid document are then not found.
    engine
        One of :data:`ENGINES`; defaults to ``"automaton"``, or to ``"reference"`` if the native
        core is not installed.
    cache_bytes_max
        Bytes of cached automaton states; at the limit, the cache is cleared.
    subscriptions_max
        Maximum number of subscriptions.
    selection_only
        Whether to find only subscriptions that may select other nodes than before: what changes
        inside of a selected node does not count, unless a predicate looks at it.

    Examples
    --------
    >>> index = AffectedIndex()
    >>> index.add_many(["names", "cheap"], ["/shop/item/name", "/shop/item[price < 10]"])
    {}
    >>> path = (("", "shop"), ("", "item"), ("", "price"))
    >>> index.affected(Change.text(path)).ids
    ('cheap',)
    """

    def __init__(
        self,
        *,
        schema: PathUniverse | None = None,
        engine: str | None = None,
        cache_bytes_max: int = AFFECTED_CACHE_BYTES_MAX,
        subscriptions_max: int = AFFECTED_SUBSCRIPTIONS_MAX,
        selection_only: bool = False,
    ) -> None:
        if engine is None:
            engine = ENGINES[0] if native is not None else ENGINES[1]
        if engine not in ENGINES:
            raise error("engine.unknown", f"unknown engine `{engine}`")
        if engine == "reference":
            self._engine: Engine = _ReferenceEngine(schema, selection_only=selection_only)
        elif native is None:
            raise error("native.missing", f"the engine `{engine}` is part of the native core")
        else:
            self._engine = NativeAffected(schema, cache_bytes_max, selection_only=selection_only)
        self._subscriptions_max = subscriptions_max
        # By handle. Replaced when handles change, so that results keep what they refer to.
        self._ids: list[str] = []
        self._handles: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._handles)

    def __contains__(self, id: object) -> bool:  # noqa: A002
        return id in self._handles

    def add(
        self,
        id: str,  # noqa: A002
        query: str,
        *,
        namespaces: Mapping[str, str] | None = None,
        default_namespace: str | None = None,
    ) -> None:
        """Adds one subscription; raises :class:`~penstock.errors.QueryError` if it is refused."""
        refused = self.add_many(
            [id], [query], namespaces=namespaces, default_namespace=default_namespace
        )
        for reason in refused.values():
            raise reason

    def add_many(
        self,
        ids: Iterable[str],
        queries: Iterable[str],
        *,
        namespaces: Mapping[str, str] | None = None,
        default_namespace: str | None = None,
    ) -> dict[str, QueryError]:
        """Adds subscriptions; an invalid one does not affect the others.

        Returns
        -------
        The errors by id. A duplicate id keeps its first query.
        """
        ids, queries = list(ids), list(queries)
        if len(ids) != len(queries):
            raise error("subscription.uneven", f"{len(ids)} ids for {len(queries)} queries")
        try:
            check_namespaces(namespaces, default_namespace)
        except QueryError as refused:
            return dict.fromkeys(ids, refused)
        problems: dict[str, QueryError] = {}
        fresh: dict[str, str] = {}
        for name, query in zip(ids, queries, strict=True):
            if name in self._handles or name in fresh:
                message = f"a subscription `{name}` exists already"
                problems[name] = QueryError("subscription.duplicate", message)
            else:
                fresh[name] = query
        if len(self) + len(fresh) > self._subscriptions_max:
            limit = f"{self._subscriptions_max:,}"
            raise error("sync.too-many-subscriptions", f"more than {limit} subscriptions")
        refused_at = self._engine.add_many(
            list(fresh.values()), namespaces or {}, default_namespace or ""
        )
        for position, name in enumerate(fresh):
            if position in refused_at:
                problems[name] = refused_at[position]
            else:
                self._handles[name] = len(self._ids)
                self._ids.append(name)
        return problems

    def remove(self, id: str) -> None:  # noqa: A002
        """Removes a subscription."""
        handle = self._handles.pop(id, None)
        if handle is None:
            raise error("subscription.unknown", f"unknown subscription `{id}`")
        self._engine.remove(handle)
        if len(self._ids) > 2 * len(self._handles) + 1:
            old = self._ids
            self._ids = [old[handle] for handle in self._engine.compact()]
            self._handles = {name: handle for handle, name in enumerate(self._ids)}

    def affected(self, change: Change) -> Affected:
        """The subscriptions that a change may affect: none that it affects is missing."""
        handles, work = self._engine.affected(change)
        return Affected(handles, work, self._ids)

    def clear_cache(self) -> None:
        """Forgets cached states; searches are slower until they are computed again."""
        if isinstance(self._engine, NativeAffected):
            self._engine.clear_cache()


class NativeAffected:
    """The engine of the native core."""

    def __init__(
        self,
        schema: PathUniverse | None,
        cache_bytes_max: int,
        *,
        selection_only: bool = False,
    ) -> None:
        rules = None if schema is None else _rules(schema)
        self._index = native.AffectedIndex(rules, cache_bytes_max, selection_only)

    def add_many(
        self, queries: Sequence[str], namespaces: Mapping[str, str], default_namespace: str
    ) -> dict[int, QueryError]:
        """Adds the valid queries."""
        refused: dict[int, QueryError] = {}
        valid = queries
        positions: Sequence[int] = range(len(queries))
        if not all(map(str.isascii, queries)):
            # The native core does not accept lone surrogates.
            lone = {at for at, query in enumerate(queries) if not _is_encodable(query)}
            message = "the query contains a lone surrogate"
            refused = {at: QueryError("query.character", message) for at in lone}
            positions = [at for at in positions if at not in lone]
            valid = [queries[at] for at in positions]
        _, problems = self._index.add_many(list(valid), list(namespaces.items()), default_namespace)
        for at, code, message, offset in problems:
            where = None if offset is None else position_of(valid[at], offset)
            refused[positions[at]] = QueryError(code, message, where=where)
        return refused

    def remove(self, handle: int) -> None:
        """Removes a subscription."""
        self._index.remove(handle)

    def compact(self) -> Sequence[int]:
        """Renumbers what is left."""
        return self._index.compact()

    def clear_cache(self) -> None:
        """Forgets cached states."""
        self._index.clear_cache()

    def affected(self, change: Change) -> tuple[Sequence[int], SearchWork]:
        """The handles."""
        handles, counters = self._index.affected(*encode(change))
        return memoryview(handles).cast("I"), SearchWork(*counters)


class _ReferenceEngine:
    """The definition, one subscription at a time."""

    def __init__(self, schema: PathUniverse | None, *, selection_only: bool) -> None:
        self._schema = schema
        self._selected = Observation.EXISTENCE if selection_only else Observation.SUBTREE
        self._subscriptions: dict[int, ReferenceAffected] = {}
        self._next = 0

    def add_many(
        self, queries: Sequence[str], namespaces: Mapping[str, str], default_namespace: str
    ) -> dict[int, QueryError]:
        refused: dict[int, QueryError] = {}
        for position, query in enumerate(queries):
            try:
                subscription = ReferenceAffected.parsed(
                    query, namespaces, default_namespace, selected=self._selected
                )
            except QueryError as problem:
                refused[position] = problem
                continue
            self._subscriptions[self._next] = subscription
            self._next += 1
        return refused

    def remove(self, handle: int) -> None:
        del self._subscriptions[handle]

    def compact(self) -> Sequence[int]:
        old = list(self._subscriptions)
        self._subscriptions = dict(enumerate(self._subscriptions.values()))
        self._next = len(old)
        return old

    def affected(self, change: Change) -> tuple[Sequence[int], SearchWork]:
        found = [
            handle
            for handle, subscription in self._subscriptions.items()
            if subscription.may_be_affected(change.touches, self._schema)
        ]
        return found, SearchWork()


Labels = list[tuple[int, str, str]]
Touches = list[tuple[int, int, str, str, bool, bool]]


def encode(change: Change) -> tuple[Labels, Touches]:
    """A change for the native core: label paths as a tree, parents first, and touches."""
    numbers: dict[tuple[int, Name], int] = {}
    labels: Labels = []
    touches: Touches = []
    for touch in change.touches:
        number = -1
        for label in touch.path:
            child = numbers.get((number, label))
            if child is None:
                child = numbers[number, label] = len(labels)
                labels.append((number, *label))
            number = child
        uri, local = touch.attribute or ("", "")
        touches.append((number, touch.node.value, uri, local, touch.below, touch.text))
    return labels, touches


def _rules(schema: PathUniverse) -> list[tuple[Name, list[int], list[Name], bool]]:
    """The elements of a schema that are reachable from a root, as the native core takes them."""
    names = dict.fromkeys(sorted(schema.roots()))
    waiting = list(names)
    while waiting:
        for child in schema.children(waiting.pop()):
            if child not in names:
                names[child] = None
                waiting.append(child)
    numbers = {name: number for number, name in enumerate(names)}
    return [
        (
            name,
            [numbers[child] for child in schema.children(name)],
            list(schema.attributes(name)),
            schema.text(name) is not TextRule.NONE,
        )
        for name in names
    ]


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
