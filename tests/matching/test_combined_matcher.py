"""XPath and keyword subscriptions matched together."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import penstock
from penstock import Matcher, SubscriptionIndex, UnknownSubscriptionError, combine_matchers
from support.contracts.engine_suite import CHEAP, DEAR
from support.contracts.keyword_engines import keyword_matcher
from support.contracts.matching_cases import NEWS
from support.contracts.native_engines import needs_native
from support.contracts.results import rows

KINDS = [
    ("reference", "reference"),
    pytest.param(("shared", "postings"), marks=needs_native),
    pytest.param(("shared", "reference"), marks=needs_native),
]


@pytest.fixture(params=KINDS, ids="-".join)
def matcher(request: pytest.FixtureRequest) -> Matcher:
    of_paths, of_keywords = request.param
    paths = SubscriptionIndex(engine=of_paths)
    paths.add_many(["cheap", "dear"], [CHEAP, DEAR])
    words = {"words": "price 7", "none": "storm", "any": "one OR storm"}
    return combine_matchers(paths.matcher(), keyword_matcher(of_keywords, words))


MET = {"cheap", "words", "any"}


def test_one_document(matcher: Matcher, tmp_path: Path) -> None:
    (tmp_path / "news.xml").write_bytes(NEWS)
    for matches in (
        matcher.match(NEWS),
        matcher.match_file(tmp_path / "news.xml"),
        matcher.match_chunks([NEWS[:30], NEWS[30:]]),
    ):
        assert set(matches) == MET
        assert len(matches) == 3
        assert matches.counters.work.bytes_read == len(NEWS)
        assert matches.counters.work.elements == 8


def test_a_batch(matcher: Matcher) -> None:
    batch = matcher.match_batch(pa.array([NEWS, None, b"<a>storm</a>", b"<a>", b"<b/>"]))
    assert [set(row) for row in rows(batch.ids)] == [MET, set(), {"none", "any"}, set(), set()]
    refused = [row is not None for row in rows(batch.errors)]
    assert refused == [False, True, False, True, False]
    assert batch.counters.matches == 5
    assert batch.counters.refused == 2
    assert batch.counters.work.elements == 8 + 1 + 1


def test_fragments_and_explanations(matcher: Matcher) -> None:
    fragments = matcher.match(NEWS, fragments=True).fragments
    kinds = {name: [each.kind for each in found] for name, found in fragments.items()}
    assert kinds == {"cheap": ["element"], "words": ["path"], "any": ["path"]}
    assert matcher.explain(NEWS, "cheap").steps
    assert matcher.explain(NEWS, "words").answers
    assert matcher.explain(NEWS, "none").lacking == ("storm",)
    with pytest.raises(UnknownSubscriptionError):
        matcher.explain(NEWS, "other")


def test_a_refused_document(matcher: Matcher) -> None:
    matches = matcher.match(b"<a>one</b>", fragments=True)
    assert matches.ids == ()
    assert matches.errors[0].code == "xml.end-tag"


def test_both_is_a_deprecated_alias() -> None:
    paths = SubscriptionIndex(engine="reference")
    paths.add_many(["cheap", "dear"], [CHEAP, DEAR])
    keywords = keyword_matcher("reference", {"words": "price 7"})
    with pytest.warns(DeprecationWarning, match="combine_matchers"):
        combined = penstock.both(paths.matcher(), keywords)
    assert set(combined.match(NEWS)) == {"cheap", "words"}
