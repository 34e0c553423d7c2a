"""Finds which node of an edited document is which node of the cache.

As in XyDiff and GumTree: equal subtrees that occur once in each tree are matched first; then, from
the leaves upwards, elements whose children are matched; then, from the root downwards, the children
of matched elements are aligned by equality and similarity. What is equal and left over is a move.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Final

from penstock.sync.difference.compared_tree import ComparedTree
from penstock.sync.document_tree import NodeKind
from penstock.sync.limits import ALIGNED_PAIRS_MAX

_FEATURES_MAX: Final = 32
"""Nodes of a subtree that are looked at to tell how similar it is to another."""

_SMALL_SUBTREE: Final = 4
"""Nodes of a subtree that is matched with one of the same name without common content, and that is
not worth a move from a deleted element into a new one."""


class NodeMatching:
    """A one-to-one relation between the nodes of the cache and those of the edited document.

    Text is matched only inside equal subtrees. Elements match elements, comments comments, and
    instructions those with the same target.
    """

    def __init__(self, cache: ComparedTree, edited: ComparedTree) -> None:
        self._cache = cache
        self._edited = edited
        self.to_edited: dict[int, int] = {}
        self.to_cache: dict[int, int] = {}
        self._equal_tops: list[tuple[int, int]] = []
        self._match(0, 0)
        self._match_roots()
        self._match_unique_subtrees()
        # Equal names come first: a new element around a child is not a renamed parent.
        self._match_parents(is_renamed=False)
        self._align_all()
        self._match_parents(is_renamed=True)
        self._align_all()
        self._match_remaining_subtrees()
        self._discard_small_moves()

    def is_equal(self, edited: int) -> bool:
        """Whether a node of the edited document is matched with an equal subtree as a whole."""
        cache = self.to_cache.get(edited)
        return (
            cache is not None
            and self._cache.nodes[cache].content_class == self._edited.nodes[edited].content_class
            and self._cache.size(cache) == self._edited.size(edited)
            and all(
                self.to_cache.get(edited + at) == cache + at
                for at in range(self._edited.size(edited))
            )
        )

    # Pairs

    def _match(self, cache: int, edited: int) -> None:
        self.to_edited[cache] = edited
        self.to_cache[edited] = cache

    def _match_subtree(self, cache: int, edited: int) -> bool:
        """Matches equal subtrees node by node, unless a part of them is matched otherwise."""
        size = self._cache.size(cache)
        pairs = [(cache + at, edited + at) for at in range(size)]
        if any(a in self.to_edited or b in self.to_cache for a, b in pairs):
            return False
        for a, b in pairs:
            self._match(a, b)
        self._equal_tops.append((cache, edited))
        return True

    def _may_match(self, cache: int, edited: int) -> bool:
        a, b = self._cache.nodes[cache], self._edited.nodes[edited]
        if cache in self.to_edited or edited in self.to_cache or a.kind is not b.kind:
            return False
        return a.kind is not NodeKind.INSTRUCTION or a.name == b.name

    # Phases

    def _match_roots(self) -> None:
        roots = [
            next((at for at in t.nodes[0].children if t.nodes[at].kind is NodeKind.ELEMENT), None)
            for t in (self._cache, self._edited)
        ]
        cache, edited = roots
        if cache is None or edited is None:
            return
        if self._cache.nodes[cache].content_class == self._edited.nodes[edited].content_class:
            self._match_subtree(cache, edited)
        else:
            self._match(cache, edited)

    def _match_unique_subtrees(self) -> None:
        places: dict[int, int] = {}
        counts = Counter[int]()
        for at, node in enumerate(self._cache.nodes):
            places[node.content_class] = at
            counts[node.content_class] += 1
        edited_counts = Counter(node.content_class for node in self._edited.nodes)
        at = 1
        while at < len(self._edited.nodes):
            node = self._edited.nodes[at]
            of_class = node.content_class
            is_unique = counts[of_class] == edited_counts[of_class] == 1
            if at in self.to_cache:
                at += 1
            elif (
                is_unique
                and node.kind is not NodeKind.TEXT
                and self._has_content(at)
                and self._match_subtree(places[of_class], at)
            ):
                at = node.end
            else:
                at += 1

    def _has_content(self, edited: int) -> bool:
        """Whether a subtree has more than a name, by which it could be recognised anywhere."""
        node = self._edited.nodes[edited]
        return bool(node.children or node.attributes or node.value)

    def _match_parents(self, *, is_renamed: bool) -> None:
        for at in range(len(self._edited.nodes) - 1, 0, -1):
            if at in self.to_cache or self._edited.nodes[at].kind is not NodeKind.ELEMENT:
                continue
            votes = Counter[int]()
            for child in self._edited.nodes[at].children:
                partner = self.to_cache.get(child)
                if partner is not None:
                    votes[self._cache.nodes[partner].parent] += self._cache.size(partner)
            candidates = [
                (count, -parent)
                for parent, count in votes.items()
                if self._may_match(parent, at) and self._is_same_label(parent, at) != is_renamed
            ]
            if not candidates:
                continue
            count, negative = max(candidates)
            if not is_renamed or 4 * count >= self._cache.size(-negative) + self._edited.size(at):
                self._match(-negative, at)

    def _is_same_label(self, cache: int, edited: int) -> bool:
        return self._cache.nodes[cache].label == self._edited.nodes[edited].label

    def _align_all(self) -> None:
        # Indices are in document order, so a parent is aligned before its children.
        for edited in range(len(self._edited.nodes)):
            cache = self.to_cache.get(edited)
            if cache is not None and self._edited.nodes[edited].children:
                self._align_children(cache, edited)

    def _align_children(self, cache: int, edited: int) -> None:
        before = self._cache.markup_children(cache)
        after = self._edited.markup_children(edited)
        positions = {child: at for at, child in enumerate(before)}
        matched = [
            (positions[partner], at)
            for at, child in enumerate(after)
            if (partner := self.to_cache.get(child)) in positions and partner is not None
        ]
        fixed = [matched[at] for at in increasing_subsequence([pair[0] for pair in matched])]
        start = 0, 0
        for end in [*fixed, (len(before), len(after))]:
            left = [each for each in before[start[0] : end[0]] if each not in self.to_edited]
            right = [each for each in after[start[1] : end[1]] if each not in self.to_cache]
            for a, b in self._aligned(left, right):
                self._pair(a, b)
            start = end[0] + 1, end[1] + 1

    def _pair(self, cache: int, edited: int) -> None:
        if not self._may_match(cache, edited):
            return
        is_equal = (
            self._cache.nodes[cache].content_class == self._edited.nodes[edited].content_class
        )
        if not is_equal or not self._match_subtree(cache, edited):
            self._match(cache, edited)

    def _aligned(self, left: Sequence[int], right: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Pairs of siblings that are probably versions of each other, in order."""
        start, ends = 0, (len(left), len(right))
        while start < min(ends) and self._is_content_equal(left[start], right[start]):
            yield left[start], right[start]
            start += 1
        while min(ends) > start and self._is_content_equal(left[ends[0] - 1], right[ends[1] - 1]):
            ends = ends[0] - 1, ends[1] - 1
            yield left[ends[0]], right[ends[1]]
        left, right = left[start : ends[0]], right[start : ends[1]]
        if len(left) * len(right) <= ALIGNED_PAIRS_MAX:
            yield from self._best_alignment(left, right)
        else:
            yield from self._pairs_in_order(left, right)

    def _is_content_equal(self, cache: int, edited: int) -> bool:
        return self._cache.nodes[cache].content_class == self._edited.nodes[edited].content_class

    def _best_alignment(self, left: Sequence[int], right: Sequence[int]) -> list[tuple[int, int]]:
        """The alignment with the greatest sum of similarities."""
        features = [_features(self._cache, each) for each in left]
        others = [_features(self._edited, each) for each in right]
        score = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
        gain = [
            [self._similarity(a, b, features[i], others[j]) for j, b in enumerate(right)]
            for i, a in enumerate(left)
        ]
        for i in range(len(left) - 1, -1, -1):
            for j in range(len(right) - 1, -1, -1):
                best = max(score[i + 1][j], score[i][j + 1])
                score[i][j] = max(best, score[i + 1][j + 1] + gain[i][j]) if gain[i][j] else best
        pairs: list[tuple[int, int]] = []
        i = j = 0
        while i < len(left) and j < len(right):
            if gain[i][j] and score[i][j] == score[i + 1][j + 1] + gain[i][j]:
                pairs.append((left[i], right[j]))
                i, j = i + 1, j + 1
            elif score[i][j] == score[i + 1][j]:
                i += 1
            else:
                j += 1
        return pairs

    def _similarity(
        self, cache: int, edited: int, features: Counter[object], others: Counter[object]
    ) -> float:
        """0 if the nodes must not be matched, or should not be."""
        if not self._may_match(cache, edited):
            return 0
        if self._is_content_equal(cache, edited):
            return 4
        total = features.total() + others.total()
        # Of two empty elements, one is probably the other with another name.
        shared = 2 * (features & others).total() / total if total else 1.0
        if not self._is_same_label(cache, edited):
            return shared if shared >= 0.5 else 0
        is_small = min(self._cache.size(cache), self._edited.size(edited)) <= _SMALL_SUBTREE
        is_bare = self._cache.nodes[cache].is_bare
        return 1 + 2 * shared if shared or is_small or is_bare else 0

    def _pairs_in_order(
        self, left: Sequence[int], right: Sequence[int]
    ) -> Iterator[tuple[int, int]]:
        """Pairs for long lists, in linear time: equal nodes, then those with equal names."""
        for key in ("content_class", "label"):
            waiting: dict[object, deque[int]] = defaultdict(deque)
            for each in left:
                if each not in self.to_edited:
                    waiting[getattr(self._cache.nodes[each], key)].append(each)
            for each in right:
                queue = waiting.get(getattr(self._edited.nodes[each], key))
                if queue and each not in self.to_cache:
                    yield queue.popleft(), each

    def _match_remaining_subtrees(self) -> None:
        """Equal subtrees below matched parents: a move instead of a deletion and an insertion."""
        waiting: dict[int, deque[int]] = defaultdict(deque)
        for at, node in enumerate(self._cache.nodes):
            if at and at not in self.to_edited and node.parent in self.to_edited:
                waiting[node.content_class].append(at)
        for at, node in enumerate(self._edited.nodes):
            is_top = at and at not in self.to_cache and node.parent in self.to_cache
            if is_top and node.kind is not NodeKind.TEXT:
                queue = waiting.get(node.content_class)
                if queue and self._match_subtree(queue[0], at):
                    queue.popleft()

    def _discard_small_moves(self) -> None:
        """A small subtree that moves from a deleted element into a new one is inserted with it."""
        for cache, edited in self._equal_tops:
            is_enclosed = (
                self._cache.nodes[cache].parent in self.to_edited
                or self._edited.nodes[edited].parent in self.to_cache
            )
            size = self._cache.size(cache)
            if not is_enclosed and size < _SMALL_SUBTREE and not self._cache.nodes[cache].is_bare:
                for at in range(size):
                    del self.to_edited[cache + at]
                    del self.to_cache[edited + at]


def _features(tree: ComparedTree, index: int) -> Counter[object]:
    node = tree.nodes[index]
    features = Counter[object](node.attributes.items())
    if node.value:
        features[node.value] += 1
    for at in range(index + 1, min(node.end, index + _FEATURES_MAX)):
        features[tree.nodes[at].content_class] += 1
    return features


def increasing_subsequence(numbers: Sequence[int]) -> list[int]:
    """The positions of a longest increasing subsequence of distinct numbers."""
    ends: list[int] = []
    tails: list[int] = []
    previous: list[int] = []
    for at, number in enumerate(numbers):
        length = bisect_left(ends, number)
        previous.append(tails[length - 1] if length else -1)
        if length == len(ends):
            ends.append(number)
            tails.append(at)
        else:
            ends[length], tails[length] = number, at
    found: list[int] = []
    at = tails[-1] if tails else -1
    while at >= 0:
        found.append(at)
        at = previous[at]
    return found[::-1]
