"""Baselines that evaluate one query at a time: Spark's ``xpath_boolean``, and a loop over lxml.

Their time is proportional to the number of subscriptions, so their throughput is given in pairs of
a document and a subscription.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lxml import etree

from penstock.lab.bench.report import Figure
from penstock.lab.bench.timing import interleaved
from penstock.pipeline.session import Rows

SUBSCRIPTIONS = (1, 10, 100)
"""Numbers of subscriptions; the time grows linearly with them."""


def baseline_figures(
    documents: Rows, contents: Sequence[bytes], queries: Sequence[str]
) -> list[Figure]:
    """The throughput of each baseline; ``documents`` has the same documents as ``contents``."""
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
            figures.append(Figure(f"{name}, {len(some)} subscriptions", pairs, "pairs per second"))
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
