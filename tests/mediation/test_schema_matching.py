"""Automatic schema matching: one-to-one, deterministic, and correct on known cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.documents import read_events
from penstock.errors import MappingError
from penstock.mediation import Abbreviations, Rating, SchemaMatching, derive, match_schemas
from penstock.mediation.schema_matching import matcher
from penstock.mediation.schema_matching.assignment import assigned
from penstock.mediation.schema_matching.name_similarity import name_similarities
from penstock.mediation.schema_matching.name_words import split_words
from penstock.mediation.schema_matching.similarity_flooding import flooded
from penstock.mediation.schema_matching.tree_arrays import Side
from penstock.schema import Place, SampleValues, SchemaTree, read_schema_file, read_tree
from support.fixtures.university import GLOBAL, LOCAL, MATCHING
from support.strategies.renamed_schemas import rewritten, worded_trees
from support.strategies.schemas import schema_trees

FEWER = max(settings().max_examples // 3, 1)  # pairs of schemas are dear to draw


def tree(outline: str) -> SchemaTree:
    return read_tree(f"penstock schema 1\n{outline}")


def pairs(local: SchemaTree, target: SchemaTree, **options: object) -> dict[str, str]:
    found = match_schemas(local, target, **options)  # type: ignore[arg-type]
    return {str(pair.local): str(pair.target) for pair in found.pairs}


def alike(one: str, other: str) -> float:
    table = Abbreviations.shipped()
    words = [table.words(one)], [table.words(other)]
    return float(name_similarities(*words, table.synonyms)[0, 0])


# Names


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("courseTitle", ("course", "title")),
        ("COURSE-TITLE", ("course", "title")),
        ("course2title", ("course", "2", "title")),
        ("XMLFile", ("xml", "file")),
        ("TAs", ("ta",)),
        ("Ünïcode_Näme", ("ünïcode", "näme")),
        ("価格Price", ("価格", "price")),
        ("_", ("_",)),
    ],
)
def test_names_are_split_into_words(name: str, words: tuple[str, ...]) -> None:
    assert split_words(name) == words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("courseNo", "course_number"),
        ("deptName", "DepartmentName"),
        ("lastname", "LAST_NAME"),
        ("Courses", "course"),
        ("teachingAssistants", "TAs"),
    ],
)
def test_spellings_of_a_name_are_equal(one: str, other: str) -> None:
    assert alike(one, other) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("adress", "address"), ("mgmt", "management"), ("ccc", "carbon_copy_cost")],
)
def test_typing_errors_short_forms_and_initials_are_nearly_the_same(one: str, other: str) -> None:
    assert 0.7 <= alike(one, other) < 1
    assert alike(one, other) == alike(other, one)


@pytest.mark.parametrize(("one", "other"), [("date", "database"), ("price", "author"), ("a", "b")])
def test_different_names_are_not_similar(one: str, other: str) -> None:
    assert alike(one, other) < 0.3


def test_abbreviations_can_be_extended_by_a_file() -> None:
    local, target = tree("katalog\n  kurs* text\n"), tree("catalogue\n  course* text\n")
    own = Abbreviations.from_text(
        "penstock abbreviations 1\n# German\nKurs  course\nkatalog catalogue\n"
    )
    table = Abbreviations.shipped().extended(own)
    assert pairs(local, target, abbreviations=table) == {
        "/katalog": "/catalogue",
        "/katalog/kurs": "/catalogue/course",
    }
    assert "/katalog/kurs" not in pairs(local, target)


def test_synonyms_are_similar_and_can_be_extended_by_a_file() -> None:
    assert 0.7 <= alike("teacher", "Instructor") < 1
    assert 0.7 <= alike("START_TIME", "timeFrom") < 1
    local, target = tree("list\n  boat* text\n"), tree("list\n  vessel* text\n")
    own = Abbreviations.from_text("penstock abbreviations 1\nBoats = vessel = ship\n")
    table = Abbreviations.shipped().extended(own)
    assert pairs(local, target, abbreviations=table)["/list/boat"] == "/list/vessel"
    assert "/list/boat" not in pairs(local, target)


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("penstock abbreviations 1\na = b c\n", "expected single words between", 2),
        ("penstock abbreviations 1\na = = b\n", "expected single words between", 2),
        ("", "the first line must be", 1),
        ("dept department", "the first line must be", 1),
        ("penstock abbreviations 1\n\ndept", "expected an abbreviation", 3),
        ("penstock abbreviations 1\nno number\nNo not", "duplicate abbreviation 'no'", 3),
    ],
)
def test_errors_in_abbreviation_files_have_positions(text: str, message: str, line: int) -> None:
    with pytest.raises(MappingError, match=message) as caught:
        Abbreviations.from_text(text)
    assert caught.value.code == "mapping.abbreviations"
    assert caught.value.where is not None
    assert caught.value.where.line == line


# Complete schemas


def test_the_running_example_equals_the_manual_matching() -> None:
    found = match_schemas(read_schema_file(LOCAL), read_schema_file(GLOBAL))
    by_hand = SchemaMatching.from_text(MATCHING.read_text("utf-8"))
    assert set(found.matching.pairs) == set(by_hand.pairs)
    assert found.unmatched_local == ()
    assert [str(place) for place in found.unmatched_target] == ["/university/dept/course/schedule"]
    assert found.matching.uncertain == ()


@given(schema_trees(depth=3))
def test_a_schema_matches_itself_place_by_place(schema: SchemaTree) -> None:
    found = match_schemas(schema, schema)
    assert [pair.local for pair in found.pairs] == list(schema.places())
    assert all(pair.local == pair.target and pair.rating.score == 1 for pair in found.pairs)


@given(schema_trees(), schema_trees())
def test_a_matching_is_one_to_one_rated_and_the_same_every_time(
    local: SchemaTree, target: SchemaTree
) -> None:
    found = match_schemas(local, target)
    assert match_schemas(local, target) == found
    assert SchemaMatching.from_text(found.to_text()) == found.matching
    for places, matched, rest in (
        (list(local.places()), [pair.local for pair in found.pairs], found.unmatched_local),
        (list(target.places()), [pair.target for pair in found.pairs], found.unmatched_target),
    ):
        assert len(set(matched)) == len(matched)
        assert sorted([*matched, *rest], key=str) == sorted(places, key=str)
    roots = Place((local.root.name,)), Place((target.root.name,))
    for pair in found.pairs:
        assert pair.rating.score <= 1
        assert pair.rating.score >= matcher.SCORE_MIN - 0.005 or (pair.local, pair.target) == roots
    if found.pairs:
        assert roots[0] in [pair.local for pair in found.pairs] or roots[1] in [
            pair.target for pair in found.pairs
        ]


@given(st.data())
def test_a_renamed_schema_is_matched_back(data: st.DataObject) -> None:
    schema = data.draw(worded_trees().map(SchemaTree))
    other, moved = data.draw(rewritten(schema))
    found = match_schemas(schema, other)
    assert {pair.local: pair.target for pair in found.pairs} == moved


def test_context_distinguishes_nodes_of_one_name() -> None:
    local = tree("shop\n  seller\n    name text\n  buyer\n    name text\n")
    target = tree("store\n  buyer\n    name text\n  seller\n    name text\n")
    found = pairs(local, target)
    assert found["/shop/seller/name"] == "/store/seller/name"
    assert found["/shop/buyer/name"] == "/store/buyer/name"


def test_a_name_may_be_split_over_two_levels() -> None:
    local = tree("list\n  @ownerMail\n  editor text\n")
    target = tree("list\n  owner\n    mail text\n  editor\n    name text\n    age text\n")
    found = pairs(local, target)
    assert found["/list/@ownerMail"] == "/list/owner/mail"
    assert found["/list/editor"] == "/list/editor/name"


def test_context_decides_pairs_with_uninformative_names() -> None:
    children = "    title text\n    author text\n    year text\n    price text\n"
    local = tree(f"library\n  livre*\n{children}  shelf\n")
    target = tree(f"library\n  book*\n{children}  shelf\n")
    found = match_schemas(local, target)
    pair = next(each for each in found.pairs if str(each.local) == "/library/livre")
    assert str(pair.target) == "/library/book"
    assert pair.parts.names < 0.3
    assert pair.rating.is_uncertain


def test_roots_are_paired_when_anything_below_them_is() -> None:
    local = tree("asu\n  Course*\n    Title text\n")
    target = tree("catalog\n  course*\n    title text\n")
    found = match_schemas(local, target)
    assert {str(pair.local): str(pair.target) for pair in found.pairs} == {
        "/asu": "/catalog",
        "/asu/Course": "/catalog/course",
        "/asu/Course/Title": "/catalog/course/title",
    }
    assert found.pairs[0].rating.is_uncertain
    assert derive(local, target, found.matching).unreached == ()


def test_roots_stay_unpaired_when_nothing_below_them_is() -> None:
    assert pairs(tree("zzz\n  qqq text\n"), tree("catalog\n  course text\n")) == {}


def test_only_an_exchange_pairs_another_node_with_the_global_root() -> None:
    course = "course*\n{0}    title text\n{0}    room text\n"
    target = tree("catalog\n  " + course.format(""))
    local = tree("data\n  catalog\n    " + course.format("  "))
    found = match_schemas(local, target)
    assert {str(pair.local): str(pair.target) for pair in found.pairs}["/data"] == "/catalog"
    assert derive(local, target, found.matching).unreached == ()
    exchanged = match_schemas(
        tree("author\n  name text\n  article*\n    year text\n    pages text\n"),
        tree("article\n  year text\n  pages text\n  author\n    name text\n"),
    )
    by_local = {str(pair.local): str(pair.target) for pair in exchanged.pairs}
    assert by_local["/author/article"] == "/article"
    assert by_local["/author"] == "/article/author"


def test_the_local_root_corresponds_to_an_inner_node_only_if_most_nodes_are_inside() -> None:
    course = "title text\n{0}credits text\n{0}room text\n"
    target = tree(
        "catalog\n  course*\n    " + course.format("    ") + "    time\n      hour text\n"
    )
    alone = tree("course\n  " + course.format("  "))
    assert pairs(alone, target)["/course"] == "/catalog/course"
    timetable = tree("time\n  course*\n    " + course.format("    "))
    assert pairs(timetable, target)["/time"] == "/catalog"


def test_a_value_does_not_correspond_to_an_element_without_text() -> None:
    local = tree("list\n  course*\n    sect text\n    title text\n    @section\n")
    target = tree("list\n  course*\n    section*\n      number text\n      days text\n")
    found = pairs(local, target)
    assert "/list/course/section" not in found.values()
    assert "/list/course" in found


def test_mixed_content_corresponds_to_values_and_to_elements() -> None:
    mixed = tree("list\n  section* text\n    note text\n")
    with_attribute = tree("list\n  section* text\n    @number\n")
    value = tree("list\n  section* text\n")
    elements = tree("list\n  section*\n    number text\n    note text\n")
    for other in (value, elements):
        for one in (mixed, with_attribute):
            assert pairs(one, other)["/list/section"] == "/list/section"
            assert pairs(other, one)["/list/section"] == "/list/section"
    assert "/list/section" not in pairs(value, elements)
    assert "/list/section" not in pairs(elements, value)


def test_a_close_rival_makes_a_pair_uncertain() -> None:
    local = tree("order\n  address text\n")
    target = tree("order\n  address1 text\n  address2 text\n")
    pair = match_schemas(local, target).pairs[1]
    assert pair.rating.is_uncertain
    assert pair.rival is not None
    assert {str(pair.target), str(pair.rival[1])} == {"/order/address1", "/order/address2"}


def test_schemas_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matcher, "MATCHED_PAIRS_MAX", 5)
    with pytest.raises(MappingError, match="3 and 2 places make more than 5 pairs") as caught:
        match_schemas(tree("a\n  b\n  c\n"), tree("a\n  b\n"))
    assert caught.value.code == "mapping.pairs"


# Values


def values(*documents: bytes) -> SampleValues:
    found = SampleValues()
    for each in documents:
        found = found.merged(SampleValues.of(read_events(each)))
    return found


def test_values_decide_pairs_with_uninformative_names() -> None:
    local = tree("r\n  k1 text\n  k2 text\n")
    target = tree("r\n  xx text\n  yy text\n")
    here = values(
        b"<r><k1>2026-01-02</k1><k2>Mary</k2></r>", b"<r><k1>2026-01-03</k1><k2>Jo</k2></r>"
    )
    there = values(
        b"<r><xx>Mary</xx><yy>2026-01-02</yy></r>", b"<r><xx>Jo</xx><yy>2025-01-03</yy></r>"
    )
    found = match_schemas(local, target, local_values=here, target_values=there)
    by_local = {str(pair.local): pair for pair in found.pairs}
    assert str(by_local["/r/k1"].target) == "/r/yy"
    assert str(by_local["/r/k2"].target) == "/r/xx"
    assert by_local["/r/k2"].parts.values == 1
    assert by_local["/r"].parts.values is None
    assert "/r/k1" not in pairs(local, target)


def test_patterns_and_words_of_values_decide_between_values_of_one_kind() -> None:
    local = tree("r\n  k1 text\n  k2 text\n  k3 text\n")
    target = tree("r\n  xx text\n  yy text\n  zz text\n")
    here = values(
        *(
            b"<r><k1>%d</k1><k2>%d</k2><k3>Advanced topic %d</k3></r>" % (n, 41000 + 7 * n, n)
            for n in range(10, 30)
        )
    )
    there = values(
        *(
            b"<r><xx>%d</xx><yy>More advanced topic %d</yy><zz>%d</zz></r>" % (52000 + 9 * n, n, n)
            for n in range(20, 40)
        )
    )
    found = match_schemas(local, target, local_values=here, target_values=there)
    by_local = {str(pair.local): str(pair.target) for pair in found.pairs}
    assert by_local == {"/r": "/r", "/r/k1": "/r/zz", "/r/k2": "/r/xx", "/r/k3": "/r/yy"}


# Flooding and assignment


@settings(max_examples=FEWER)
@given(schema_trees(), schema_trees(), st.data())
def test_flooding_has_one_fixpoint_within_bounds(
    local: SchemaTree, target: SchemaTree, data: st.DataObject
) -> None:
    sides = Side.of(local), Side.of(target)
    worth = st.floats(0, 1)
    size = len(sides[0]) * len(sides[1])
    cells = data.draw(st.lists(worth, min_size=size, max_size=size))
    own = np.array(cells).reshape(len(sides[0]), len(sides[1]))
    possible = np.array([cell < 0.9 for cell in cells], dtype=np.bool_).reshape(own.shape)
    value, around = flooded(own, possible, *sides)
    assert not value[~possible].any()
    assert float(value.min()) >= 0
    assert float(value.max()) <= 1
    # The result is symmetric.
    turned, _ = flooded(own.T.copy(), possible.T, sides[1], sides[0])
    assert np.allclose(turned.T, value)
    assert around.shape == value.shape


@settings(max_examples=FEWER)
@given(schema_trees(), schema_trees(), st.data())
def test_the_assignment_is_a_stable_marriage(
    local: SchemaTree, target: SchemaTree, data: st.DataObject
) -> None:
    sides = Side.of(local), Side.of(target)
    size = len(sides[0]) * len(sides[1])
    cells = data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    value = np.array(cells, dtype=np.float64).reshape(len(sides[0]), len(sides[1]))
    chosen = assigned(value, *sides, 2.0)
    rows, columns = dict(chosen), {column: row for row, column in chosen}
    assert len(rows) == len(columns) == len(chosen)
    for row in range(len(sides[0])):
        for column in range(len(sides[1])):
            mine = value[row, rows[row]] if row in rows else 1.0
            its = value[columns[column], column] if column in columns else 1.0
            assert value[row, column] <= max(mine, its)


# Ratings in matching files


def test_matching_files_have_ratings() -> None:
    text = """penstock matching 1
/a    /b
/a/@c /b/dd 0.83
/a/e  /b/e  0.60 uncertain
"""
    matching = SchemaMatching.from_text(text)
    assert matching.to_text() == text
    assert [str(local) for local, _ in matching.uncertain] == ["/a/e"]
    assert sorted(map(str, matching.ratings.values())) == ["0.60 uncertain", "0.83"]


@pytest.mark.parametrize(
    "rating", ["1.1", "2", "-0.5", "high", "0.5 sure", "uncertain", "0.5 uncertain x"]
)
def test_a_malformed_rating_is_refused(rating: str) -> None:
    with pytest.raises(MappingError, match="a score from 0 to 1") as caught:
        SchemaMatching.from_text(f"penstock matching 1\n/a /b {rating}\n")
    assert caught.value.where is not None
    assert caught.value.where.line == 2


def test_unpaired_nodes_are_written_like_paired_ones() -> None:
    local = tree("namespace p urn:p\np:a\n  p:b text\n")
    target = tree("namespace q urn:q\nq:a\n  q:zzz text\n")
    assert match_schemas(local, target).to_text().splitlines()[1:] == [
        "namespace n1 urn:p",
        "namespace n2 urn:q",
        "/n1:a /n2:a 0.90",
        "# unmatched, local: /n1:a/n1:b",
        "# unmatched, global: /n2:a/n2:zzz",
    ]


def test_scores_are_from_0_to_1() -> None:
    with pytest.raises(MappingError, match="from 0 to 1"):
        Rating(1.5)
