"""The aggregated set of a router's subscriptions: fewer and more general patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import nsmallest
from typing import Self

from penstock.errors import error
from penstock.routing.aggregate_delta import AggregateDelta
from penstock.routing.blocks import aggregate_all
from penstock.routing.limits import AGGREGATE_NODES_MAX, SPLITS_MAX
from penstock.routing.merge_forest import MergeForest, PatternNode
from penstock.routing.merging import Merger
from penstock.routing.pattern_set import PatternSet
from penstock.routing.patterns import Pattern
from penstock.routing.refinements import Refinements
from penstock.routing.synopsis import SampledDocuments


class AggregatedSet:
    """Subscriptions by id, and an aggregate of bounded size that contains all of them.

    Every document that matches a member matches a *root* of the aggregate. Patterns that a root
    contains are *refinements*: they do not affect forwarding, but tell more about a document that
    matched. The most shared and smallest are kept while they fit the bound.
    Only if the roots alone exceed it, neighbouring ones are merged, those first that lose the least
    precision on a sample of documents. When members leave, merged patterns are narrowed and split
    again as far as the bound permits.

    Parameters
    ----------
    bound
        Pattern nodes of the aggregate, at least 1.
    sample
        Documents on which precision is estimated, of a :class:`~penstock.routing.Synopsis`; without
        them, patterns are compared by what they require.
    refine
        Whether the aggregate has refinements.
    new_forest
        Makes the forest, with another search for containment or for merges than the default.

    Examples
    --------
    >>> members = AggregatedSet(bound=7)
    >>> delta = members.subscribe({
    ...     "s1": Pattern.of_path("/news/item[@n = 3]"),
    ...     "s2": Pattern.of_path("/news/item[@n = 5]"),
    ...     "s3": Pattern.of_path("/news/item[@n = 5]/title"),
    ... })
    >>> [str(pattern) for pattern in members.roots]
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
        refine: bool = True,
        new_forest: Callable[[], MergeForest] = MergeForest,
    ) -> None:
        if bound < 1:
            raise error("routing.bound", f"the bound of an aggregated set is {bound}")
        self.bound = bound
        self.refine = refine
        self._sample = sample or SampledDocuments()
        self._member_patterns: dict[str, Pattern] = {}
        self._nodes: dict[Pattern, PatternNode] = {}
        self._refinements = Refinements()
        self._announced = PatternSet()
        self._use(new_forest())

    @classmethod
    def build(
        cls,
        members: Mapping[str, Pattern],
        *,
        bound: int = AGGREGATE_NODES_MAX,
        sample: SampledDocuments | None = None,
        refine: bool = True,
        new_forest: Callable[[], MergeForest] = MergeForest,
    ) -> Self:
        """Aggregate many subscriptions at once.

        The result depends on the members only, not on their order. Without refinements it is that
        of the Spark job :func:`penstock.pipeline.aggregate_subscriptions`.
        """
        built = cls(bound=bound, sample=sample, refine=refine)
        built._member_patterns = dict(members)
        nodes = built._new_nodes(members)
        built._use(aggregate_all(nodes, bound, built._sample, new_forest))
        built._forest.changed_nodes.update(dict.fromkeys(built._walk()))
        built._update()
        return built

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The aggregate: roots and refinements, in the order of the patterns' digests."""
        return self._announced.patterns

    @property
    def roots(self) -> tuple[Pattern, ...]:
        """The patterns that decide what is forwarded, in the order of their digests.

        None contains another, as far as can be proved.
        """
        return tuple(sorted(self._forest.roots, key=lambda pattern: pattern.digest))

    @property
    def size(self) -> int:
        """Pattern nodes of the aggregate, at most the bound."""
        return self._announced.size

    @property
    def digest(self) -> str:
        """The digest of the aggregate."""
        return self._announced.digest

    @property
    def is_merged(self) -> bool:
        """Whether some patterns were merged, at the cost of false forwards."""
        return bool(self._forest.merged_roots)

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
        """The narrowest pattern of the aggregate that is known to contain a member.

        A document that does not match it does not match the member.
        """
        for node in self._above(id):
            if node.pattern.digest in self._announced:
                return node.pattern
        raise AssertionError("a root is part of the aggregate")

    def deciding(self, id: str) -> Pattern | None:  # noqa: A002
        """The pattern of the aggregate that exactly the documents of a member match, if known.

        Whether it matched a document decides the member without reading the document.

        Examples
        --------
        >>> members = AggregatedSet(bound=4)
        >>> delta = members.subscribe({
        ...     "wide": Pattern.of_path("//item"),
        ...     "near": Pattern.of_path("/news/item"),
        ...     "far": Pattern.of_path("/news/section/item"),
        ... })
        >>> [str(members.deciding(id)) for id in ("wide", "near", "far")]
        ['//item', '/news/item', 'None']
        >>> str(members.pattern_for("far"))
        '//item'
        """
        for node in self._above(id):
            if node.pattern.digest in self._announced:
                return node.pattern
            if not node.is_repetition():
                return None
        return None

    def proof_of(self, id: str) -> tuple[Pattern, ...]:  # noqa: A002
        """The patterns from a member to a root: each is proved to contain the one before."""
        return tuple(node.pattern for node in self._above(id))

    def members_of(self, pattern: Pattern) -> frozenset[str]:
        """The members that a pattern of the aggregate is known to contain."""
        return frozenset(id_ for node in self._node(pattern).subtree() for id_ in node.ids)

    def equivalents_of(self, pattern: Pattern) -> frozenset[str]:
        """The members that match exactly the documents that a pattern of the aggregate matches.

        A document that matched the pattern matches them, and need not be read to know it.
        """
        top = self._node(pattern)
        same = [top, *(node for node in top.covered if node.is_repetition())]
        return frozenset(id_ for node in same for id_ in node.ids)

    def is_exact(self, pattern: Pattern) -> bool:
        """Whether every document that matches a pattern of the aggregate matches a member."""
        return not self._node(pattern).is_merged

    def subscribe(self, members: Mapping[str, Pattern]) -> AggregateDelta:
        """Add members.

        Each call estimates the selectivity of the new patterns on the whole sample: add many
        members in one call.

        Raises
        ------
        QueryError
            ``subscription.duplicate``; nothing is added.
        """
        return self.change(members, ())

    def unsubscribe(self, ids: Iterable[str]) -> AggregateDelta:
        """Remove members.

        Raises
        ------
        UnknownSubscriptionError
            ``subscription.unknown``; nothing is removed.
        """
        return self.change({}, ids)

    def change(self, added: Mapping[str, Pattern], removed: Iterable[str]) -> AggregateDelta:
        """Add members and remove others, in one delta.

        Raises
        ------
        QueryError
            ``subscription.duplicate``; nothing is changed.
        UnknownSubscriptionError
            ``subscription.unknown``; nothing is changed.
        """
        leaving = list(dict.fromkeys(removed))
        self._check_known(leaving)
        for id_ in added:
            if id_ in self._member_patterns:
                raise error("subscription.duplicate", f"the id `{id_}` is in use")
        if added:
            self._member_patterns |= added
            self._forest.insert_all(self._new_nodes(added))
        if leaving:
            self._remove(leaving)
        self._fit()
        return self._update()

    def resample(self, sample: SampledDocuments) -> AggregateDelta:
        """Estimate on newer documents from now on, and split and merge accordingly."""
        self._sample = sample
        self._evaluate(self._walk())
        for node in reversed(list(self._walk())):
            node.member_bits = node.bits if node.ids else 0
            for part in node.covered:
                node.member_bits |= part.member_bits
        self._use(self._forest)
        self._fit()
        return self._update()

    def _above(self, id_: str) -> Iterator[PatternNode]:
        """The node of a member and those above it."""
        node: PatternNode | None = self._nodes[self.member_pattern(id_)]
        while node is not None:
            yield node
            node = node.parent

    def _node(self, pattern: Pattern) -> PatternNode:
        """The node of a pattern of the aggregate."""
        root = self._forest.roots.get(pattern)
        return self._nodes[pattern] if root is None else root

    def _remove(self, ids: Iterable[str]) -> None:
        empty: list[PatternNode] = []
        for id_ in ids:
            pattern = self._member_patterns.pop(id_)
            node = self._nodes[pattern]
            node.ids.remove(id_)
            self._forest.changed_nodes[node] = None
            if not node.ids:
                del self._nodes[pattern]
                empty.append(node)
        self._evaluate(self._forest.remove(empty))

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
            self._forest.changed_nodes[node] = None
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
        """Merges if the roots exceed the bound, and splits what fits."""
        if self._forest.size > self.bound:
            self._merger.reduce(self.bound)
        self._split_where_room()

    def _split_where_room(self) -> None:
        """Splits merged roots, the worst first, as long as one of them fits when it is split."""
        forest = self._forest
        is_split = True
        while is_split:
            is_split = False
            for root in nsmallest(SPLITS_MAX, forest.merged_roots.values(), key=_worst_first):
                if forest.roots.get(root.pattern) is root and self._split(root):
                    is_split = True

    def _split(self, root: PatternNode) -> bool:
        """Replaces a root by what is directly below it, or by its members, if they fit."""
        for parts in (list(root.covered), root.members_below()):
            if self._forest.size + self._forest.growth_of_split(root, parts) <= self.bound:
                self._forest.split(root, parts)
                return True
        return False

    def _update(self) -> AggregateDelta:
        """Chooses the refinements after a change of the forest; returns the delta."""
        forest, refinements = self._forest, self._refinements
        if self.refine:
            changed_patterns = {node.pattern for node in forest.changed_nodes}
            refinements.put({pattern: self._refines(pattern) for pattern in changed_patterns})
            refinements.fit(self.bound - forest.size)
        changed = forest.changed_roots | refinements.changed
        for journal in (forest.changed_nodes, forest.changed_roots, refinements.changed):
            journal.clear()
        announced = {each for each in changed if each in forest.roots or each in refinements}
        before = self._announced.digest
        added = sorted(
            (each for each in announced if each.digest not in self._announced),
            key=lambda pattern: pattern.digest,
        )
        removed = sorted(
            each.digest for each in changed - announced if each.digest in self._announced
        )
        if added or removed:
            self._announced.change(added, removed)
        return AggregateDelta(
            before=before,
            after=self._announced.digest,
            added=tuple(added),
            removed=tuple(removed),
        )

    def _refines(self, pattern: Pattern) -> int:
        """The members with a pattern that is below others and says more than the one above it."""
        node = self._nodes.get(pattern)
        if node is None or node.parent is None:
            return 0
        stands_for_it = not node.parent.is_merged or node.parent.parent is None
        if stands_for_it and node.is_repetition():
            return 0
        return len(node.ids)

    def _check_known(self, ids: Iterable[str]) -> None:
        for id_ in ids:
            if id_ not in self._member_patterns:
                raise error("subscription.unknown", f"unknown subscription `{id_}`")


def _worst_first(root: PatternNode) -> tuple[int, str]:
    return -root.false_documents, root.pattern.key
