"""The native relations: compared with the reference on arbitrary queries, and their binding."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace

import pytest
from hypothesis import given

from penstock.language import limits, parse
from penstock.language.relations import decisions
from penstock.language.relations.native_pairs import compiled
from penstock.language.relations.reference import decisions as reference
from penstock.language.xpath.ast import And, Exists, Expr, Not, Path, Query
from support.fixtures.both_relations import contains, covers, generalise, overlaps
from support.fixtures.repository import NATIVE
from support.strategies.queries import NAMESPACED, PLAIN, queries


@given(queries(PLAIN, max_branches=2), queries(PLAIN, max_branches=2))
def test_verdicts_are_those_of_the_reference(p: Query, q: Query) -> None:
    assert decisions.contains(p, q) == reference.contains(p, q)
    assert decisions.covers(p, q) == reference.covers(p, q)
    assert decisions.overlaps(p, q) == reference.overlaps(p, q)


@given(queries(NAMESPACED, max_branches=2), queries(NAMESPACED, max_branches=2))
def test_generalisations_are_at_least_those_of_the_reference(p: Query, q: Query) -> None:
    general = generalise(p, q)
    assert contains(general, p)
    assert contains(general, q)


@given(queries(NAMESPACED, max_branches=2))
def test_a_query_is_related_to_itself(p: Query) -> None:
    again = pickle.loads(pickle.dumps(p))
    assert contains(p, again)
    assert covers(p, again)
    assert overlaps(p, again) == (decisions.why_never(p) is None)


def test_a_query_keeps_its_compiled_form() -> None:
    p, q = parse("/a//b"), parse("/a/b[c]")
    assert contains(p, q)
    assert p.compiled is compiled(p)
    assert p == parse("/a//b")
    assert hash(p) == hash(parse("/a//b"))
    assert repr(p) == repr(parse("/a//b"))
    for twin in (pickle.loads(pickle.dumps(p)), copy.copy(p), copy.deepcopy(p), replace(p)):
        assert twin == p
        assert twin.compiled is None
        assert contains(twin, q)


def test_trees_beyond_the_limits_of_the_parser_are_left_to_the_reference() -> None:
    step = parse("/a").branches[0].steps[0]
    long = Query((Path((step,) * (limits.MAX_STEPS + 1)),))
    with pytest.raises(ValueError, match="steps"):
        compiled(long)
    assert contains(parse("//a"), long)
    assert not contains(long, parse("//a"))
    assert contains(parse("/a"), long, single_valued=[("", "a")])
    nested: Expr = Exists(Path((step,)))
    for _ in range(200):
        nested = Not(nested)
    deep = Query((Path((replace(step, predicates=(nested,)),)),))
    with pytest.raises(ValueError, match="nested"):
        compiled(deep)
    assert contains(parse("/a"), deep)
    wide = And((Exists(Path(())),) * (2 * limits.MAX_PREDICATES + 1))
    with pytest.raises(ValueError, match="conditions"):
        compiled(Query((Path((replace(step, predicates=(wide,)),)),)))
    with pytest.raises(ValueError, match="no steps"):
        compiled(Query((Path(()),)))


def test_lone_surrogates_are_left_to_the_reference() -> None:
    step = parse("/a").branches[0].steps[0]
    odd = Query((Path((replace(step, test=replace(step.test, local="\ud800")),)),))
    with pytest.raises(ValueError, match="surrogate"):
        compiled(odd)
    assert contains(parse("/*"), odd)
    assert not contains(parse("/a"), odd)


def test_the_limits_of_proofs_are_those_of_the_native_core() -> None:
    source = (NATIVE / "src" / "relations" / "limits.rs").read_text(encoding="utf-8")
    own = {
        name: int(value.replace("_", ""))
        for name, value in re.findall(r"pub const (\w+): \w+ = ([\d_]+);", source)
    }
    assert own
    assert own == {name: getattr(limits, name) for name in own}


def test_positions_beyond_exact_integers_are_compared() -> None:
    large = "9007199254740992"
    q = parse(f"/a/b[position() >= {large} and position() != {large}]")
    assert not contains(parse("/a/b[1]/c"), q)
    assert contains(parse("/a/b"), q)
