"""The search for affected subscriptions: engine, reference, and restrictions before and after."""

from __future__ import annotations

import copy
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from penstock.errors import PenstockError, QueryError
from penstock.language import to_text
from penstock.language.xpath.ast import Query
from penstock.language.xpath.reference.lxml_xpath import compile_query
from penstock.native import native
from penstock.sync import limits
from penstock.sync.affected import (
    AffectedIndex,
    Change,
    ContentNode,
    LabelPath,
    Touch,
    TouchedNode,
)
from penstock.sync.reference.restriction import restrict
from support.fixtures.lxml_selection import small_trees
from support.strategies.queries import NAMESPACED, PLAIN, Vocabulary, linear_queries, queries
from support.strategies.tiny_universes import TinyUniverse, tiny_universes
from support.sync.tree_operations import TreeOperations

ENGINES = ("automaton", "reference")


def restriction(root: etree._Element, query: Query) -> bytes:
    """What a query selects, with all below it and the names above it."""
    return restrict(root.getroottree(), query).canonical_xml()


WIDE = Vocabulary(elements=("a", "b", "c", "d"))


def labels(text: str) -> LabelPath:
    """``/a/b`` as a label path."""
    return tuple(("", name) for name in text.split("/")[1:])


def index_of(engine: str, *texts: str) -> AffectedIndex:
    """An index whose ids are the queries."""
    index = AffectedIndex(engine=engine)
    assert index.add_many(texts, texts) == {}
    return index


def selection(root: etree._Element, query: Query) -> set[tuple[etree._Element, str | bool]]:
    """The nodes that a query selects: an element, or the name of an attribute or whether a text is
    a tail, with the element that it belongs to."""
    found: set[tuple[etree._Element, str | bool]] = set()
    for node in compile_query(query, str)(root.getroottree()):
        if isinstance(node, etree._Element):
            found.add((node, ""))
        else:
            assert isinstance(node, etree._ElementUnicodeResult)
            owner = node.getparent()
            assert owner is not None
            found.add((owner, str(node.attrname) if node.is_attribute else bool(node.is_tail)))
    return found


def filled(
    engine: str,
    made: list[Query],
    schema: TinyUniverse | None = None,
    *,
    selection_only: bool = False,
) -> AffectedIndex:
    """An index whose ids are the positions of the queries."""
    index = AffectedIndex(engine=engine, schema=schema, selection_only=selection_only)
    for position, query in enumerate(made):
        printed = to_text(query)
        index.add(str(position), printed.text, namespaces=printed.namespaces)
    return index


def assert_nobody_is_missed(root: etree._Element, made: list[Query], seed: int) -> None:
    """Each subscription whose restriction or selection differs is found, by both engines."""
    chance = Random(seed)
    indexes = [filled(engine, made) for engine in ENGINES]
    selections = [filled(engine, made, selection_only=True) for engine in ENGINES]
    operations = TreeOperations(root, chance, is_content_known=chance.random() < 0.5)
    for _ in range(3):
        before = [restriction(root, query) for query in made]
        selected = [selection(root, query) for query in made]
        was = copy.deepcopy(root)
        done = operations.apply()
        if done is None:
            continue
        kind, change = done
        after = [restriction(root, query) for query in made]
        differs = {str(at) for at in range(len(made)) if before[at] != after[at]}
        found, expected = (set(index.affected(change).ids) for index in indexes)
        assert found == expected
        reselected = {
            str(at) for at in range(len(made)) if selected[at] != selection(root, made[at])
        }
        reselecting, expected = (set(index.affected(change).ids) for index in selections)
        assert reselecting == expected
        assert reselecting <= found
        missed = (differs - found) | (reselected - reselecting)
        assert not missed, (
            kind,
            [to_text(made[int(each)]).text for each in missed],
            etree.tostring(was),
            etree.tostring(root),
        )


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(small_trees(WIDE), st.lists(queries(WIDE), min_size=1, max_size=4), st.integers(0, 1 << 30))
def test_nobody_whose_restriction_differs_is_missed(
    root: etree._Element, made: list[Query], seed: int
) -> None:
    assert_nobody_is_missed(root, made, seed)


names = st.sampled_from([("", "a"), ("", "b"), ("", "c"), ("urn:x", "a"), ("urn:z", "z")])
label_paths = st.lists(names, min_size=1, max_size=4).map(tuple)
touches = st.one_of(
    st.builds(Touch, label_paths, below=st.booleans(), text=st.booleans()),
    st.builds(Touch, label_paths, st.just(TouchedNode.ATTRIBUTE), names),
    st.builds(
        Touch,
        label_paths,
        st.sampled_from([TouchedNode.TEXT, TouchedNode.TEXT_BOUNDARY, TouchedNode.OTHER]),
    ),
)
changes = st.lists(touches, min_size=1, max_size=4).map(lambda made: Change(tuple(made)))


@given(
    st.lists(queries(NAMESPACED), max_size=6),
    st.lists(st.tuples(st.integers(0, 5), changes), max_size=6),
)
def test_engine_and_reference_agree_while_subscriptions_leave(
    made: list[Query], steps: list[tuple[int, Change]]
) -> None:
    selection_only = len(steps) % 2 == 1
    engine, reference = (filled(name, made, selection_only=selection_only) for name in ENGINES)
    earlier = []
    for leaving, change in steps:
        found, expected = engine.affected(change), reference.affected(change)
        assert sorted(found.ids) == sorted(expected.ids)
        earlier.append((engine.affected(change), expected.ids))
        if str(leaving) in engine:
            engine.remove(str(leaving))
            reference.remove(str(leaving))
        assert len(engine) == len(reference)
    # Ids are resolved lazily, and stay those of the time of the search.
    for result, ids in earlier:
        assert sorted(result.ids) == sorted(ids)


@given(
    tiny_universes(),
    st.lists(linear_queries(PLAIN), min_size=1, max_size=6),
    st.sampled_from(["/a", "/a/b", "/a/c", "/a/b/b", "/a/z"]),
)
def test_engine_and_reference_agree_with_a_schema(
    schema: TinyUniverse, made: list[Query], path: str
) -> None:
    change = Change.delete(labels(path))
    engine, reference = (filled(name, made, schema).affected(change) for name in ENGINES)
    assert sorted(engine.ids) == sorted(reference.ids)
    # A schema only ever excludes.
    assert set(engine.ids) <= set(filled("automaton", made).affected(change).ids)


@given(tiny_universes(), st.lists(linear_queries(PLAIN), min_size=1, max_size=6), st.randoms())
def test_nobody_is_missed_in_valid_documents(
    schema: TinyUniverse, made: list[Query], chance: Random
) -> None:
    document = schema.document(chance)
    if document is None:
        return
    root = etree.fromstring(document)
    index = filled("automaton", made, schema)
    for element in root.iterdescendants():
        path = tuple(("", each.tag) for each in reversed(list(element.iterancestors())))
        change = Change.delete((*path, ("", element.tag)))
        before = [restriction(root, query) for query in made]
        without = copy.deepcopy(root)
        twin = without.getroottree().find(root.getroottree().getelementpath(element))
        assert twin is not None
        parent = twin.getparent()
        assert parent is not None
        parent.remove(twin)
        after = [restriction(without, query) for query in made]
        differs = {str(at) for at in range(len(made)) if before[at] != after[at]}
        assert differs <= set(index.affected(change).ids)


@pytest.mark.parametrize("engine", ENGINES)
class TestChanges:
    """Each kind of change, by example."""

    def test_an_insert_without_content_finds_what_may_be_below(self, engine: str) -> None:
        index = index_of(engine, "/a/b", "/a/b/c", "//d", "/a/c")
        assert index.affected(Change.insert(labels("/a/b"))).ids == ("/a/b", "/a/b/c", "//d")

    def test_known_content_finds_only_what_is_there(self, engine: str) -> None:
        index = index_of(engine, "/a/b", "/a/b/c", "//d", "/a/b/@id", "/a/b/text()")
        content = [ContentNode(labels("/c")), ContentNode((), TouchedNode.ATTRIBUTE, ("", "id"))]
        change = Change.insert(labels("/a/b"), content=content)
        assert index.affected(change).ids == ("/a/b", "/a/b/c", "/a/b/@id")

    def test_an_insert_between_texts_splits_the_text_of_its_parent(self, engine: str) -> None:
        index = index_of(engine, "/a/text()[2]", "/a[. = 'x']/d")
        split = Change.insert(labels("/a/b"), content=[])
        beside = Change.insert(labels("/a/b"), content=[], between_texts=False)
        assert index.affected(split).ids == ("/a/text()[2]",)
        assert index.affected(beside).ids == ()

    def test_a_rename_changes_the_old_paths_and_the_new_ones(self, engine: str) -> None:
        index = index_of(engine, "/a/b/d", "/a/c/d", "/a/e/d", "/a[. = 'x']/z", "//c/text()")
        change = Change.rename(labels("/a/b"), ("", "c"))
        assert index.affected(change).ids == ("/a/b/d", "/a/c/d", "//c/text()")
        text = [ContentNode((), TouchedNode.TEXT)]
        change = Change.rename(labels("/a/b"), ("", "c"), content=text)
        assert index.affected(change).ids == ("//c/text()",)

    def test_a_move_changes_both_places(self, engine: str) -> None:
        index = index_of(engine, "/a/b/x", "/a/c/x", "/a/c", "/a/d", "/a[c = '1']/y")
        change = Change.move(labels("/a/b/x"), labels("/a/c/x"))
        assert index.affected(change).ids == ("/a/b/x", "/a/c/x", "/a/c", "/a[c = '1']/y")

    def test_a_shifted_position_counts(self, engine: str) -> None:
        index = index_of(engine, "/a/b[2]/c", "/a/b[last()]/c", "/a/b/c")
        change = Change.delete(labels("/a/b"), content=[])
        assert index.affected(change).ids == ("/a/b[2]/c", "/a/b[last()]/c")

    def test_what_a_predicate_looks_at_counts(self, engine: str) -> None:
        index = index_of(engine, "/a[not(b/@x = '1')]/c", "/a[count(b/@y) > 1]/c", "/a[b]/c")
        change = Change.attribute(labels("/a/b"), ("", "x"))
        assert index.affected(change).ids == ("/a[not(b/@x = '1')]/c",)

    def test_a_comment_concerns_only_what_contains_it(self, engine: str) -> None:
        index = index_of(engine, "/a", "/a/b", "//b//text()", "/a[b = 'x']/c", "/a/b/c")
        assert index.affected(Change.other(labels("/a/b"))).ids == ("/a", "/a/b", "//b//text()")

    def test_invalid_subscriptions_are_refused_one_by_one(self, engine: str) -> None:
        index = AffectedIndex(engine=engine, subscriptions_max=3)
        refused = index.add_many(["1", "2", "1", "3"], ["/a", "/a[", "/b", "\ud800"])
        assert {key: reason.code for key, reason in refused.items()} == {
            "2": refused["2"].code,
            "1": "subscription.duplicate",
            "3": "query.character",
        }
        assert refused["2"].where is not None
        assert len(index) == 1
        with pytest.raises(PenstockError, match="more than 3") as caught:
            index.add_many(["4", "5", "6"], ["/a", "/a", "/a"])
        assert caught.value.code == "sync.too-many-subscriptions"
        with pytest.raises(QueryError, match="exists already"):
            index.add("1", "/a")
        bad = index.add_many(["6"], ["/a"], namespaces={"1": "urn:x"})
        assert bad["6"].code == "query.namespaces"
        with pytest.raises(PenstockError) as caught:
            index.add_many(["7"], [])
        assert caught.value.code == "subscription.uneven"
        with pytest.raises(PenstockError) as caught:
            index.remove("unknown")
        assert caught.value.code == "subscription.unknown"


def test_a_change_names_what_it_touches() -> None:
    for make in (
        lambda: Change(()),
        lambda: Touch(()),
        lambda: Touch(labels("/a"), TouchedNode.ATTRIBUTE),
        lambda: Touch(labels("/a"), TouchedNode.TEXT, ("", "x")),
    ):
        with pytest.raises(PenstockError) as caught:
            make()
        assert caught.value.code == "sync.change"


def test_an_engine_that_does_not_exist_is_refused() -> None:
    with pytest.raises(PenstockError) as caught:
        AffectedIndex(engine="other")
    assert caught.value.code == "engine.unknown"


def test_the_native_core_has_the_same_limits() -> None:
    assert dict(native.affected_limits()) == {"cache_bytes_max": limits.AFFECTED_CACHE_BYTES_MAX}


def test_work_does_not_grow_with_subscriptions_that_are_not_affected() -> None:
    work = []
    for count in (10, 10_000):
        index = AffectedIndex()
        texts = [f"/a/n{n}[x = '{n}']//b" for n in range(count)]
        index.add_many(map(str, range(count)), texts)
        change = Change.text(labels("/a/n7/x"))
        first = index.affected(change)
        again = index.affected(change)
        assert first.ids == again.ids == ("7",)
        assert first.work.nodes > 0
        assert again.work.nodes == 0
        work.append(again.work.operations)
        index.clear_cache()
        assert index.affected(change).work.nodes > 0
    assert work[0] == work[1]
