"""The same question to others: Spark's own XPath expressions, and a loop over lxml.

Both evaluate one query after the other, so what counts is how many pairs of a document and a
subscription they get through in a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lxml import etree

from penstock.lab.bench.report import Figure
from penstock.lab.bench.timing import interleaved
from penstock.pipeline.session import Rows

SUBSCRIPTIONS = (1, 10, 100)
"""As many as they can bear: each costs them the same again."""


def baseline_figures(
    documents: Rows, contents: Sequence[bytes], queries: Sequence[str]
) -> list[Figure]:
    """The pairs that each gets through; ``documents`` are those of ``contents``."""
    figures = []
    for count in SUBSCRIPTIONS:
        some = queries[:count]
        sides = {
            "Spark's xpath_boolean": partial(_with_xpath_boolean, documents, some),
            "a loop over lxml": partial(_with_lxml, contents, some),
        }
        for work in sides.values():
            work()
        for name, timing in interleaved(sides, repeats=3).items():
            pairs = len(contents) * len(some) / timing.median
            figures.append(Figure(f"{name}, {len(some)} subscriptions", pairs, "pairs a second"))
    return figures


def _with_xpath_boolean(documents: Rows, queries: Sequence[str]) -> None:
    def expression(query: str) -> str:
        escaped = query.replace("\\", "\\\\").replace("'", "\\'")
        return f"xpath_boolean(xml, '{escaped}')"

    text = documents.selectExpr("cast(content as string) as xml")
    matched = text.selectExpr(*(f"{expression(query)} as m{n}" for n, query in enumerate(queries)))
    matched.write.format("noop").mode("overwrite").save()


def _with_lxml(contents: Sequence[bytes], queries: Sequence[str]) -> None:
    paths = [etree.XPath(query) for query in queries]
    for content in contents:
        tree = etree.fromstring(content)
        for path in paths:
            bool(path(tree))
