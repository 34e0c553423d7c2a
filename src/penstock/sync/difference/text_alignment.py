"""Aligns the text nodes between two siblings with the texts that an edited document has there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.sync.document_tree import NodeId
from penstock.sync.limits import ALIGNED_PAIRS_MAX

TextNode: TypeAlias = tuple[NodeId, str]


@dataclass(frozen=True, slots=True)
class TextRun:
    """The nodes that become one text, and the new values of those that change."""

    kept: tuple[NodeId, ...]
    values: tuple[TextNode, ...] = ()
    deleted: tuple[NodeId, ...] = ()


def align_texts(
    nodes: Sequence[TextNode], texts: Sequence[str]
) -> tuple[list[TextRun | None], list[NodeId]]:
    """The run of nodes of each text (``None`` for one that has to be inserted), and the nodes that
    no text needs."""
    runs: list[TextRun | None] = [None] * len(texts)
    deleted: list[NodeId] = []
    start = node_start = 0
    for at, first, last in [*_equal_runs(nodes, texts), (len(texts), len(nodes), len(nodes))]:
        left = nodes[node_start:first]
        right = range(start, at)
        for offset, position in enumerate(right):
            is_last = position == right[-1]
            group = left[offset:] if is_last else left[offset : offset + 1]
            if group:
                runs[position] = change_run(group, texts[position])
        if not right:
            deleted += [node for node, _ in left]
        if at < len(texts):
            runs[at] = TextRun(tuple(node for node, _ in nodes[first:last]))
        start, node_start = at + 1, last
    return runs, deleted


def _equal_runs(nodes: Sequence[TextNode], texts: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Texts, in order, that consecutive nodes already have: the text, its first node, its end."""
    start = 0
    budget = ALIGNED_PAIRS_MAX
    for at, text in enumerate(texts):
        for first in range(start, len(nodes)):
            budget -= 1
            if budget < 0:
                return
            last, length = first, 0
            while last < len(nodes) and text.startswith(nodes[last][1], length):
                length += len(nodes[last][1])
                last += 1
                if length == len(text):
                    break
            if last > first and length == len(text):
                yield at, first, last
                start = last
                break


def change_run(nodes: Sequence[TextNode], text: str) -> TextRun:
    """Gives consecutive text nodes a new text. Those at the ends that fit keep their value."""
    start, end = 0, len(nodes)
    while start < end - 1 and text.startswith(nodes[start][1]):
        text = text.removeprefix(nodes[start][1])
        start += 1
    while end - 1 > start and text.endswith(nodes[end - 1][1]):
        text = text.removesuffix(nodes[end - 1][1])
        end -= 1
    changed = nodes[start][0]
    if not text:
        kept = (*nodes[:start], *nodes[end:])
        return TextRun(
            tuple(node for node, _ in kept), (), tuple(node for node, _ in nodes[start:end])
        )
    kept = (*nodes[: start + 1], *nodes[end:])
    values = () if nodes[start][1] == text else ((changed, text),)
    deleted = tuple(node for node, _ in nodes[start + 1 : end])
    return TextRun(tuple(node for node, _ in kept), values, deleted)
