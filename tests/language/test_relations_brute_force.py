"""The relations against their definitions, on all small documents and on generated ones.

What is proved must hold in every document of a pool. On linear paths the answer must also be exact:
whenever a relation is denied, the document that comes with the denial must show it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from penstock.language import to_text
from penstock.language.relations.decisions import why_never
from penstock.language.relations.reference.containment import not_contained
from penstock.language.relations.reference.document_domain import domain_of
from penstock.language.relations.reference.overlap import meeting
from penstock.language.relations.witness_documents import document
from penstock.language.xpath.ast import Axis, Kind, NameTest, Path, Query, Step
from support.fixtures.both_relations import contains, covers, overlaps
from support.fixtures.xpath2_functions import EXTENSIONS, NAMESPACES
from support.strategies.queries import (
    NAMESPACED,
    Vocabulary,
    linear_queries,
    paths,
    predicates,
    queries,
)
from support.strategies.tiny_documents import TinyNode, from_xml, matches, pool, select

SMALL = Vocabulary(elements=("a", "b"), texts=("x", "xy", "1", "2"), numbers=(1.0, 1.5, 2.0))
NO_POSITIONS = replace(SMALL, positional=False)
LXML = replace(SMALL, any_namespace=False)


@cache
def documents() -> list[TinyNode]:
    return pool(1, randoms=120)


def lie_under(lower: Iterable[TinyNode], upper: Iterable[TinyNode]) -> list[bool]:
    """Of each of the lower nodes, whether it is at or under an upper one."""
    above = set(upper)
    return [not above.isdisjoint(node.up()) for node in lower]


def meet(one: list[TinyNode], two: list[TinyNode]) -> bool:
    return any(lie_under(one, two)) or any(lie_under(two, one))


def check_sound(p: Query, q: Query) -> None:
    contained, covered, apart = contains(p, q), covers(p, q), not overlaps(p, q)
    never = why_never(q) is not None
    if not (contained or covered or apart or never):
        return
    for each in documents():
        of_p, of_q = select(p, each), select(q, each)
        assert not (never and of_q), each.to_xml()
        assert not (contained and of_q and not of_p), each.to_xml()
        assert not (covered and not all(lie_under(of_q, of_p))), each.to_xml()
        assert not (apart and meet(of_p, of_q)), each.to_xml()


@given(queries(LXML, max_branches=2))
def test_the_definition_agrees_with_lxml(query: Query) -> None:
    evaluate = etree.XPath(str(to_text(query)), namespaces=NAMESPACES, extensions=EXTENSIONS)
    for each in documents()[::7]:
        found = evaluate(etree.fromstring(each.to_xml()))
        assert isinstance(found, list)
        assert len(select(query, each)) == len(found)


@given(linear_queries(NAMESPACED), linear_queries(NAMESPACED))
def test_linear_paths_are_related_exactly(p: Query, q: Query) -> None:
    everywhere = domain_of(None)
    missed = not_contained(everywhere, p, q)
    if missed is not None:
        shown = from_xml(document(missed, p, q))
        assert matches(q, shown)
        assert not matches(p, shown)
    assert covers(p, q) == (missed is None)
    met = meeting(everywhere, p, q)
    if met is not None:
        shown = from_xml(document(met, p, q))
        assert meet(select(p, shown), select(q, shown))
    check_sound(p, q)


@given(st.lists(linear_queries(SMALL), min_size=1, max_size=3), linear_queries(SMALL))
def test_a_union_of_linear_paths_contains_exactly(several: list[Query], q: Query) -> None:
    p = Query(tuple(path for each in several for path in each.branches))
    missed = not_contained(domain_of(None), p, q)
    if missed is not None:
        shown = from_xml(document(missed, p, q))
        assert matches(q, shown)
        assert not matches(p, shown)
    check_sound(p, q)


@given(queries(SMALL, max_branches=2, max_depth=1), queries(SMALL, max_branches=2, max_depth=1))
def test_proofs_for_arbitrary_queries_are_correct(p: Query, q: Query) -> None:
    check_sound(p, q)


@st.composite
def narrowed(draw: st.DrawFn, p: Query) -> Query:
    """A query that mostly says more than ``p``, made by a few changes to one of its branches."""
    steps = list(draw(st.sampled_from(p.branches)).steps)
    for _ in range(draw(st.integers(1, 3))):
        index = draw(st.integers(0, len(steps) - 1))
        step = steps[index]
        change = draw(st.sampled_from(("name", "axis", "predicate", "deeper", "between", "drop")))
        if change == "name" and step.kind is Kind.ELEMENT:
            steps[index] = replace(step, test=NameTest("", draw(st.sampled_from("ab"))))
        elif change == "axis":
            steps[index] = replace(step, axis=Axis.CHILD)
        elif change == "predicate":
            extra = draw(predicates(NO_POSITIONS, depth=1))
            steps[index] = replace(step, predicates=(*step.predicates, extra))
        elif change == "deeper" and steps[-1].kind is Kind.ELEMENT:
            steps += draw(paths(SMALL, max_steps=1, depth=0)).steps
        elif change == "between" and step.axis is Axis.DESCENDANT:
            steps.insert(index, Step(Axis.CHILD, Kind.ELEMENT, NameTest("", "a")))
        elif change == "drop" and step.predicates:
            steps[index] = replace(step, predicates=step.predicates[1:])
    return Query((Path(tuple(steps)),))


@given(st.data())
def test_proofs_for_similar_queries_are_correct(data: st.DataObject) -> None:
    p = data.draw(queries(SMALL, max_branches=2, max_depth=2))
    q = data.draw(narrowed(p))
    check_sound(p, q)
    check_sound(q, p)


def has_one_b_at_most(each: TinyNode) -> bool:
    return all(sum(child.name == ("", "b") for child in node.children) <= 1 for node in each.down())


@given(st.data())
def test_proofs_from_assumptions_hold_where_the_assumptions_do(data: st.DataObject) -> None:
    p = data.draw(queries(SMALL, max_branches=1, max_depth=1))
    q = data.draw(queries(SMALL, max_branches=1, max_depth=1) | narrowed(p))
    contained = contains(p, q, single_valued=[("", "b")])
    apart = not overlaps(p, q, single_valued=[("", "b")])
    for each in filter(has_one_b_at_most, documents()):
        of_p, of_q = select(p, each), select(q, each)
        assert not (contained and of_q and not of_p), each.to_xml()
        assert not (apart and meet(of_p, of_q)), each.to_xml()


@given(queries(SMALL, max_branches=2))
def test_duplicate_branches_change_nothing(p: Query) -> None:
    twice = Query((*p.branches, *p.branches))
    assert contains(p, twice)
    assert contains(twice, p)
    assert covers(twice, p)
    assert overlaps(p, twice) == (why_never(p) is None)
