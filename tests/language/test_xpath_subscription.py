"""Subscriptions are values; refusals show the position."""

from __future__ import annotations

import pickle

import pytest

from penstock.errors import QueryError
from penstock.language import Subscription, parse, with_caret
from penstock.language.xpath.ast import NameTest

SHOP = Subscription(
    "s1",
    "//x:item[@price < 10] | note",
    namespaces={"x": "urn:shop"},
    default_namespace="urn:default",
)


def test_a_subscription_has_its_own_prefixes_and_default_namespace() -> None:
    item, note = (branch.steps[0].test for branch in SHOP.parsed.branches)
    assert item == NameTest("urn:shop", "item")
    assert note == NameTest("urn:default", "note")


def test_subscriptions_compare_by_value() -> None:
    again = pickle.loads(pickle.dumps(SHOP))
    assert again == SHOP
    assert hash(again) == hash(SHOP)
    assert again != Subscription("s1", SHOP.query, namespaces={"x": "urn:other"})


def test_the_callers_map_is_copied() -> None:
    prefixes = {"x": "urn:shop"}
    subscription = Subscription("s1", "x:item", namespaces=prefixes)
    prefixes["x"] = "urn:other"
    assert subscription.parsed == parse("x:item", namespaces={"x": "urn:shop"})


def test_equivalent_subscriptions_have_the_same_normal_form() -> None:
    other = Subscription(
        "s2",
        "d:note | descendant::y:item[10 > @price]",
        namespaces={"y": "urn:shop", "d": "urn:default"},
    )
    assert other.parsed != SHOP.parsed
    assert other.normal == SHOP.normal


def test_a_bad_query_is_refused_when_it_is_parsed() -> None:
    subscription = Subscription("s1", "x:item")
    with pytest.raises(QueryError) as refused:
        _ = subscription.parsed
    assert refused.value.code == "query.prefix"
    with pytest.raises(QueryError):
        _ = subscription.normal


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/a[b = ]", "/a[b = ]\n       ^"),
        ("/a[", "/a[\n   ^"),
        ("", "\n^"),
        ("/a\n  | b c\n", "  | b c\n      ^"),
        ("/a[\n", "\n^"),
        ("a\r\n[b c]\r\n", "[b c] \n   ^"),
        ("\ta b", "\ta b\n\t  ^"),
        ("/名前[ $x ]", "/名前[ $x ]\n       ^"),
        ("/e\u0301[ $x ]", "/e\u0301[ $x ]\n    ^"),
    ],
)
def test_a_caret_marks_the_position(text: str, shown: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse(text)
    assert refused.value.where is not None
    assert with_caret(text, refused.value.where) == shown
