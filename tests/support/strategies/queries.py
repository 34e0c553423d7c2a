"""Hypothesis strategies for queries of the complete language, as trees and as text.

Names, values and namespaces come from a small :class:`Vocabulary`, so that generated queries and
generated documents often match.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hypothesis import strategies as st

from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    ComparePaths,
    ComparesWith,
    Contains,
    ContainsText,
    Count,
    DateType,
    EndsWithText,
    Exists,
    Expr,
    HasLength,
    IsDate,
    Kind,
    Last,
    LowerCase,
    MatchesPattern,
    NameTest,
    NormalizeSpace,
    Not,
    Op,
    Or,
    Path,
    Position,
    PositionLast,
    Query,
    StartsWith,
    StartsWithText,
    Step,
    StringTest,
    Translate,
    UpperCase,
)


@dataclass(frozen=True)
class Vocabulary:
    """The names and values of generated queries, and the language features that they use."""

    elements: tuple[str, ...] = ("a", "b", "c")
    attributes: tuple[str, ...] = ("p", "q")
    uris: tuple[str, ...] = ("",)
    texts: tuple[str, ...] = ("", "x", "y", "xy", "1", "2", "10")
    patterns: tuple[str, ...] = ("x", "^x?y?$", "^[^x]+$", r"\d{2}", "Y|^$", "(x|y)+?1*")
    dates: tuple[str, ...] = ("2018-01-01", "2018-02-01Z", "2018-02-01+02:00")
    numbers: tuple[float, ...] = (-1.0, 0.0, 1.0, 1.5, 2.0, 10.0)
    positions: tuple[float, ...] = (-1.0, 0.0, 1.0, 1.5, 2.0, 3.0)
    any_namespace: bool = True
    """Whether there are name tests of the form ``*:n``."""
    positional: bool = True
    """Whether there are ``[n]``, ``position()`` and ``last()``."""
    functions: bool = True
    """Whether there are functions besides ``contains()`` and ``starts-with()``, and comparisons of
    two paths."""


PLAIN = Vocabulary()
"""One namespace (none)."""

NAMESPACED = Vocabulary(uris=("", "urn:x", "urn:y"))
"""Three namespaces, one of them none."""


def queries(
    vocabulary: Vocabulary = PLAIN, *, max_branches: int = 3, max_depth: int = 2
) -> st.SearchStrategy[Query]:
    """Queries whose predicates nest up to ``max_depth`` deep."""
    branch = paths(vocabulary, max_steps=4, depth=max_depth).filter(lambda path: bool(path.steps))
    branches = st.lists(branch, min_size=1, max_size=max_branches)
    return branches.map(lambda made: Query(tuple(made)))


@st.composite
def queries_in_common(draw: st.DrawFn, vocabulary: Vocabulary = PLAIN) -> list[Query]:
    """Several queries made of the same few steps and predicates."""
    common = draw(st.lists(predicates(vocabulary, depth=2), min_size=1, max_size=3))
    shared = draw(st.lists(steps(vocabulary, Kind.ELEMENT, depth=1), min_size=1, max_size=3))
    last = steps(vocabulary, Kind.ATTRIBUTE, depth=1) | steps(vocabulary, Kind.TEXT, depth=1)
    filters = st.lists(
        st.sampled_from(common)
        | st.sampled_from(common).map(Not)
        | st.tuples(st.sampled_from(common), st.sampled_from(common)).map(And)
        | st.tuples(st.sampled_from(common), st.sampled_from(common)).map(Or),
        max_size=2,
    )

    def step() -> Step:
        plain = draw(st.sampled_from(shared))
        return Step(plain.axis, plain.kind, plain.test, (*plain.predicates, *draw(filters)))

    def path() -> Path:
        made = [step() for _ in range(draw(st.integers(1, 3)))]
        return Path((*made, *draw(st.lists(last, max_size=1))))

    def query() -> Query:
        return Query(tuple(path() for _ in range(draw(st.integers(1, 2)))))

    return [query() for _ in range(draw(st.integers(2, 8)))]


def linear_queries(vocabulary: Vocabulary = PLAIN) -> st.SearchStrategy[Query]:
    """Queries of one path without predicates."""
    return queries(vocabulary, max_branches=1, max_depth=0)


@cache
def paths(vocabulary: Vocabulary, *, max_steps: int, depth: int) -> st.SearchStrategy[Path]:
    """Paths whose last step may be an attribute or text; the empty one is ``.``."""
    elements = steps(vocabulary, Kind.ELEMENT, depth=depth)
    leaves = {kind: steps(vocabulary, kind, depth=depth) for kind in (Kind.ATTRIBUTE, Kind.TEXT)}
    # Strategies are created once, not at each draw, which halves the time.
    counts = st.integers(0, max_steps)
    kinds = st.sampled_from((None, None, *leaves))

    @st.composite
    def path(draw: st.DrawFn) -> Path:
        made = [draw(elements) for _ in range(draw(counts))]
        leaf = draw(kinds)
        if leaf:
            made.append(draw(leaves[leaf]))
        return Path(tuple(made))

    return path()


@cache
def steps(vocabulary: Vocabulary, kind: Kind, *, depth: int) -> st.SearchStrategy[Step]:
    """Steps that select nodes of ``kind``, half of them with predicates."""
    tests = name_tests(vocabulary, kind)
    filters = predicates(vocabulary, depth=depth) if depth else st.nothing()
    axes = st.sampled_from(Axis)
    counts = st.sampled_from((0, 0, 1, 2) if depth else (0,))

    @st.composite
    def step(draw: st.DrawFn) -> Step:
        axis = draw(axes)
        test = draw(tests)
        count = draw(counts)
        return Step(axis, kind, test, tuple(draw(filters) for _ in range(count)))

    return step()


@cache
def name_tests(vocabulary: Vocabulary, kind: Kind) -> st.SearchStrategy[NameTest]:
    """Name tests that a query can write for nodes of ``kind``."""
    if kind is Kind.TEXT:
        return st.just(NameTest())
    local_names = vocabulary.elements if kind is Kind.ELEMENT else vocabulary.attributes
    named = [NameTest(uri, name) for uri in vocabulary.uris for name in local_names]
    wildcards = [NameTest()] + [NameTest(uri, None) for uri in vocabulary.uris if uri]
    if vocabulary.any_namespace:
        wildcards += [NameTest(None, name) for name in local_names]
    return st.sampled_from(named) | st.sampled_from(named) | st.sampled_from(wildcards)


@cache
def predicates(vocabulary: Vocabulary = PLAIN, *, depth: int) -> st.SearchStrategy[Expr]:
    """Predicates with nested paths, whose own predicates are one level less deep."""
    leaf = conditions(vocabulary, depth=depth)
    shapes = st.sampled_from(("leaf", "leaf", "and", "or", "not"))
    counts = st.integers(2, 3)

    @st.composite
    def predicate(draw: st.DrawFn, inner: st.SearchStrategy[Expr]) -> Expr:
        shape = draw(shapes)
        if shape == "leaf":
            return draw(leaf)
        if shape == "not":
            return Not(draw(inner))
        items = tuple(draw(inner) for _ in range(draw(counts)))
        return And(items) if shape == "and" else Or(items)

    return predicate(predicate(leaf))


@cache
def conditions(vocabulary: Vocabulary, *, depth: int) -> st.SearchStrategy[Expr]:
    """Predicates without ``and``, ``or`` and ``not``."""
    nested = paths(vocabulary, max_steps=2, depth=depth - 1)
    texts = st.sampled_from(vocabulary.texts)
    literals = texts | st.sampled_from(vocabulary.numbers)
    ops = st.sampled_from(Op)
    choices: list[st.SearchStrategy[Expr]] = [
        st.builds(Exists, nested),
        st.builds(Compare, nested, ops, literals),
        st.builds(Contains, nested, texts),
        st.builds(StartsWith, nested, texts),
    ]
    if vocabulary.functions:
        choices += [
            st.builds(Count, nested, ops, st.sampled_from(vocabulary.positions)),
            st.builds(ComparePaths, nested, ops, nested),
            string_tests(vocabulary, nested),
        ]
    if vocabulary.positional:
        positions = st.sampled_from(vocabulary.positions)
        choices += [
            st.builds(Position, ops, positions),
            st.builds(PositionLast, ops),
            st.builds(Last, ops, positions),
        ]
    return st.one_of(choices)


def string_tests(
    vocabulary: Vocabulary, nested: st.SearchStrategy[Path]
) -> st.SearchStrategy[StringTest]:
    """Tests of strings, most of them transformed."""
    texts = st.sampled_from(vocabulary.texts)
    ops = st.sampled_from(Op)
    functions = st.one_of(
        st.just(NormalizeSpace()),
        st.just(LowerCase()),
        st.just(UpperCase()),
        st.builds(Translate, texts, texts),
    )
    with_function = st.one_of(
        st.builds(ComparesWith, ops, texts | st.sampled_from(vocabulary.numbers)),
        st.builds(ContainsText, texts),
        st.builds(StartsWithText, texts),
    )
    dates = st.sampled_from(vocabulary.dates)
    without = st.one_of(
        st.builds(EndsWithText, texts),
        st.builds(
            MatchesPattern, st.sampled_from(vocabulary.patterns), st.sampled_from(("", "i", "ms"))
        ),
        st.builds(HasLength, ops, st.sampled_from(vocabulary.positions)),
        st.builds(IsDate, st.just(DateType.DATE), ops, dates),
    )
    some = st.lists(functions, min_size=1, max_size=2).map(tuple)
    any_number = st.lists(functions, max_size=1).map(tuple)
    return st.builds(StringTest, nested, some, with_function) | st.builds(
        StringTest, nested, any_number, without
    )


@st.composite
def mangled_texts(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """Texts with one piece removed, repeated or replaced; most are not queries."""
    text = draw(texts)
    start = draw(st.integers(0, len(text)))
    end = start + draw(st.integers(0, 3))
    return text[:start] + draw(st.sampled_from((*TOKENS, ""))) + text[end:]


def token_soup() -> st.SearchStrategy[str]:
    """Pieces of queries in any order, with white space here and there."""
    pieces = st.sampled_from(TOKENS) | st.sampled_from((" ", "\t", "\n"))
    return st.lists(pieces, max_size=12).map("".join)


TOKENS = (
    *("a", "b", "p:", "é", "a-b", "a.b", "and", " and ", " or ", "div", " mod ", "*", "*:", "@"),
    *("/", "//", ".", "..", "|", "::", ":", "child::", "self::", "attribute::", "descendant::"),
    *("descendant-or-self::", "parent::", "node()", "text()", "comment()", "[", "]", "(", ")"),
    *("not(", "contains(", "starts-with(", "position()", "last()", "count(", ",", "$", "+", "-"),
    *("ends-with(", "matches(", "string-length(", "normalize-space(", "lower-case(", "translate("),
    *("upper-case(", "xs:date(", "xs:dateTime(", "p:date(", "'2018-01-01'", "'^[a-c]*$'", "'i'"),
    *("=", "!=", "<", "<=", ">", ">=", "!", "'x'", '"y"', "'", '"', "0", "1", "2.50", ".5", "5."),
    *("\x00", "\u0301", "\ufffe", "\U0001f600", "Q{", "}"),
)
"""Tokens of queries, and some others."""
