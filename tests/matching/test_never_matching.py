"""A subscription that can never match is flagged on creation, and still added."""

from penstock.matching import SubscriptionIndex
from penstock.schema import SchemaGraph

SHOP = SchemaGraph.from_dtd(
    """
    <!ELEMENT shop (item*)>
    <!ELEMENT item (price?)>
    <!ELEMENT price (#PCDATA)>
    """
)


def test_a_contradiction_is_flagged_without_a_schema() -> None:
    index = SubscriptionIndex()
    assert index.add("never", "/a[@n < 3][@n > 5]") is not None
    assert "never" in index


def test_a_query_without_valid_documents_is_flagged_with_a_schema() -> None:
    index = SubscriptionIndex()
    assert index.add("free", "/shop/price") is None
    assert index.add("bound", "/shop/price", schema=SHOP) is not None


def test_a_query_that_may_match_is_not_flagged() -> None:
    index = SubscriptionIndex()
    assert index.add("cheap", "//item[price < 10]", schema=SHOP) is None


def test_flagging_considers_namespaces() -> None:
    index = SubscriptionIndex()
    assert index.add("p", "/p:a[@p:n = 1][@p:n = 2]", namespaces={"p": "urn:p"}) is not None
