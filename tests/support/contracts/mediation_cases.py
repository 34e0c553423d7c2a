"""Mappings, documents and queries on which all rewriting strategies must agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import strategies as st

from penstock.documents import Name, TextBreak, read_events
from penstock.language.xpath.printing import to_text
from penstock.mediation import GlobalElement, GlobalNode, Mapping, rewrite
from penstock.schema import SchemaTree
from support.strategies.mappings import mappings, sharing_mappings
from support.strategies.queries import Vocabulary, queries
from support.strategies.schemas import NAMES, documents_of, schema_trees

NAMESPACES = {"p": "urn:p", "new": "urn:new"}
"""The namespaces of query prefixes."""

VOCABULARY = Vocabulary(
    elements=("a", "b", "c", "n", "o", "s", "t"),
    attributes=("w", "x", "n"),
    uris=("", "urn:p", "urn:new"),
    texts=("", "a", "b", "ab", "é"),
)

DOCTYPE = (
    '<!DOCTYPE a [<!ENTITY t "a &#38;lt; b"><!ENTITY e "x<b w=\'1\'>a<c/></b>y"'
    "><!ATTLIST b w CDATA 'given' z CDATA 'too'>]>"
)
"""Entities with text and with elements in them, and attributes by default."""

STRANGE = st.sampled_from(
    [
        "<!-- c -->",
        "<?p i?>",
        "<![CDATA[<&]]>",
        "&t;",
        "&e;",
        "&#233;",
        "<zz><b/>t</zz>",
        '<b xmlns="urn:p"><c>x</c></b>',
        '<q:b xmlns:q="urn:p" q:w="v"/>',
        "ab",
        " ",
    ]
)
"""Content that occurs in no schema, for any element."""


@st.composite
def _peppered(draw: st.DrawFn, document: bytes) -> bytes:
    """The document with unknown content between its tags."""
    parts = document.decode().split(">")
    for number in range(1, len(parts) - 1):
        if draw(st.integers(0, 5)) == 0:
            parts[number] = draw(STRANGE) + parts[number]
    return (DOCTYPE + ">".join(parts)).encode()


@st.composite
def cases(draw: st.DrawFn) -> tuple[Mapping, bytes]:
    """A mapping, and a document that is valid, of another schema, or with unknown content."""
    tree = draw(schema_trees(least=2))
    kind = draw(st.sampled_from(("valid", "peppered", "stranger")))
    of = tree
    if kind == "stranger":
        other = draw(schema_trees(least=2))
        of = SchemaTree(replace(other.root, name=tree.root.name))
    document = draw(documents_of(of))
    if kind != "valid":
        document = draw(_peppered(document))
    return draw(mappings(tree, most=12, other_names=NAMES)), document


@st.composite
def cases_with_shared_elements(draw: st.DrawFn) -> tuple[Mapping, bytes]:
    """A mapping whose Inserts share elements, and a document, valid or with unknown content."""
    tree = draw(schema_trees(least=3))
    document = draw(documents_of(tree))
    if draw(st.booleans()):
        document = draw(_peppered(document))
    return draw(sharing_mappings(tree)), document


def query_texts() -> st.SearchStrategy[list[str]]:
    """Queries that may match the global documents of :func:`cases`."""
    text = queries(VOCABULARY).map(lambda query: str(to_text(query, NAMESPACES)))
    return st.lists(text, max_size=6, unique=True)


def paths_to_all_nodes(mapping: Mapping, document: bytes) -> list[str]:
    """A query for each node of the global document, with its position, and its value if it is text.

    Together they distinguish any two global documents.
    """
    found: dict[str, None] = {}
    for tree in rewrite(mapping, read_events(document)).trees:
        found |= dict.fromkeys(_paths(tree, f"/{_test(tree.name)}"))
    return list(found)


def _paths(tree: GlobalElement, top: str) -> Iterator[str]:
    waiting: list[tuple[GlobalNode, str]] = [(tree, top)]
    while waiting:
        node, path = waiting.pop()
        yield path
        if not isinstance(node, GlobalElement):
            continue
        for attribute in node.attributes:
            yield f"{path}/@{_test(attribute.name)}{_equal(attribute.value)}"
        counts: Counter[str] = Counter()
        for child in node.children:
            if isinstance(child, TextBreak):
                continue
            if isinstance(child, GlobalElement):
                test, value = _test(child.name), ""
            else:
                test, value = "text()", _equal(child.text)
            counts[test] += 1
            waiting.append((child, f"{path}/{test}[{counts[test]}]{value}"))
        for test, count in counts.items():
            yield f"{path}[{test}[last()][position() = {count}]]"


def _test(name: Name) -> str:
    prefixes = {uri: prefix for prefix, uri in NAMESPACES.items()}
    return f"{prefixes[name.uri]}:{name.local}" if name.uri else name.local


def _equal(value: str) -> str:
    quote = '"' if "'" in value else "'"
    return f"[. = {quote}{value}{quote}]"
