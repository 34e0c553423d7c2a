"""The aggregated set of a router's subscriptions: fewer and more general patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Self

from penstock.errors import error
from penstock.routing.aggregate_delta import AggregateDelta, digest_of
from penstock.routing.blocks import aggregate_all
from penstock.routing.limits import AGGREGATE_NODES_MAX
from penstock.routing.merge_forest import MergeForest, PatternNode
from penstock.routing.merging import Merger
from penstock.routing.patterns import Pattern
from penstock.routing.synopsis import SampledDocuments


class AggregatedSet:
    """Subscriptions by id, and an aggregate of bounded size that contains all of them.

    Every document that matches a member matches a pattern of the aggregate. Patterns that others
    contain are dropped. Beyond the bound, neighbouring patterns are merged, those first that lose
    the least precision on a sample of documents. When members leave, merged patterns are narrowed
    and split again as far as the bound permits.

    Parameters
    ----------
    bound
        Pattern nodes of the aggregate, at least 1.
    sample
        Documents on which precision is estimated, of a :class:`~penstock.routing.Synopsis`; without
        them, patterns are compared by what they require.
    new_forest
        Makes the forest, with another search for containment or for merges than the default.

    Examples
    --------
    >>> members = AggregatedSet(bound=6)
    >>> delta = members.subscribe({
    ...     "s1": Pattern.of_path("/news/item[@n = 3]"),
    ...     "s2": Pattern.of_path("/news/item[@n = 5]"),
    ...     "s3": Pattern.of_path("/news/item[@n = 5]/title"),
    ... })
    >>> [str(pattern) for pattern in members.patterns]
    ['/news/item[@n <= 5][@n >= 3]']
    >>> delta = members.unsubscribe(["s1"])
    >>> [str(pattern) for pattern in delta.added], len(delta.removed)
    (['/news/item[@n = 5]'], 1)
    """

    def __init__(
        self,
        *,
        bound: int = AGGREGATE_NODES_MAX,
        sample: SampledDocuments | None = None,
        new_forest: Callable[[], MergeForest] = MergeForest,
    ) -> None:
        if bound < 1:
            raise error("routing.bound", f"the bound of an aggregated set is {bound}")
        self.bound = bound
        self._sample = sample or SampledDocuments()
        self._member_patterns: dict[str, Pattern] = {}
        self._nodes: dict[Pattern, PatternNode] = {}
        self._use(new_forest())

    @classmethod
    def build(
        cls,
        members: Mapping[str, Pattern],
        *,
        bound: int = AGGREGATE_NODES_MAX,
        sample: SampledDocuments | None = None,
        new_forest: Callable[[], MergeForest] = MergeForest,
    ) -> Self:
        """Aggregate many subscriptions at once.

        The result depends on the members only, not on their order, and is that of the Spark job
        :func:`penstock.pipeline.aggregate_subscriptions`.
        """
        built = cls(bound=bound, sample=sample)
        built._member_patterns = dict(members)
        nodes = built._new_nodes(members)
        built._use(aggregate_all(nodes, bound, built._sample, new_forest))
        return built

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The aggregate, in the order of the patterns' digests."""
        return tuple(sorted(self._forest.roots, key=lambda pattern: pattern.digest))

    @property
    def size(self) -> int:
        """Pattern nodes of the aggregate, at most the bound."""
        return self._forest.size

    @property
    def digest(self) -> str:
        """The digest of the aggregate."""
        return digest_of(self._forest.roots)

    def __len__(self) -> int:
        """Number of members."""
        return len(self._member_patterns)

    def __contains__(self, id: object) -> bool:  # noqa: A002
        return id in self._member_patterns

    def member_pattern(self, id: str) -> Pattern:  # noqa: A002
        """The pattern of a member."""
        self._check_known([id])
        return self._member_patterns[id]

    def pattern_for(self, id: str) -> Pattern:  # noqa: A002
        """The pattern of the aggregate that represents a member, and contains it."""
        node = self._nodes[self.member_pattern(id)]
        while node.parent is not None:
            node = node.parent
        return node.pattern

    def proof_of(self, id: str) -> tuple[Pattern, ...]:  # noqa: A002
        """The patterns from a member to the aggregate: each is proved to contain the one before."""
        node: PatternNode | None = self._nodes[self.member_pattern(id)]
        chain = []
        while node is not None:
            chain.append(node.pattern)
            node = node.parent
        return tuple(chain)

    def members_of(self, pattern: Pattern) -> frozenset[str]:
        """The members that a pattern of the aggregate represents."""
        nodes = self._forest.roots[pattern].subtree()
        return frozenset(id_ for node in nodes for id_ in node.ids)

    def equivalents_of(self, pattern: Pattern) -> frozenset[str]:
        """The members that match exactly the documents that a pattern of the aggregate matches.

        A document that matched the pattern matches them, and need not be read to know it.
        """
        root = self._forest.roots[pattern]
        same = [root, *(node for node in root.covered if node.pattern.contains(pattern))]
        return frozenset(id_ for node in same for id_ in node.ids)

    def is_exact(self, pattern: Pattern) -> bool:
        """Whether every document that matches a pattern of the aggregate matches a member."""
        return not self._forest.roots[pattern].is_merged

    def subscribe(self, members: Mapping[str, Pattern]) -> AggregateDelta:
        """Add members.

        Each call estimates the selectivity of the new patterns on the whole sample: add many
        members in one call.

        Raises
        ------
        QueryError
            ``subscription.duplicate``; nothing is added.
        """
        for id_ in members:
            if id_ in self._member_patterns:
                raise error("subscription.duplicate", f"the id `{id_}` is in use")
        before = set(self._forest.roots)
        self._member_patterns |= members
        self._forest.insert_all(self._new_nodes(members))
        self._fit()
        return self._delta_from(before)

    def unsubscribe(self, ids: Iterable[str]) -> AggregateDelta:
        """Remove members.

        Raises
        ------
        UnknownSubscriptionError
            ``subscription.unknown``; nothing is removed.
        """
        leaving = list(dict.fromkeys(ids))
        self._check_known(leaving)
        before = set(self._forest.roots)
        empty: list[PatternNode] = []
        for id_ in leaving:
            pattern = self._member_patterns.pop(id_)
            node = self._nodes[pattern]
            node.ids.remove(id_)
            if not node.ids:
                del self._nodes[pattern]
                empty.append(node)
        self._evaluate(self._forest.remove(empty))
        self._fit()
        return self._delta_from(before)

    def resample(self, sample: SampledDocuments) -> AggregateDelta:
        """Estimate on newer documents from now on, and split and merge accordingly."""
        before = set(self._forest.roots)
        self._sample = sample
        self._evaluate(self._walk())
        for node in reversed(list(self._walk())):
            node.member_bits = node.bits if node.ids else 0
            for part in node.covered:
                node.member_bits |= part.member_bits
        self._use(self._forest)
        self._fit()
        return self._delta_from(before)

    def _use(self, forest: MergeForest) -> None:
        self._forest = forest
        self._merger = Merger(forest, self._sample)

    def _walk(self) -> Iterator[PatternNode]:
        for root in self._forest.roots.values():
            yield from root.subtree()

    def _new_nodes(self, members: Mapping[str, Pattern]) -> list[PatternNode]:
        """Files members under their patterns; returns the nodes of new patterns."""
        added: list[PatternNode] = []
        for id_, pattern in members.items():
            node = self._nodes.get(pattern)
            if node is None:
                node = self._nodes[pattern] = PatternNode(pattern)
                added.append(node)
            node.ids.add(id_)
        self._evaluate(added)
        for node in added:
            node.member_bits = node.bits
        return added

    def _evaluate(self, nodes: Iterable[PatternNode]) -> None:
        wanted = list(nodes)
        evaluated = self._sample.match_bits(node.pattern for node in wanted)
        for node, bits in zip(wanted, evaluated, strict=True):
            node.bits = bits

    def _fit(self) -> None:
        """Merges if the aggregate exceeds the bound, else splits what fits."""
        if self._forest.size > self.bound:
            self._merger.reduce(self.bound)
        else:
            self._split_where_room()

    def _split_where_room(self) -> None:
        forest = self._forest
        is_split = True
        while is_split and forest.size < self.bound:
            is_split = False
            merged = [root for root in forest.roots.values() if root.is_merged]
            for root in sorted(merged, key=_worst_first):
                is_root = forest.roots.get(root.pattern) is root
                if is_root and forest.size + forest.growth_of_split(root) <= self.bound:
                    forest.split(root)
                    is_split = True

    def _delta_from(self, before: set[Pattern]) -> AggregateDelta:
        roots = self._forest.roots
        added = sorted(roots.keys() - before, key=lambda pattern: pattern.digest)
        removed = sorted(pattern.digest for pattern in before - roots.keys())
        return AggregateDelta(
            before=digest_of(before),
            after=digest_of(roots),
            added=tuple(added),
            removed=tuple(removed),
        )

    def _check_known(self, ids: Iterable[str]) -> None:
        for id_ in ids:
            if id_ not in self._member_patterns:
                raise error("subscription.unknown", f"unknown subscription `{id_}`")


def _worst_first(root: PatternNode) -> tuple[int, str]:
    return -root.false_documents, root.pattern.key
