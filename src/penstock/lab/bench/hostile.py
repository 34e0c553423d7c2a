"""``bench hostile``: small documents and subscriptions that cost a matcher the most.

Throughput is measured in CPU time of one thread, because these cases last long enough for other
processes to disturb them. Each case is a stream of :data:`STREAM_BYTES`: its document is matched
repeatedly, the first time with a new matcher, which then compiles the queries that it evaluates.
"""

from __future__ import annotations

import math
import time

from penstock.lab.bench.report import BenchResults, Progress, Report
from penstock.lab.workload.hostile import SUBSCRIPTIONS_MAX, HostileCase, hostile_cases
from penstock.matching import KeywordIndex, Matcher, SubscriptionIndex, combine_matchers

STREAM_BYTES = 100_000
"""The documents of a case together: the budget is one second for these."""

SMALL_DOCUMENT_BYTES = 2_000
"""A shorter document counts as one of this size: every document has a base budget."""

QUICK_SUBSCRIPTIONS = 100
"""Subscriptions of each case in a quick run."""


def run(*, quick: bool, progress: Progress) -> Report:
    """Run all cases."""
    results = BenchResults()
    slowest = float("inf")
    subscriptions = QUICK_SUBSCRIPTIONS if quick else SUBSCRIPTIONS_MAX
    for case in hostile_cases(subscriptions=subscriptions):
        progress(f"bench hostile: {case.name}")
        rate, first, set_aside = _measure(case)
        slowest = min(slowest, rate)
        count = len(case.queries) + len(case.keywords)
        results.figure(
            f"{case.name}: {count:,} subscriptions, {len(case.document) / 1000:,.0f} KB,"
            f" {set_aside:,} set aside, first document {first * 1000:,.0f} ms",
            rate,
            "MB/s",
        )
    results.values["slowest"] = slowest
    return results.report("hostile", quick=quick)


def _measure(case: HostileCase) -> tuple[float, float, int]:
    """The throughput in MB/s, seconds of the first document, and how many subscriptions were set
    aside."""
    matcher = _matcher(case)
    counted = max(len(case.document), SMALL_DOCUMENT_BYTES)
    times = []
    for _ in range(math.ceil(STREAM_BYTES / counted)):
        start = time.process_time()
        matches = matcher.match(case.document, fragments=case.fragments)
        times.append(max(time.process_time() - start, 1e-9))
        assert not matches.errors, (case.name, matches.errors)
    return len(times) * counted / 1e6 / sum(times), times[0], len(matches.set_aside)


def _matcher(case: HostileCase) -> Matcher:
    paths, keywords = SubscriptionIndex(), KeywordIndex()
    paths.add_many([f"path-{number}" for number in range(len(case.queries))], case.queries)
    words = [f"keywords-{number}" for number in range(len(case.keywords))]
    keywords.add_many(words, case.keywords)
    return combine_matchers(paths.matcher(), keywords.matcher()) if words else paths.matcher()
