"""Properties of every rewriting, for any schema, mapping and document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.documents import (
    EndElement,
    Event,
    Span,
    StartElement,
    Text,
    TextBreak,
    read_events,
)
from penstock.mediation import (
    Downgrade,
    Exchange,
    GlobalDocument,
    GlobalElement,
    GlobalNode,
    Mapping,
    rewrite,
)
from penstock.schema import Place, SampleSummary, SchemaTree
from support.fixtures.canonical import canonical
from support.strategies.mappings import mappings
from support.strategies.schemas import documents_of, schema_trees
from support.strategies.xml import documents

LOOSE = SampleSummary.of(read_events(b"<a><b/></a>")).tree()


@st.composite
def cases(draw: st.DrawFn) -> tuple[Mapping, bytes]:
    """A mapping and a valid document of its schema."""
    tree = draw(schema_trees(least=2))
    return draw(mappings(tree)), draw(documents_of(tree))


def nodes(document: GlobalDocument) -> Iterator[tuple[GlobalNode, Place]]:
    """Every node with its position; a text has that of its element."""
    waiting: list[tuple[GlobalNode, Place]] = [
        (tree, Place((tree.name,))) for tree in document.trees
    ]
    while waiting:
        node, place = waiting.pop()
        yield node, place
        if isinstance(node, GlobalElement):
            for child in node.children:
                name = (child.name,) if isinstance(child, GlobalElement) else ()
                waiting.append((child, Place((*place.path, *name))))


def values(document: GlobalDocument) -> Counter[str]:
    """The characters of all texts and attributes."""
    found: Counter[str] = Counter()
    for node, _ in nodes(document):
        if isinstance(node, GlobalElement):
            for attribute in node.attributes:
                found.update(attribute.value)
        elif not isinstance(node, TextBreak):
            found.update(node.text)
    return found


@st.composite
def strangers(draw: st.DrawFn) -> tuple[Mapping, bytes]:
    """A mapping, and a document of another schema whose root has the same name."""
    tree, other = draw(schema_trees(least=2)), draw(schema_trees(least=2))
    root = replace(other.root, name=tree.root.name)
    return draw(mappings(tree)), draw(documents_of(SchemaTree(root)))


@given(documents())
def test_an_empty_mapping_changes_nothing(document: bytes) -> None:
    events = read_events(document)
    found = rewrite(Mapping(LOOSE), events)
    (again,) = found.events()
    assert canonical(again) == canonical(events)
    assert [e.span for e in again if isinstance(e, EndElement)] == [
        e.span for e in events if isinstance(e, EndElement)
    ]
    assert found.trace == ()


@given(cases())
def test_every_rewriting_is_sound(case: tuple[Mapping, bytes]) -> None:
    mapping, document = case
    events = read_events(document)
    found = rewrite(mapping, events)
    check_nothing_is_lost(mapping, events, found)
    check_every_node_knows_where_it_came_from(found, len(document))
    check_it_is_as_the_transformed_schema_says(mapping, found)
    check_what_is_written_is_read_again(found)


@given(strangers())
def test_a_document_of_another_schema_is_handled(case: tuple[Mapping, bytes]) -> None:
    mapping, document = case
    events = read_events(document)
    found = rewrite(mapping, events)
    check_nothing_is_lost(mapping, events, found)
    check_every_node_knows_where_it_came_from(found, len(document))
    check_what_is_written_is_read_again(found)


def check_nothing_is_lost(mapping: Mapping, events: list[Event], found: GlobalDocument) -> None:
    original: Counter[str] = Counter()
    for event in events:
        if isinstance(event, Text):
            original.update(event.text)
        elif isinstance(event, StartElement):
            for attribute in event.attributes:
                original.update(attribute.value)
    assert values(found) >= original
    if not any(isinstance(operator, Exchange | Downgrade) for operator in mapping.operators):
        assert values(found) == original  # nothing is copied either
    elements = {event.span for event in events if isinstance(event, EndElement)}
    assert elements <= {span for node, _ in nodes(found) for span in spans_of(node)}


def spans_of(node: GlobalNode) -> tuple[Span, ...]:
    return () if isinstance(node, TextBreak) else node.spans


def check_every_node_knows_where_it_came_from(found: GlobalDocument, size: int) -> None:
    for node, _ in nodes(found):
        if not isinstance(node, TextBreak):
            assert node.spans
            assert all(0 <= span.start < span.end <= size for span in node.spans)
            assert list(node.spans) == sorted(set(node.spans))


def check_it_is_as_the_transformed_schema_says(mapping: Mapping, found: GlobalDocument) -> None:
    assert found.unknown == 0
    if any("stay" in applied.what for applied in found.trace):
        return  # the mapping's notes report these
    known = set(mapping.transformed.tree.places())
    for node, place in nodes(found):
        assert place in known
        if isinstance(node, GlobalElement):
            assert {Place(place.path, each.name) for each in node.attributes} <= known


def check_what_is_written_is_read_again(found: GlobalDocument) -> None:
    for tree, events in zip(found.trees, found.events(), strict=True):
        written = GlobalDocument((tree,), 0, ()).to_xml()
        assert canonical(read_events(written.encode())) == canonical(events)
