"""Blocks: parts of a set of patterns that are aggregated independently at first.

The rule is the same on one machine and on Spark, so both build the same aggregate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.language import KeywordQuery
from penstock.language.xpath.ast import Axis
from penstock.routing.limits import BLOCK_NODES_MIN, BLOCK_SHARE, BLOCK_STEPS
from penstock.routing.merge_forest import MergeForest, PatternNode
from penstock.routing.merging import Merger
from penstock.routing.patterns import Pattern
from penstock.routing.synopsis import SampledDocuments


def block_of(pattern: Pattern) -> str:
    """The block of a pattern: its first steps up to a ``//``, or its first keyword.

    Examples
    --------
    >>> [block_of(Pattern.of_path(query)) for query in ("/a/b[@n]/c/d", "/a//b", "//b")]
    ['/a/b', '/a//', '//']
    """
    query = pattern.query
    if isinstance(query, KeywordQuery):
        return f"keywords {query.mode.value} {query.keywords[0]}"
    labels = []
    for step in query.branches[0].steps[:BLOCK_STEPS]:
        if step.axis is Axis.DESCENDANT:
            labels.append("//")
            break
        uri = f"{{{step.test.uri}}}" if step.test.uri else ""
        labels.append(f"/{uri}{step.test.local or '*'}")
    return "".join(labels)


def block_bound(block_size: int, total_size: int, bound: int) -> int:
    """How many pattern nodes a block may keep: a multiple of its share of the bound."""
    return max(BLOCK_NODES_MIN, -(-BLOCK_SHARE * bound * block_size // max(1, total_size)))


def aggregate_block(
    nodes: Iterable[PatternNode],
    bound: int,
    sample: SampledDocuments,
    new_forest: Callable[[], MergeForest] = MergeForest,
) -> list[PatternNode]:
    """Aggregates the nodes of a block; returns the roots."""
    forest = new_forest()
    forest.insert_all(nodes)
    Merger(forest, sample).reduce(bound, last_resort=False)
    return list(forest.roots.values())


def aggregate_all(
    nodes: Iterable[PatternNode],
    bound: int,
    sample: SampledDocuments,
    new_forest: Callable[[], MergeForest] = MergeForest,
) -> MergeForest:
    """Aggregates nodes by block, and then the roots of all blocks together.

    What fits the bound as it is needs no blocks.
    """
    given = list(nodes)
    total = sum(node.pattern.size for node in given)
    blocks: dict[str, list[PatternNode]] = {}
    if total > bound:
        for node in given:
            blocks.setdefault(block_of(node.pattern), []).append(node)
    roots: list[PatternNode] = [] if blocks else given
    for _, block in sorted(blocks.items()):
        size = sum(node.pattern.size for node in block)
        roots += aggregate_block(block, block_bound(size, total, bound), sample, new_forest)
    forest = new_forest()
    forest.insert_all(roots)
    Merger(forest, sample).reduce(bound)
    return forest
