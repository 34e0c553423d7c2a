"""A rewritten query matches a local document as the query matches the global one, or is refused."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.documents import read_events, write
from penstock.errors import MappingError
from penstock.language import Query, parse, to_text
from penstock.matching import SubscriptionIndex
from penstock.mediation import Mapping, QueryRewriter, query_alternatives, query_rewriting, rewrite
from penstock.schema import SchemaNode, SchemaTree
from support.strategies.mappings import mappings
from support.strategies.queries import Vocabulary, queries
from support.strategies.schema_queries import queries_to
from support.strategies.schemas import documents_of, schema_trees

FEWER = max(settings().max_examples // 2, 1)  # schemas with mappings are dear to draw

PREFIXES = {"p": "urn:p", "new": "urn:new"}
VOCABULARY = Vocabulary(
    elements=tuple("abcdnopst"),
    attributes=tuple("wxno"),
    uris=("", "urn:p", "urn:new"),
    texts=("", "a", "ab", " "),
    positional=False,
)

ANY_QUERY = queries(VOCABULARY, max_branches=2, max_depth=2)


def matched(asked: dict[str, Query], document: bytes) -> set[str]:
    """The queries that match a document, by the engine, which other tests compare with lxml."""
    index = SubscriptionIndex()
    texts = [str(to_text(query, PREFIXES)) for query in asked.values()]
    assert not index.add_many(asked, texts, namespaces=PREFIXES)
    found = index.matcher().match(document)
    assert not found.errors
    return set(found.ids)


def matched_rewritten(asked: dict[str, Query], mapping: Mapping, document: bytes) -> set[str]:
    """The same for the rewritten document, by the reference."""
    trees = rewrite(mapping, read_events(document)).events()
    return set().union(*(matched(asked, write(tree).encode()) for tree in trees))


def rewritten(mapping: Mapping, query: str) -> str | None:
    found = QueryRewriter(mapping).rewrite(parse(query))
    return str(to_text(found)) if found else None


COURSES = Mapping.from_text("""penstock mapping 1
list
  => insert+ catalogue
  dept+
    => rename department
    @name
    => to-element @name
    course+
      => downgrade (ta) into teacher
      => insert schedule (room, time)
      teacher+
        name text
      ta* text
        => rename assistant
      time? text
      room? text
      notes text
        => upgrade+
        book* text
""")
EXCHANGED = Mapping.from_text("""penstock mapping 1
list
  teacher+
    => exchange course
    name text
    course+
      title text
""")


@pytest.mark.parametrize(
    ("query", "local"),
    [
        ("/list/catalogue/department", "/list/dept"),
        ("//department[name = 'CS']", "/list/dept/@name[. = 'CS']"),
        ("//course[schedule/time]/schedule", "/list/dept/course[time][time or room]"),
        ("//course/schedule[not(room)]/time", "/list/dept/course[not(room)]/time"),
        ("//teacher[name = 'Al']/assistant", "/list/dept/course[ta]/teacher/name[. = 'Al']"),
        ("//course/book", "/list/dept/course/notes/book"),
        ("//notes/book", None),
        ("//nothing", None),
        ("//name/text()", "/list/dept[@name[. != ''] or course/teacher/name/text()]"),
        (
            "//assistant[starts-with(., 'Al')]",
            "/list/dept/course[ta[starts-with(., 'Al')]]/teacher",
        ),
    ],
)
def test_a_query_is_rewritten_to_the_local_schema(query: str, local: str | None) -> None:
    assert rewritten(COURSES, query) == local


@pytest.mark.parametrize(
    ("query", "local"),
    [
        ("/list/course/title", "/list/teacher/course/title"),
        ("//teacher/name", "/list/teacher[name]/course"),
        ("//course[title = 'Db']/teacher[name]", "/list/teacher[name]/course/title[. = 'Db']"),
    ],
)
def test_conditions_on_exchanged_nodes_move_to_the_parent(query: str, local: str) -> None:
    assert rewritten(EXCHANGED, query) == local


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("//course[2]", "positions"),
        ("//notes[. = 'x']", "changes the text of notes"),
        ("//course/text()", "can move text of course"),
        ("//course[contains(schedule, 'x')]", "text"),
        ("//department[contains(course, 'x')]", "first"),
        ("//teacher[not(name = 'Al' or assistant = 'Bo')]", "not"),
    ],
)
def test_an_inexpressible_query_is_refused_with_the_reason(query: str, why: str) -> None:
    with pytest.raises(MappingError, match=why) as caught:
        rewritten(COURSES, query)
    assert caught.value.code == "mapping.query"


def test_a_mapping_with_exceptions_is_refused() -> None:
    text = "penstock mapping 1\na\n  => downgrade (b) into c\n  b*\n  c?\n"
    with pytest.raises(MappingError, match="exceptions"):
        rewritten(Mapping.from_text(text), "//b")


def test_a_truncated_schema_is_refused() -> None:
    with pytest.raises(MappingError, match="is truncated"):
        rewritten(Mapping.from_text("penstock mapping 1\na ...\n  b*\n"), "//b")


def test_a_query_with_too_many_expansions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_rewriting, "QUERY_PLACES_MAX", 3)
    with pytest.raises(MappingError, match="3 places"):
        rewritten(COURSES, "//*")
    monkeypatch.undo()
    monkeypatch.setattr(query_alternatives, "ALTERNATIVES_MAX", 1)
    with pytest.raises(MappingError, match="1 alternatives"):
        rewritten(COURSES, "//teacher[name = 'Al' or assistant = 'Bo']")


def required(node: SchemaNode) -> SchemaNode:
    """The same with nothing optional: Exchange and Downgrade always find their nodes."""
    return replace(
        node,
        occurs=replace(node.occurs, required=True),
        children=tuple(map(required, node.children)),
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[Mapping, bytes, list[Query]]:
    """A mapping, a valid document of its schema, and queries to the rewritten document."""
    tree = draw(schema_trees(least=2))
    if draw(st.booleans()):
        tree = SchemaTree(required(tree.root))
    mapping = draw(mappings(tree, most=5))
    aimed = queries_to(mapping.transformed.tree)
    asked = draw(st.lists(aimed | aimed | aimed | ANY_QUERY, min_size=4, max_size=8))
    return mapping, draw(documents_of(tree)), asked


@given(cases())
@settings(max_examples=FEWER)
def test_a_rewritten_query_matches_as_the_query_on_the_rewritten_document(
    case: tuple[Mapping, bytes, list[Query]],
) -> None:
    mapping, document, asked = case
    rewriter = QueryRewriter(mapping)
    local: dict[str, Query | None] = {}
    for number, query in enumerate(asked):
        with suppress(MappingError):
            local[str(number)] = rewriter.rewrite(query)
    here = matched({key: query for key, query in local.items() if query}, document)
    there = matched_rewritten({key: asked[int(key)] for key in local}, mapping, document)
    assert here == there
