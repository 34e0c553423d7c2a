"""Subscriptions in extended XQL select what the same paths select in statements."""

from __future__ import annotations

import random

import pytest

from penstock.errors import PenstockError, UpdateError
from penstock.language.updates import parse_xql_subscription
from penstock.language.updates.xql_subscription import Stage
from penstock.sync import Client, DocumentTree, SubscriptionLanguage, SyncSubscription
from penstock.sync.message_codec import decode_request, encode_request
from penstock.sync.reference.restriction import restrict_to_subscription
from penstock.sync.simulation.workload import NAMESPACES, random_document
from support.contracts.native_engines import needs_native

pytestmark = needs_native

GUIDE = (
    b"<Guide><Restaurant><Name>Chez A</Name><Entree><Name>Soup</Name> hot</Entree>"
    b"<Entree><Name>Stew</Name></Entree></Restaurant>"
    b"<Restaurant><Name>Chez B</Name><Entree><Name>Roast</Name></Entree></Restaurant></Guide>"
)


def xql(query: str) -> SyncSubscription:
    return SyncSubscription(query, NAMESPACES, language=SubscriptionLanguage.XQL)


def restricted(document: bytes, query: str) -> str:
    tree = DocumentTree.read(document)
    return tree.restricted(tree.view(xql(query).compiled)).canonical_xml().decode()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "//(Restaurant/Entree)[0]/*",
            "<Restaurant><Entree><Name>Soup</Name> hot</Entree></Restaurant>",
        ),
        (
            "//(Restaurant/Entree)[-1]",
            "<Restaurant><Entree><Name>Roast</Name></Entree></Restaurant>",
        ),
        ("//(Restaurant/Entree)[3]", None),
        ("//(Name/*)[1]/x", None),
        ("//Restaurant/(Name/text())[1]", "<Restaurant><Name>Chez B</Name></Restaurant>"),
        (
            "*/Restaurant/Entree[1]/Name",
            "<Restaurant><Entree><Name>Stew</Name></Entree></Restaurant>",
        ),
        (
            "//(Restaurant)[1]//(Name)[-1]",
            "<Restaurant><Entree><Name>Roast</Name></Entree></Restaurant>",
        ),
        (
            "//(Entree)[Name = 'Stew'][0]!count()",
            "<Restaurant><Entree><Name>Stew</Name></Entree></Restaurant>",
        ),
        (
            "Guide/Restaurant[0]/Name/* | //(Entree)[2]/Name",
            "<Restaurant><Name>Chez A</Name></Restaurant>"
            "<Restaurant><Entree><Name>Roast</Name></Entree></Restaurant>",
        ),
    ],
)
def test_paths_of_the_paper(query: str, expected: str | None) -> None:
    assert restricted(GUIDE, query) == ("" if expected is None else f"<Guide>{expected}</Guide>")


def test_positions_count_from_0_only_in_xql() -> None:
    tree = DocumentTree.read(GUIDE)
    for subscription in (SyncSubscription("//Entree[1]"), xql("//Entree[0]")):
        found = tree.restricted(tree.view(subscription.compiled)).canonical_xml()
        assert found.count(b"<Entree>") == 2
    assert restricted(GUIDE, "//(Entree)[0]").count("<Entree>") == 1


@pytest.mark.parametrize(
    ("query", "offset", "message"),
    [
        ("/", 0, "document node"),
        ("//a/..", 4, "`..` is not supported"),
        ("//a/comment()", 4, "`comment()`"),
        ("//a | //b/pi()", 10, "`pi()`"),
        ("/r/*[1]", 3, "cannot be counted together"),
        ("/r/a[-2]", 3, "from the end"),
        ("/r/@k[0]", 3, "no order"),
        ("//(a/@*)[0]", 2, "no order"),
        ("//((a/b)[0]/c)[1]", 3, "inside of another group"),
        ("//(a/b)[0][c]", 2, "not the last filter"),
        ("//a[/b]", 2, "starts at the filtered node"),
        ("//a[(b)[0]]", 4, "inside of another group"),
        ("//a[contains(*, 'x')]", 2, "only one is tested"),
        (".", 0, "document node"),
        ("//(a/@k)/b", 9, "below a leaf"),
        ("//(a/text())[0]/b", 16, "below a leaf"),
    ],
)
def test_what_no_subscription_can_express(query: str, offset: int, message: str) -> None:
    with pytest.raises(UpdateError) as refused:
        xql(query)
    assert refused.value.code == "update.subscription"
    assert message in refused.value.message
    assert refused.value.where is not None
    assert refused.value.where.offset == offset


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("//a[", "update.syntax"),
        ("//q:a", "update.prefix"),
        ("//@k/a", "update.path"),
        ("/" + "/".join(["*"] * 600), "update.limit"),
        ("//a!delete('x')", "update.syntax"),
        ("//a[b!count() = c!count()]", "update.syntax"),
    ],
)
def test_malformed_paths_are_refused_with_a_position(query: str, code: str) -> None:
    with pytest.raises(PenstockError) as refused:
        xql(query)
    assert refused.value.code == code
    assert refused.value.where is not None


def test_what_a_path_is_translated_to() -> None:
    parsed = parse_xql_subscription("//(a/*)[b][-1] | c[-1]/*[. = 'x' and (d)[e]]")
    assert parsed.branches == (
        (Stage("//a/*[./b] | //a/text()[./b]", -1),),
        (
            Stage(
                '/c[last()]/*[(. = "x") and (./d[./e])] | '
                '/c[last()]/text()[(. = "x") and (./d[./e])]'
            ),
        ),
    )


STEPS = ("a", "b", "*", "p:d", "a[0]", "b[-1]", "*[b]", "a[not(* = 'x')]", "text()", "@k", "@*")


def random_path(rng: random.Random, depth: int = 0) -> str:
    text = rng.choice(("", "/", "//")) if depth == 0 else ""
    for number in range(rng.randrange(1, 4)):
        text += rng.choice(("/", "//")) if number else ""
        if rng.random() < 0.4 and depth < 2:
            filters = rng.choice(("", "[0]", "[1]", "[-1]", "[-2]", "[c][0]", "[. = '1']"))
            text += f"({random_path(rng, depth + 1)}){filters}"
        else:
            text += rng.choice(STEPS)
    return text


@pytest.mark.parametrize("seed", range(8))
def test_random_paths_select_what_statements_select(seed: int) -> None:
    rng = random.Random(seed)
    compared = selecting = 0
    for _ in range(400):
        query = " | ".join(random_path(rng) for _ in range(rng.choice((1, 1, 2))))
        try:
            subscription = xql(query)
        except UpdateError:
            continue
        document = DocumentTree.read(random_document(rng, size=24)).canonical_xml()
        tree = DocumentTree.read(document)
        found = tree.restricted(tree.view(subscription.compiled)).canonical_xml()
        expected = restrict_to_subscription(document, subscription).canonical_xml()
        assert found == expected, (query, document)
        compared += 1
        selecting += bool(found)
    assert compared > 100
    assert selecting > 30


def test_a_request_keeps_the_language() -> None:
    request = Client("one", xql("//(a)[0]")).request()
    assert decode_request(encode_request(request)) == request
