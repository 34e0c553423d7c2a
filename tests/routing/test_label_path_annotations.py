"""Annotations that are derived from label paths: what they decide agrees with the full match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import SubscriptionIndex
from penstock.language import Query, normalise
from penstock.language.limits import MAX_STEPS
from penstock.language.xpath.ast import Axis, Kind, NameTest, Path, Step
from penstock.matching.header_tests import HeaderFields
from penstock.matching.label_paths import LabelPaths
from penstock.native import native
from penstock.routing import Pattern
from penstock.routing.absent_names import AbsentNameFilter, encode_absent_names
from penstock.routing.announced_paths import AnnouncedPaths
from penstock.routing.bindings import BindingFilter
from penstock.routing.last_offsets import AnnouncedUnder, PrefixStops, decode_last_offsets
from penstock.routing.minimisation import minimise
from penstock.routing.skeleton import SkeletonFilter, encode_skeleton
from penstock.routing.vocabulary import Vocabulary
from support.contracts.native_engines import needs_native
from support.strategies.documents import (
    ATTRIBUTE_NAMES,
    ELEMENT_NAMES,
    NAMESPACE_URIS,
    VALUES,
    deep_documents,
    documents,
)
from support.strategies.queries import Vocabulary as QueryVocabulary
from support.strategies.queries import linear_queries, queries

pytestmark = needs_native

NAMES = QueryVocabulary(
    elements=ELEMENT_NAMES,
    attributes=ATTRIBUTE_NAMES,
    uris=("", *NAMESPACE_URIS),
    texts=VALUES,
)
path_queries: st.SearchStrategy[Query] = st.one_of(
    linear_queries(NAMES),
    queries(NAMES, max_branches=1, max_depth=1),
    queries(NAMES, max_branches=2, max_depth=2),
).map(normalise)
headers = st.sampled_from(({}, {"lang": "en"}, {"lang": "de"}))
wheres = st.sampled_from((frozenset(), frozenset(), frozenset({("lang", "en")})))
path_patterns: st.SearchStrategy[Pattern] = st.builds(Pattern, path_queries.map(minimise), wheres)
pattern_lists = st.lists(path_patterns, min_size=1, max_size=6)


def match(patterns: Sequence[Pattern], document: bytes, header: HeaderFields) -> set[int]:
    """The positions of the patterns that match a document."""
    index = SubscriptionIndex()
    for number, pattern in enumerate(patterns):
        index.add(
            str(number),
            pattern.text,
            namespaces=dict(pattern.namespaces),
            where=dict(pattern.where),
        )
    matches = index.matcher().match(document, header=header)
    assert not matches.set_aside
    return set(map(int, matches.ids))


def label_paths_of(document: bytes) -> LabelPaths:
    found = SubscriptionIndex().matcher().match(document, label_paths=True).label_paths
    assert found is not None
    return found


def of_path(query: str, **where: str) -> Pattern:
    return Pattern.of_path(query, where=where)


@given(documents | deep_documents, pattern_lists, pattern_lists, headers)
def test_what_a_skeleton_decides_is_so(
    document: bytes, announced: list[Pattern], patterns: list[Pattern], header: HeaderFields
) -> None:
    vocabulary = Vocabulary(announced)
    encoded = encode_skeleton(vocabulary.classify(label_paths_of(document)))
    if encoded is None:
        return  # too deep
    rows = {7 * number: pattern for number, pattern in enumerate(announced + patterns)}
    decision = SkeletonFilter(vocabulary, rows).decide(encoded, header)
    parts = [decision.matched, decision.unmatched, decision.undecided]
    assert sorted(np.concatenate(parts).tolist()) == list(rows)
    matched = {7 * number for number in match(list(rows.values()), document, header)}
    assert set(decision.matched.tolist()) <= matched
    assert not matched & set(decision.unmatched.tolist())
    linear = {
        row
        for row, pattern in rows.items()
        if row < 7 * len(announced) and is_linear_to_names(pattern)
    }
    assert not linear & set(decision.undecided.tolist())


def is_linear_to_names(pattern: Pattern) -> bool:
    assert isinstance(pattern.query, Query)
    steps = [step for branch in pattern.query.branches for step in branch.steps]
    return all(not step.predicates and step.kind is not Kind.TEXT for step in steps)


@given(documents, pattern_lists, pattern_lists)
def test_a_pattern_that_requires_an_absent_name_does_not_match(
    document: bytes, announced: list[Pattern], patterns: list[Pattern]
) -> None:
    vocabulary = Vocabulary(announced)
    rows = dict(enumerate(announced + patterns))
    encoded = encode_absent_names(vocabulary.classify(label_paths_of(document)))
    excluded = set(AbsentNameFilter(vocabulary, rows).excluded(encoded).tolist())
    assert not excluded & match(list(rows.values()), document, {"lang": "en"})


def without_predicates(query: Query, steps: int) -> Query:
    """The first steps of the main paths, up to an element."""
    branches = []
    for branch in query.branches:
        elements = [step for step in branch.steps if step.kind is Kind.ELEMENT]
        kept = elements[: max(steps, 1)] or [Step(Axis.CHILD, Kind.ELEMENT, NameTest())]
        branches.append(Path(tuple(replace(step, predicates=()) for step in kept)))
    return Query(tuple(branches))


@given(documents, path_patterns, path_patterns, st.integers(1, 4), st.booleans())
def test_a_prefix_up_to_the_last_offset_decides(
    document: bytes, pattern: Pattern, other: Pattern, steps: int, is_same: bool
) -> None:
    assert isinstance(pattern.query, Query)
    general = pattern if is_same else Pattern(without_predicates(pattern.query, steps))
    announced = [other, general]
    vocabulary = Vocabulary(announced)
    paths = vocabulary.classify(label_paths_of(document))
    encoded = AnnouncedPaths(vocabulary, announced).encode_last_offsets(paths, [0, 1])
    offsets = decode_last_offsets(encoded, 2)
    assert set(offsets) == {0, 1}
    rows = {
        5: AnnouncedUnder(0, other, pattern),
        9: AnnouncedUnder(1, general, pattern),
    }
    for row in rows:
        stop_at = PrefixStops(rows).stop_at([row], offsets)
        if stop_at is None:
            continue
        index = SubscriptionIndex()
        index.add("q", pattern.text, namespaces=dict(pattern.namespaces))
        prefix = index.matcher().match_prefix(document, stop_at=stop_at)
        assert prefix.ids == index.matcher().match(document).ids


@given(documents, pattern_lists, pattern_lists, headers)
def test_what_bindings_prove_matches(
    document: bytes, announced: list[Pattern], patterns: list[Pattern], header: HeaderFields
) -> None:
    vocabulary = Vocabulary(announced)
    paths = label_paths_of(document)
    concrete = [linear_pattern(paths, number) for number in range(min(len(paths), 4))]
    patterns = [*patterns, *announced, *concrete]
    rows = {
        number * len(announced) + rank: AnnouncedUnder(rank, general, pattern)
        for number, pattern in enumerate(patterns)
        for rank, general in enumerate(announced)
    }
    content = {"lang": "en"}  # what the announced patterns require of the header
    matched = match(announced, document, content)
    encoder = AnnouncedPaths(vocabulary, announced)
    encoded = encoder.encode_bindings(vocabulary.classify(paths), matched)
    proved = BindingFilter(vocabulary, announced, rows).proved(encoded, rows, header).tolist()
    really = match(patterns, document, header)
    for row in proved:
        assert row // len(announced) in really


def linear_pattern(paths: LabelPaths, number: int) -> Pattern:
    steps: list[Step] = []
    at: int | None = number
    while at is not None:
        steps.insert(0, Step(Axis.CHILD, Kind.ELEMENT, NameTest(*paths.paths[at].name)))
        at = paths.paths[at].parent
    return Pattern(Query((Path(tuple(steps)),)))


def test_names_outside_of_the_vocabulary_leave_a_pattern_undecided() -> None:
    vocabulary = Vocabulary([of_path("/news/item")])
    encoded = encode_skeleton(vocabulary.classify(label_paths_of(b"<news><flash/></news>")))
    assert encoded is not None
    rows = {0: of_path("/news/flash"), 1: of_path("/news/other"), 2: of_path("/news/item/flash")}
    decision = SkeletonFilter(vocabulary, rows).decide(encoded, {})
    assert decision.undecided.tolist() == [0, 1]
    assert decision.unmatched.tolist() == [2]


def test_header_tests_and_keywords_in_a_skeleton_filter() -> None:
    announced = [of_path("/news/item")]
    vocabulary = Vocabulary(announced)
    encoded = encode_skeleton(vocabulary.classify(label_paths_of(b"<news><item/></news>")))
    assert encoded is not None
    rows = {
        0: of_path("/news/item", lang="en"),
        1: of_path("/news/item", lang="de"),
        2: Pattern.of_keywords("storm"),
        3: Pattern.of_keywords("storm", where={"lang": "de"}),
        4: of_path("//item/text()", lang="en"),
    }
    decision = SkeletonFilter(vocabulary, rows).decide(encoded, {"lang": "en"})
    assert decision.matched.tolist() == [0]
    assert decision.unmatched.tolist() == [1, 3]
    assert decision.undecided.tolist() == [2, 4]


def test_wildcards_of_namespaces_and_local_names_are_decided() -> None:
    announced = [
        Pattern.of_path("//x:*/*:title", namespaces={"x": "urn:x"}),
        Pattern.of_path("//*:item"),
    ]
    vocabulary = Vocabulary(announced)
    rows = dict(enumerate(announced))
    for document, expected in [
        (b"<a xmlns='urn:x'><b><title xmlns='urn:y'/></b></a>", [0]),
        (b"<a xmlns='urn:y'><item xmlns=''/></a>", [1]),
    ]:
        encoded = encode_skeleton(vocabulary.classify(label_paths_of(document)))
        assert encoded is not None
        assert SkeletonFilter(vocabulary, rows).decide(encoded, {}).matched.tolist() == expected


def test_bindings_prove_specific_paths_and_the_same_predicates() -> None:
    document = b"<news><item><price>3</price></item><flash><note/></flash></news>"
    announced = [of_path("//*[price > 2]"), of_path("/news//note"), of_path("//item")]
    vocabulary = Vocabulary(announced)
    patterns = [
        (0, of_path("/news/item[price > 1]")),
        (0, of_path("/news/item[price > 3]")),
        (1, of_path("/news/*/note")),
        (1, of_path("/news/flash/note")),
        (2, of_path("/news/item", lang="en")),
    ]
    rows = {
        number: AnnouncedUnder(rank, announced[rank], pattern)
        for number, (rank, pattern) in enumerate(patterns)
    }
    encoder = AnnouncedPaths(vocabulary, announced)
    paths = vocabulary.classify(label_paths_of(document))
    encoded = encoder.encode_bindings(paths, [0, 1, 2])
    bindings = BindingFilter(vocabulary, announced, rows)
    # `//*[price > 2]` may be an item or the root: which of them is not known.
    assert bindings.proved(encoded, rows, {}).tolist() == [2]
    assert bindings.proved(encoded, rows, {"lang": "en"}).tolist() == [2, 4]
    # With one label path that binds, the predicates come along.
    announced[0] = of_path("//item[price > 2]")
    rows[0] = AnnouncedUnder(0, announced[0], patterns[0][1])
    rows[1] = AnnouncedUnder(0, announced[0], patterns[1][1])
    encoded = AnnouncedPaths(vocabulary, announced).encode_bindings(paths, [0])
    assert BindingFilter(vocabulary, announced, rows).proved(encoded, rows, {}).tolist() == [0]


def test_where_reading_may_stop() -> None:
    document = b"<news><head><title>x</title></head><item><price>3</price></item></news>"
    announced = [of_path("//title"), of_path("//item"), of_path("//price"), of_path("/news[head]")]
    vocabulary = Vocabulary(announced)
    paths = vocabulary.classify(label_paths_of(document))
    encoded = AnnouncedPaths(vocabulary, announced).encode_last_offsets(paths, range(4))
    offsets = decode_last_offsets(encoded, 4)
    assert offsets == {0: 28, 1: 64, 2: 57, 3: 71}
    rows = {
        0: AnnouncedUnder(0, announced[0], of_path("/news/head/title[. = 'x']")),
        1: AnnouncedUnder(2, announced[2], of_path("//item[price]")),
        2: AnnouncedUnder(2, announced[2], of_path("//price[. > 2]")),
        3: AnnouncedUnder(1, announced[1], of_path("//item[last() > 1]")),
    }
    stops = PrefixStops(rows)
    assert stops.stop_at([0], offsets) == 28
    assert stops.stop_at([0, 2], offsets) == 57
    assert stops.stop_at([1], offsets) is None  # not covered
    assert stops.stop_at([3], offsets) is None  # not decided
    assert stops.stop_at([0, 2], {0: 28}) is None
    assert stops.stop_at([], offsets) == 0


def test_a_query_that_is_too_large_for_an_index_is_undecided() -> None:
    step = Step(Axis.CHILD, Kind.ELEMENT, NameTest("", "a"))
    long = Pattern(Query((Path((step,) * (MAX_STEPS + 1)),)))
    vocabulary = Vocabulary([of_path("/news/item")])
    encoded = encode_skeleton(vocabulary.classify(label_paths_of(b"<news/>")))
    assert encoded is not None
    decision = SkeletonFilter(vocabulary, {3: long, 4: of_path("/news/item")}).decide(encoded, {})
    assert decision.undecided.tolist() == [3]
    assert decision.unmatched.tolist() == [4]


def test_malformed_sections_are_refused() -> None:
    announced = [of_path("//item"), of_path("/news/item"), Pattern.of_keywords("storm")]
    vocabulary = Vocabulary(announced)
    rows = dict(enumerate(announced))
    with pytest.raises(ValueError, match="skeleton"):
        SkeletonFilter(vocabulary, rows).decide(b"\x01", {})
    with pytest.raises(ValueError, match="absent names"):
        AbsentNameFilter(vocabulary, rows).excluded(b"")
    with pytest.raises(ValueError, match="absent names"):
        AbsentNameFilter(vocabulary, rows).excluded(b"\xff")
    with pytest.raises(ValueError, match="last offsets"):
        decode_last_offsets(b"\x01", 3)
    bindings = BindingFilter(vocabulary, announced, {})
    with pytest.raises(ValueError, match="malformed bindings"):
        bindings.proved(b"\x01", (), {})
    with pytest.raises(ValueError, match="the pattern has none"):
        bindings.proved(b"\x01\x01\x01\x01", (), {})


def test_the_limits_of_skeletons() -> None:
    nodes_max, depth_max = native.skeleton_limits()
    vocabulary = Vocabulary([of_path("/a")])

    def encode(document: str) -> bytes | None:
        return encode_skeleton(vocabulary.classify(label_paths_of(document.encode())))

    assert encode("<a>" * depth_max + "</a>" * depth_max) is not None
    assert encode("<a>" * (depth_max + 1) + "</a>" * (depth_max + 1)) is None
    assert nodes_max >= 4096
