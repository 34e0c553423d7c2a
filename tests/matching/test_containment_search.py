"""Containers of a query among subscriptions, and what it contains, against testing every pair."""

from __future__ import annotations

from pathlib import Path as FilePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import QueryError
from penstock.language import contains, normalise, parse, to_text
from penstock.language.xpath.ast import Path, Query
from penstock.matching import SubscriptionIndex
from penstock.matching.engine import ENGINES
from support.strategies.queries import NAMESPACED, Vocabulary, linear_queries, queries

SMALL = Vocabulary(elements=("a", "b"), texts=("x", "xy", "1"), numbers=(1.0, 1.5, 2.0))
ANY_QUERIES = (
    linear_queries(SMALL)
    | queries(SMALL, max_branches=2, max_depth=1)
    | queries(NAMESPACED, max_branches=2, max_depth=1)
)


def add(index: SubscriptionIndex, name: str, query: Query) -> None:
    printed = to_text(query)
    index.add(name, printed.text, namespaces=printed.namespaces)


def check(index: SubscriptionIndex, stored: dict[str, Query], query: Query) -> None:
    """Compares a search with testing every pair of normal forms."""
    normal = {name: normalise(each) for name, each in stored.items()}
    wanted = normalise(query)
    assert set(index.containers(query)) == {
        name for name, each in normal.items() if contains(each, wanted)
    }
    assert set(index.contained(query)) == {
        name for name, each in normal.items() if contains(wanted, each)
    }
    for name, above in index.all_containers().items():
        assert set(above) == set(index.containers(stored[name])) - {name}


@given(st.lists(ANY_QUERIES, max_size=12), st.lists(ANY_QUERIES, max_size=3), st.data())
def test_a_search_finds_what_testing_every_pair_finds(
    several: list[Query], others: list[Query], data: st.DataObject
) -> None:
    index = SubscriptionIndex()
    stored: dict[str, Query] = {}
    for number, query in enumerate(several):
        stored[f"s{number}"] = query
        add(index, f"s{number}", query)
        if data.draw(st.integers(0, 3)) == 0:  # ends a segment
            index.matcher()
    for query in (*several, *others):
        check(index, stored, query)
    for name in data.draw(
        st.lists(st.sampled_from(sorted(stored)), unique=True) if stored else st.just([])
    ):
        index.remove(name)
        del stored[name]
    for number, query in enumerate(others):
        stored[f"o{number}"] = query
        add(index, f"o{number}", query)
        check(index, stored, query)


QUERIES = {
    "root": "/news",
    "wide": "//item",
    "child": "/news/*",
    "valued": "/news/item[@n < 10]",
    "second": "/news/item[2]",
    "either": "/news/item[a or b]",
    "negated": "/news/item[not(a)]",
    "union": "/news/item | /other",
    "lengthy": "/news/item[string-length(a) > 3]",
    "never": "/news/item[@n < 1][@n > 2]",
}


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "yfilter"])
def test_containers_of_a_query(engine: str) -> None:
    index = SubscriptionIndex(engine=engine)
    assert not index.add_many(QUERIES, QUERIES.values())
    always = {"root", "wide", "child", "union"}
    assert set(index.containers("/news/item")) == always
    assert set(index.containers("/news/item[@n = 5]")) == {*always, "valued"}
    assert set(index.containers("/news/item[a][2]")) == {*always, "either"}
    assert set(index.containers("/news/item[not(a or b)]")) == {*always, "negated"}
    long = parse("/news/item[string-length(a) > 3]")
    assert set(index.containers(long)) == {*always, "either", "lengthy"}
    assert set(index.containers("/news/item[@n > 1][@n < 1]")) == set(QUERIES)
    assert set(index.containers("/unknown")) == set()


def test_containers_of_all_subscriptions_are_found_at_once() -> None:
    index = SubscriptionIndex()
    assert not index.add_many(QUERIES, QUERIES.values())
    index.add("again", "/news/item[@n < 10]", where={"lang": "en"})
    index.remove("negated")
    found = index.all_containers()
    # Those without a canonical document are left out: no document matches, or none is made up.
    assert set(found) == {"again", *QUERIES} - {"negated", "never", "lengthy"}
    for name, above in found.items():
        fields = {"lang": "en"} if name == "again" else None
        query = QUERIES["valued" if name == "again" else name]
        assert set(above) == set(index.containers(query, where=fields)) - {name}
    assert set(found["again"]) == {"root", "wide", "child", "union", "valued"}


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "yfilter"])
def test_contained_queries(engine: str) -> None:
    index = SubscriptionIndex(engine=engine)
    assert not index.add_many(QUERIES, QUERIES.values())
    items = {"valued", "second", "either", "negated", "lengthy", "never"}
    assert set(index.contained("//item")) == {"wide", *items}
    assert set(index.contained("/*")) == set(QUERIES)
    assert set(index.contained("/news/item[@n]")) == {"valued", "never"}
    assert set(index.contained("/other | /news")) == {"root", "child", "union", *items}
    assert set(index.contained("/unknown")) == {"never"}


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "yfilter"])
def test_header_fields_narrow_a_subscription(engine: str) -> None:
    index = SubscriptionIndex(engine=engine)
    index.add("all", "/a")
    index.add("english", "/a", where={"lang": "en"})
    index.add("opera", "/a", where={"lang": "en", "topic": "opera"})
    english = {"lang": "en"}
    assert set(index.containers("/a/b")) == {"all"}
    assert set(index.containers("/a/b", where=english)) == {"all", "english"}
    assert set(index.contained("/a")) == {"all", "english", "opera"}
    assert set(index.contained("/a", where=english)) == {"english", "opera"}
    with pytest.raises(QueryError) as caught:
        index.contained("/a", where={"": "en"})
    assert caught.value.code == "subscription.where"


def test_a_saved_index_is_searched(tmp_path: FilePath) -> None:
    index = SubscriptionIndex()
    index.add_many(QUERIES, QUERIES.values())
    index.save(tmp_path / "index")
    loaded = SubscriptionIndex.load(tmp_path / "index")
    assert set(loaded.containers("/news/item/a")) == set(index.containers("/news/item/a"))
    assert set(loaded.contained("/news/item")) == set(index.contained("/news/item"))


def test_a_query_of_any_namespace_is_searched_by_uri() -> None:
    index = SubscriptionIndex()
    index.add("x", "/p:a/p:*", namespaces={"p": "urn:x"})
    index.add("any", "/*:a/*")
    found = index.containers("/q:a/q:b", namespaces={"q": "urn:x"})
    assert set(found) == {"x", "any"}
    assert set(index.containers("/a/b")) == {"any"}
    assert set(index.contained("/*:a")) == {"x", "any"}


def test_invalid_queries_are_refused() -> None:
    index = SubscriptionIndex()
    with pytest.raises(QueryError) as caught:
        index.containers("/a[")
    assert caught.value.code.startswith("query.")
    huge = Query((Path(parse("/a").branches[0].steps * 600),))
    with pytest.raises(QueryError) as caught:
        index.contained(huge)
    assert caught.value.code == "query.limit"
