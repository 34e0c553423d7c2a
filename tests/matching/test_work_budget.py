"""The work budget of documents: expensive subscriptions are set aside, all others are served."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import KeywordIndex, SubscriptionIndex, combine_matchers
from penstock.documents import Limits
from penstock.errors import DocumentError
from penstock.lab.workload.hostile import HostileCase, hostile_cases
from penstock.matching import Matcher
from penstock.mediation import Mapping, MediatedMatcher
from support.contracts.native_engines import needs_native

pytestmark = needs_native

CHEAP = {"cheap": "/a/a/a", "cheap-value": "//b[@k = '3']"}
EXPENSIVE = {
    f"expensive-{number}": f"//*[.//b[@k={number}]]//*[.//a[@k={number}] and .//b != {number}]"
    for number in range(200)
}
INNER = "".join(f"<a k='{number}'/><b k='{number}'>{number}</b>" for number in range(50))
DOCUMENT = ("<a>" * 50 + INNER + "</a>" * 50).encode()
LIMITS = Limits(work=300)


def index_of(queries: dict[str, str], engine: str | None = None) -> SubscriptionIndex:
    index = SubscriptionIndex(engine=engine)
    index.add_many(list(queries), list(queries.values()))
    return index


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return index_of(CHEAP | EXPENSIVE).matcher(limits=LIMITS)


def test_expensive_subscriptions_are_set_aside_and_named(matcher: Matcher) -> None:
    matches = matcher.match(DOCUMENT)
    assert not matches.errors
    assert set(matches.ids) == set(CHEAP)
    assert matches.set_aside <= set(EXPENSIVE)
    assert len(matches.set_aside) > 100
    error = matches.work_error
    assert error is not None
    assert error.code == "limit.work"
    assert min(matches.set_aside) in error.message
    with pytest.raises(DocumentError, match="set aside"):
        matches.raise_for_errors()


def test_a_larger_limit_serves_everyone(matcher: Matcher) -> None:
    unlimited = index_of(CHEAP | EXPENSIVE).matcher(limits=Limits(work=10**9)).match(DOCUMENT)
    assert not unlimited.set_aside
    assert unlimited.work_error is None
    unlimited.raise_for_errors()
    limited = matcher.match(DOCUMENT)
    assert set(limited.ids) == set(unlimited.ids) - limited.set_aside


def test_every_way_to_pass_a_document_gives_the_same(matcher: Matcher) -> None:
    matches = matcher.match(DOCUMENT)
    chunks = [DOCUMENT[at : at + 7] for at in range(0, len(DOCUMENT), 7)]
    assert matcher.match_chunks(chunks).set_aside == matches.set_aside
    batch = matcher.match_batch(pa.array([b"<a/>", DOCUMENT, None, DOCUMENT]))
    assert set(batch.set_aside) == {1, 3}
    assert set(batch.set_aside[1]) == set(batch.set_aside[3]) == matches.set_aside
    found: list[Any] = batch.ids.to_pylist()
    assert [sorted(ids) for ids in found] == [[], sorted(CHEAP), [], sorted(CHEAP)]


def test_results_with_subscriptions_set_aside_can_be_pickled(matcher: Matcher) -> None:
    matches = matcher.match(DOCUMENT)
    copy = pickle.loads(pickle.dumps(matches))
    assert (copy.ids, copy.set_aside) == (matches.ids, matches.set_aside)


def test_keywords_are_served_beside_paths_that_are_set_aside(matcher: Matcher) -> None:
    keywords = KeywordIndex()
    keywords.add("words", "a 17")
    combined = combine_matchers(matcher, keywords.matcher(limits=LIMITS))
    matches = combined.match(DOCUMENT)
    assert set(matches.ids) == {*CHEAP, "words"}
    assert matches.set_aside == matcher.match(DOCUMENT).set_aside
    batch = combined.match_batch(pa.array([DOCUMENT]))
    assert set(batch.set_aside[0]) == matches.set_aside


def test_a_rewritten_document_has_a_budget_too(matcher: Matcher) -> None:
    mapping = Mapping.from_text("penstock mapping 1\nx\n  => rename a\n")
    document = b"<x>" + DOCUMENT[3:-4] + b"</x>"
    keywords = KeywordIndex()
    keywords.add("words", "a 17")
    for combined in (matcher, combine_matchers(matcher, keywords.matcher(limits=LIMITS))):
        mediated = MediatedMatcher(combined)
        matches = mediated.match(document, mapping)
        assert set(CHEAP) <= set(matches.ids)
        assert matches.set_aside
        assert not matches.set_aside & set(matches.ids)
        batch = mediated.match_batch(pa.array([document]), [mapping])
        assert set(batch.set_aside[0]) == matches.set_aside


def test_fragments_beyond_the_budget_are_not_determined(matcher: Matcher) -> None:
    found = index_of(CHEAP | EXPENSIVE).matcher(limits=Limits(work=10**9)).match(DOCUMENT)
    some = matcher.select(DOCUMENT, list(found.ids))
    assert set(CHEAP) <= set(some) < set(found.ids)
    everything = index_of(CHEAP | EXPENSIVE).matcher(limits=Limits(work=10**9))
    exact = everything.select(DOCUMENT, list(some))
    assert {name: [each.spans for each in found] for name, found in some.items()} == {
        name: [each.spans for each in found] for name, found in exact.items()
    }


def test_matches_without_fragments_are_named() -> None:
    queries = {f"all-{number}": f"//*[@k != {number}]" for number in range(1_000)}
    matcher = index_of(queries).matcher(limits=Limits(work=50))
    matches = matcher.match(DOCUMENT, fragments=True)
    assert not matches.errors
    assert matches.without_fragments
    assert matches.without_fragments | set(matches.fragments) == set(matches.ids)


def test_fragments_beyond_the_budget_of_a_rewritten_document(matcher: Matcher) -> None:
    mapping = Mapping.from_text("penstock mapping 1\nx\n  => rename a\n")
    document = b"<x>" + DOCUMENT[3:-4] + b"</x>"
    found = MediatedMatcher(matcher).select(document, mapping, [*CHEAP, *EXPENSIVE])
    assert "cheap-value" in found
    assert set(EXPENSIVE) - set(found)


def test_stored_values_beyond_the_limit_set_a_subscription_aside() -> None:
    values = "".join(f"<a>{number}{'x' * 50_000}</a>" for number in range(1_400))
    document = f"<r>{values}<c/></r>".encode()
    matcher = index_of({"pairs": "/r[a = c]", "cheap": "/r/c"}).matcher()
    matches = matcher.match(document)
    assert not matches.errors
    assert set(matches.ids) == {"cheap"}
    assert matches.set_aside == {"pairs"}


def test_an_explanation_beyond_its_budget_is_refused(matcher: Matcher) -> None:
    small = index_of(EXPENSIVE).matcher(limits=Limits(work=1))
    explanation = small.explain(DOCUMENT, "expensive-0")
    assert explanation.error is not None
    assert explanation.error.code == "limit.work"
    assert matcher.explain(DOCUMENT, "cheap").error is None


def test_the_reference_engine_sets_nothing_aside() -> None:
    matches = index_of(CHEAP, "reference").matcher(limits=Limits(work=1)).match(DOCUMENT)
    assert set(matches.ids) == set(CHEAP)
    assert matches.set_aside == frozenset()


CASES = list(hostile_cases(subscriptions=30))


@pytest.mark.hypothesis
@settings(max_examples=len(CASES), deadline=None)
@given(case=st.sampled_from(CASES), work=st.sampled_from([1, 10, 100]))
def test_hostile_subscriptions_are_decided_exactly_or_set_aside(
    case: HostileCase, work: int
) -> None:
    queries = {str(number): query for number, query in enumerate(case.queries)}
    if not queries:
        return
    index = index_of(queries)
    limited = index.matcher(limits=Limits(work=work)).match(case.document)
    unlimited = index.matcher(limits=Limits(work=10**9)).match(case.document)
    assert not unlimited.set_aside
    assert set(limited.ids) == set(unlimited.ids) - limited.set_aside


def test_the_steps_of_hostile_documents_are_bounded() -> None:
    """The readings by the engine take two budgets, and those by the exact evaluator two more."""
    for case in hostile_cases(subscriptions=300):
        if not case.queries:
            continue
        queries = {str(number): query for number, query in enumerate(case.queries)}
        matches = index_of(queries).matcher().match(case.document)
        budget = Limits().work * (len(case.document) + 1_000) + 100 * len(queries)
        assert matches.counters.work.steps <= 4.5 * budget, case.name


ORDINARY = {
    "root": "/r",
    "never": "/nothing",
    "child": "/r/a",
    "attribute": "/r/x[@id='7']",
    "path": "/r/p/q",
    "attributes": "/a/a[@lang='en']/b",
}


@pytest.mark.parametrize("segments", [1, 4])
@pytest.mark.parametrize(
    "case",
    [case for case in hostile_cases(subscriptions=1_000) if not case.keywords],
    ids=lambda case: case.name,
)
def test_cheap_subscriptions_are_served_beside_any_expensive_ones(
    case: HostileCase, segments: int
) -> None:
    index, alone = SubscriptionIndex(), SubscriptionIndex()
    index.add_many(list(ORDINARY), list(ORDINARY.values()))
    alone.add_many(list(ORDINARY), list(ORDINARY.values()))
    for part in range(segments):
        numbers = range(part, len(case.queries), segments)
        index.add_many([str(at) for at in numbers], [case.queries[at] for at in numbers])
        index.matcher()  # a snapshot: what is added later becomes a segment of its own
    matches = index.matcher(limits=Limits(work=100)).match(case.document)
    assert not ORDINARY.keys() & set(matches.set_aside)
    assert ORDINARY.keys() & set(matches.ids) == set(alone.matcher().match(case.document).ids)
