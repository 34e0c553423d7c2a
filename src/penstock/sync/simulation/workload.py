"""Random documents, subscriptions and statements. Names are few, so that operations meet."""

from __future__ import annotations

import random
from itertools import count
from typing import Final

from penstock.errors import PenstockError
from penstock.language.updates.parser import parse_statement
from penstock.sync.document_tree import DOCUMENT, DocumentTree, NodeId, NodeKind
from penstock.sync.path_evaluation import PathEvaluator, TreeRef
from penstock.sync.resolution import resolve
from penstock.sync.subscription import SubscriptionLanguage, SyncSubscription

NAMES: Final = ("a", "b", "c", "p:d")
TEXTS: Final = ("1", "2", "x", "y&", " ")
NAMESPACES: Final = (("p", "urn:p"),)

_BROAD: Final = ("/*", "/r/*", "//a | //b", "//a | //p:d")

_SUBSCRIPTIONS: Final = (
    "/*",
    "/r/a",
    "/r/*/b",
    "//b",
    "//c",
    "//p:d",
    "//a/b",
    "//a//c",
    "//a | //p:d/b",
    "//text()",
    "/r/a/text()",
    "//a/@k",
    "//@k | //c/text()",
    "//a[b]",
    "//a[not(c)]",
    "//b[. = '1']",
    "//a[@k = '1']/b",
    "//*[@k]",
    "/r/*[2]",
    "//a[last()]",
    "//b[1]/c | //p:d",
    "//a[count(b) > 1]",
    "//a[text() = 'x']",
    "//*[contains(., '2')]",
    "//b!count()",
)

_XQL_SUBSCRIPTIONS: Final = (
    "//a/*",
    "/r/*",
    "*/b[0]",
    "/r/p:d[-1]/*",
    "//(a/b)[0]/*",
    "//(b)[1]",
    "/r//(a)[-1]/c",
    "//a/(*)[0]",
    "//(a[@k = '1']/*)[2] | //c",
    "//(a)[0]//(b/@k)[0]",
    "//a[* = 'x']",
    "//(b[not(c)])[. = '1'][0]!count()",
)


def random_document(rng: random.Random, *, size: int) -> bytes:
    """A document with elements, text, attributes, comments and instructions."""
    budget = [size]
    content = "".join(_content(rng, budget, 0) for _ in range(size))
    prolog = rng.choice(["", "<!--prolog-->", '<?style href="a"?>'])
    return f'{prolog}<r xmlns:p="urn:p">{content}</r>'.encode()


def _content(rng: random.Random, budget: list[int], depth: int) -> str:
    if budget[0] <= 0:
        return ""
    budget[0] -= 1
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(TEXTS).replace("&", "&amp;")
    if kind < 0.35:
        return rng.choice(["<!--c-->", "<?i d?>"])
    name = rng.choice(NAMES)
    attributes = "".join(
        f' {key}="{rng.choice(TEXTS[:2])}"' for key in ("k", "p:k") if rng.random() < 0.3
    )
    declares = ' xmlns:p="urn:p"' if rng.random() < 0.05 else ""
    count = rng.randrange(4) if depth < 5 else 0
    inner = "".join(_content(rng, budget, depth + 1) for _ in range(count))
    return f"<{name}{declares}{attributes}>{inner}</{name}>"


def random_subscription(rng: random.Random) -> SyncSubscription:
    """One of a set of queries with every kind of predicate, often one that selects much."""
    kind = rng.random()
    if kind < 0.2:
        query = rng.choice(_XQL_SUBSCRIPTIONS)
        return SyncSubscription(query, NAMESPACES, language=SubscriptionLanguage.XQL)
    queries = _BROAD if kind < 0.6 else _SUBSCRIPTIONS
    return SyncSubscription(rng.choice(queries), NAMESPACES)


def random_statement(rng: random.Random, tree: DocumentTree) -> str:
    """A statement about a cache; some are refused."""
    target = _path(rng, tree)
    function = rng.choice(
        (
            *("insert", "insertBefore", "insertAfter") * 2,
            *("delete",) * 2,
            *("update",) * 5,
            *("copy", "copyBefore", "copyAfter"),
            *("move", "moveBefore", "moveAfter") * 2,
        )
    )
    if function == "delete":
        return f"{target}!delete()"
    if function == "update":
        return f'{target}!update("{rng.choice(("a", "b", "c", "1", "2", "x"))}")'
    if function.startswith("insert"):
        return f"{target}!{function}({_plain_path(rng)})"
    return f"{target}!{function}({_path(rng, tree)})"


_RARE_PATHS: Final = (
    "//comment()",
    "//(comment())[0]",
    "//pi()",
    "//(pi())[-1]",
    "/r/comment()[0]",
    "//a/@*",
    "//p:d/@p:k",
    "//(@k)[0]",
    "//(a/b)[0]/*",
    "//(a/*)[-1]",
    "//a[b]",
    "//b[@k = '1']",
    "//*[not(*)]",
    "//a/..",
    "//b[. = '1']/..",
)

_RARE_SOURCES: Final = (".", "..", "../*[0]", "../@k", "@k", "*", "comment()", "pi()", "../..//a")

_RARE_CONTENTS: Final = ("p:d/@p:k/'1'", "@p:k/'2'", "a/b/c/'x'", "p:d/p:d", "'<&>'")


def random_rare_statement(rng: random.Random, tree: DocumentTree) -> str:
    """A statement of a kind that :func:`random_statement` does not make: about comments,
    instructions and attributes with a namespace, with paths in parentheses, parents and relative
    sources."""
    target = rng.choice(_RARE_PATHS) if rng.random() < 0.7 else _path(rng, tree)
    place = rng.choice(("", "Before", "After"))
    match rng.choice(("insert", "delete", "update", "copy", "copy", "move", "move")):
        case "delete":
            return f"{target}!delete()"
        case "update":
            return f'{target}!update("{rng.choice(("a", "b", "1", "2", "x", ""))}")'
        case "insert":
            return f"{target}!insert{place}({rng.choice(_RARE_CONTENTS)})"
        case function:
            sources = _RARE_SOURCES if rng.random() < 0.6 else _RARE_PATHS
            return f"{target}!{function}{place}({rng.choice(sources)})"


def random_edit(rng: random.Random, document: bytes, *, nodes_max: int) -> bytes:
    """A document as a person may have left it in an editor."""
    tree = DocumentTree.read(document)
    numbers = count(1)

    def new_id() -> NodeId:
        return f"1.{next(numbers)}"

    for version in range(1, rng.choice((2, 3, 6))):
        tree.set_version(version)
        make = random_rare_statement if rng.random() < 0.4 else random_statement
        statement = parse_statement(make(rng, tree), namespaces=dict(NAMESPACES))
        try:
            resolve(statement, tree, new_id, nodes_max=nodes_max)
        except PenstockError:
            tree.undo_after(version - 1)
    return tree.canonical_xml()


def _plain_path(rng: random.Random) -> str:
    text = f'"{rng.choice(TEXTS)}"'
    name = rng.choice(NAMES)
    return rng.choice(
        [
            name,
            f"{name}/{text}",
            f"{name}/{rng.choice(NAMES)}",
            text,
            f"@k/{text}",
            f"{name}/@k/{text}",
        ]
    )


def _path(rng: random.Random, tree: DocumentTree) -> str:
    if rng.random() < 0.25:
        name = rng.choice(NAMES)
        return rng.choice(
            [f"//{name}", f"//{name}/*", f"/r/{name}[0]", f"//({name})[-1]", f"//{name}/@k", "//@k"]
        )
    return _path_to_node(rng, tree)


def _path_to_node(rng: random.Random, tree: DocumentTree) -> str:
    """A path to one random node of the cache."""
    evaluator = PathEvaluator(tree)
    ref = TreeRef((DOCUMENT,), NodeKind.DOCUMENT)
    path = ""
    while True:
        children = [
            each
            for each in evaluator.children(ref)
            if each.kind in (NodeKind.ELEMENT, NodeKind.TEXT)
        ]
        if not children or (path and rng.random() < 0.35):
            return path or "/r"
        at = rng.randrange(len(children))
        path += f"/*[{at}]"
        ref = children[at]
