"""Update statements: parsing, printing, the Python API, errors with positions."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import QueryError, UpdateError, Where
from penstock.language.limits import MAX_QUERY_CHARACTERS
from penstock.language.updates import (
    Function,
    PlainPath,
    Statement,
    UpdatePath,
    at,
    parse_statement,
    parse_subscription,
    statement_text,
    without_methods,
)
from penstock.language.updates.ast import (
    AllOf,
    AnyChild,
    AnyOf,
    Axis,
    Comparison,
    Condition,
    Contains,
    Content,
    Exists,
    Group,
    Index,
    Name,
    Negation,
    NodeStep,
)
from penstock.language.xpath.ast import Op
from penstock.language.xpath.parsing import parse

OF_THE_PAPER = [
    "*/Restaurant!insert(Name)",
    '*/Restaurant!insert(Entree/Name/"Black bean soup")',
    '*/Restaurant/Entree[1]!insert(@Note/"Sunday Only")',
    "Restaurant[1]!insertBefore(Cafe)",
    "Restaurant/Name!delete()",
    "*!delete()",
    "Restaurant/Entree!copy(//(Restaurant/Entree)[0]/*)",
    "Restaurant/Entree/Price!moveAfter(../Rating)",
    '*/Restaurant/Entree[1]/Name/*!update("Onion soup")',
    '*/Restaurant!update("Cafe")',
    'd/e/f!update("g")',
    "a/b[0]!insertAfter(c)",
]


@pytest.mark.parametrize("text", OF_THE_PAPER)
def test_statements_of_the_paper_parse_and_print(text: str) -> None:
    assert statement_text(parse_statement(text)) == text


def test_a_grouped_path_is_one_step() -> None:
    copy = parse_statement("a!copy(//(Restaurant/Entree)[0]/*)")
    group = UpdatePath(
        (
            NodeStep(Axis.CHILD, Name("", "", "Restaurant")),
            NodeStep(Axis.CHILD, Name("", "", "Entree")),
        )
    )
    assert copy.argument == UpdatePath(
        (Group(Axis.DESCENDANT, group, (Index(0),)), NodeStep(Axis.CHILD, AnyChild())),
        is_absolute=True,
    )


def test_names_carry_namespaces() -> None:
    statement = parse_statement(
        "/a/p:b!insert(c/@p:d/'x')", namespaces={"p": "urn:p"}, default_namespace="urn:q"
    )
    assert statement.path.steps[1] == NodeStep(Axis.CHILD, Name("p", "urn:p", "b"))
    assert statement.argument == PlainPath((Name("", "urn:q", "c"),), Name("p", "urn:p", "d"), "x")


def test_conditions() -> None:
    text = "//Item[Brand = 'XYZ' and not(@old) or contains(., 'a')][Price < -1.5]!delete()"
    step = parse_statement(text).path.steps[0]
    brand = UpdatePath((NodeStep(Axis.CHILD, Name("", "", "Brand")),))
    old = UpdatePath((NodeStep(Axis.CHILD, Name("", "", "old"), is_attribute=True),))
    own = UpdatePath((NodeStep(Axis.CHILD, Content.SELF),))
    price = UpdatePath((NodeStep(Axis.CHILD, Name("", "", "Price")),))
    assert step.filters == (
        AnyOf(
            (
                AllOf((Comparison(brand, Op.EQ, "XYZ"), Negation(Exists(old)))),
                Contains(own, "a", False),
            )
        ),
        Comparison(price, Op.LT, -1.5),
    )


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("", "update.syntax", 1),
        ("/a/b", "update.syntax", 5),
        ("/a!", "update.function", 4),
        ("/a!remove()", "update.function", 4),
        ("/a!delete", "update.syntax", 10),
        ("/a!delete(b)", "update.syntax", 11),
        ("/a!delete() b", "update.syntax", 13),
        ("/a!insert()", "update.argument", 11),
        ("/a!insert(b[1])", "update.syntax", 12),
        ("/a!insert(@b/c)", "update.argument", 14),
        ("/a!update(b)", "update.argument", 11),
        ("/a!update('b)", "update.argument", 11),
        ("/a[!delete()", "update.syntax", 4),
        ("/a[1!delete()", "update.syntax", 5),
        ("/a[b <]!delete()", "update.syntax", 7),
        ("/@a/b!delete()", "update.path", 5),
        ("/a/(/b)!delete()", "update.path", 5),
        ("/p:a!delete()", "update.prefix", 2),
        ("/a\x00!delete()", "update.syntax", 3),
        ("/a" * 600 + "!delete()", "update.limit", 1026),
        ("/(" * 40 + "a!delete()", "update.limit", 67),
        ("/a!update('" + "x" * 70_000 + "')", "update.limit", 65_537),
        ("/a" + "[0]" * 600 + "!delete()", "update.limit", 1540),
    ],
)
def test_errors_have_positions(text: str, code: str, column: int) -> None:
    with pytest.raises(UpdateError) as refused:
        parse_statement(text)
    assert (refused.value.code, refused.value.where and refused.value.where.column) == (
        code,
        column,
    )
    assert refused.value.hint


def test_the_python_api_makes_the_same_statements() -> None:
    menu = at("/Menu/p:Entree[1]", namespaces={"p": "urn:p"}, default_namespace="urn:q")
    made = {
        "/Menu/p:Entree[1]!insert(Name/'Soup')": menu.insert("Name", text="Soup"),
        "/Menu/p:Entree[1]!insert(@p:n)": menu.insert(attribute="p:n"),
        "/Menu/p:Entree[1]!insertBefore(p:a/b)": menu.insert_before("p:a", "b"),
        "/Menu/p:Entree[1]!insertAfter('t')": menu.insert_after(text="t"),
        "/Menu/p:Entree[1]!delete()": menu.delete(),
        "/Menu/p:Entree[1]!copy(//a)": menu.copy("//a"),
        "/Menu/p:Entree[1]!copyBefore(b)": menu.copy_before("b"),
        "/Menu/p:Entree[1]!copyAfter(../p:c)": menu.copy_after("../p:c"),
        "/Menu/p:Entree[1]!move(//a)": menu.move("//a"),
        "/Menu/p:Entree[1]!moveBefore(b)": menu.move_before("b"),
        "/Menu/p:Entree[1]!moveAfter(@c)": menu.move_after("@c"),
        "/Menu/p:Entree[1]!update('x')": menu.update("x"),
    }
    for text, statement in made.items():
        parsed = parse_statement(text, namespaces={"p": "urn:p"}, default_namespace="urn:q")
        assert statement == parsed


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: at("/a").insert(), "update.argument"),
        (lambda: at("/a").insert("b c"), "update.argument"),
        (lambda: at("/a").insert("p:b"), "update.prefix"),
        (lambda: at("/a").update("\x00"), "update.argument"),
        (lambda: statement_text(at("/a").update("\"'")), "update.value"),
        (lambda: at("/a[").delete(), "update.syntax"),
    ],
)
def test_the_python_api_refuses(make: object, code: str) -> None:
    assert callable(make)
    with pytest.raises(UpdateError) as refused:
        make()
    assert refused.value.code == code


def test_method_invocations_of_subscriptions_are_ignored() -> None:
    assert parse_subscription("//Item/Price!max()") == parse("//Item/Price")
    assert without_methods("//a ! count( ) !x()\n") == "//a"
    assert without_methods("//a[b != 'c!count()']") == "//a[b != 'c!count()']"


@pytest.mark.parametrize(
    ("subscription", "query"),
    [
        ("//a!count() | //b!max()", "//a | //b"),
        ("//a[b!count() = 1]", "//a[b]"),
        ("//a[ b ! count ( ) >= -1.5 and c!max()]/d!min()", "//a[b and c]/d"),
        ("//a[b!value() = 'x!y()'][c = '!z()']", "//a[b][c = '!z()']"),
        ('//a[b!text() != "]"] | //c', "//a[b] | //c"),
        ("//a[b!=1]", "//a[b != 1]"),
        ("//a[1 <= b/c!count() and 'x' = d]", "//a[b/c and 'x' = d]"),
        ("//a['!y()' = b!max()]", "//a[b]"),
        ("//a[b!count()!max() < .5 or c]", "//a[b or c]"),
        ("//a[1 = b and c!count() > 2]", "//a[1 = b and c]"),
        ("//a[1 = b or 2 = c!count()]", "//a[1 = b or c]"),
        ("//and[or!count() = 1 or and!max()]", "//and[or or and]"),
        ("//a[(b!count()) = 2]", "//a[b]"),
        ("//a[(- 2) < ((b!count()))]", "//a[b]"),
        ("//a[(b | c)!count() = 2]", "//a[b | c]"),
        ("//a[b[c!count() = 2]/text()!value() = 'x']", "//a[b[c]/text()]"),
        ("//a[not(b!count() = 0) and count(c) > 1]", "//a[not(b) and count(c) > 1]"),
        ("//a[@k!value() = 'x' and . = 2]", "//a[@k and . = 2]"),
    ],
)
def test_methods_are_ignored_wherever_they_are(subscription: str, query: str) -> None:
    assert parse_subscription(subscription) == parse(query)


def test_positions_in_subscriptions_with_methods_are_those_of_the_text() -> None:
    with pytest.raises(QueryError) as refused:
        parse_subscription("//a!count()\n | //b!max()/[")
    assert refused.value.where == Where(25, 2, 14)


@pytest.mark.parametrize(
    ("subscription", "offset"),
    [
        ("//a[b!count() = c!count()]", 5),
        ("//a[b = c!count()]", 9),
        ("//a[(b!count()) = c]", 6),
        ("//a[b!count() = count(c)]", 5),
        ("//a[b!count() = 1 = 2]", 5),
        ("//a[b!max()/c = 2]", 5),
        ("//a[b | c!count() = 2]", 9),
        ("//a[(b!count() | c) = 2]", 6),
        ("//a[b!value() = -'x']", 5),
        ("//a[1!count()]", 5),
        ("//a[last()!max() = 1]", 10),
    ],
)
def test_methods_that_are_not_compared_with_literals_are_refused(
    subscription: str, offset: int
) -> None:
    assert without_methods(subscription)[offset] == "!"
    with pytest.raises(QueryError) as refused:
        parse_subscription(subscription)
    assert refused.value.where == Where(offset, 1, offset + 1)


@given(st.text("ab/[]()|=<>'\" \n.1-@*:") | st.text(st.characters(exclude_characters="!")))
def test_texts_without_methods_are_unchanged(text: str) -> None:
    assert without_methods(text) == text


@given(st.lists(st.sampled_from([*"ab/[]()|=<>'\" \n.1-@,", "!", "!x()", " and ", "!="])))
def test_positions_in_any_text_stay_the_same(parts: list[str]) -> None:
    text = "".join(parts)
    result = without_methods(text)
    assert all(
        after == before or (after == " " and before != "\n")
        for before, after in zip(text[: len(result)], result, strict=True)
    )


@pytest.mark.parametrize("size", [MAX_QUERY_CHARACTERS, MAX_QUERY_CHARACTERS + 1])
def test_what_is_too_long_for_a_query_keeps_its_methods(size: int) -> None:
    text = "//" + "a" * (size - len("//!count()")) + "!count()"
    if size <= MAX_QUERY_CHARACTERS:
        assert without_methods(text) == text.removesuffix("!count()")
        return
    assert without_methods(text) == text
    with pytest.raises(QueryError) as refused:
        parse_subscription(text)
    assert refused.value.code == "query.limit"


HOSTILE_PARTS = (
    ("1=", " ", "!"),
    ("", "1=", "!"),
    ("1=a", " a", "!"),
    ("a!", " ", "x"),
    ("a!x", " ", "!"),
    ("a!x(", " ", "!"),
    ("", "!", ""),
    ("", "!x() ", ""),
    ("", "a/(", "b!x()"),
    ("a!x()", "(", ""),
    ("", "[b!x()=", "!"),
    ("!", "'", '"'),
    ("", "1.", "!"),
    ("", "a:", "!"),
)
"""The middle part is repeated."""


def test_hostile_subscriptions_are_read_in_bounded_time() -> None:
    script = (
        "from penstock.language.updates import without_methods\n"
        f"for first, middle, last in {HOSTILE_PARTS!r}:\n"
        "    without_methods(first + middle * (16_000 // len(middle)) + last)\n"
    )
    # Takes less than a second. With the cube of the length, it would be hours.
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.parametrize("subscription", ["//a!delete(b)", "//a!", "//a!!b()", "//a[!count()]"])
def test_what_is_no_method_invocation_is_refused(subscription: str) -> None:
    with pytest.raises(QueryError):
        parse_subscription(subscription)


NAMES = st.sampled_from([Name("", "", "a"), Name("", "", "b-c"), Name("p", "urn:p", "d")])
VALUES = st.sampled_from(["", "x", "it's", 'a "b"', "a/b!c()", "é\n"])
NESTED_MAX = 2
"""Paths within conditions and groups of a generated path. Without a bound, most are too large."""


def paths(nested: int) -> st.SearchStrategy[UpdatePath]:
    return st.lists(steps_of(nested), min_size=1, max_size=3).map(_ended).flatmap(_paths)


def conditions(nested: int) -> st.SearchStrategy[Condition]:
    inner = paths(nested - 1)
    exists = st.builds(Exists, inner)
    leaves: st.SearchStrategy[Condition] = st.one_of(
        exists,
        st.builds(Comparison, inner, st.sampled_from(Op), VALUES | st.sampled_from([0.0, -2.5])),
        st.builds(Contains, inner, VALUES, st.booleans()),
    )
    negated = st.builds(Negation, leaves)
    terms = st.lists(exists | negated, min_size=2, max_size=3).map(tuple)
    combined = st.one_of(st.builds(AllOf, terms), st.builds(AnyOf, terms))
    return st.one_of(leaves, negated, combined, st.builds(Negation, combined))


def steps_of(nested: int) -> st.SearchStrategy[NodeStep | Group]:
    index = st.builds(Index, st.integers(-3, 99))
    filters = st.lists(index | conditions(nested) if nested else index, max_size=2).map(tuple)
    steps: list[st.SearchStrategy[NodeStep | Group]] = [
        st.builds(
            NodeStep, st.sampled_from(Axis), NAMES | st.builds(AnyChild), st.booleans(), filters
        ),
        st.builds(NodeStep, st.sampled_from(Axis), st.sampled_from(Content), filters=filters),
    ]
    if nested:
        relative = paths(nested - 1).map(lambda path: _relative(path.steps))
        steps.append(st.builds(Group, st.sampled_from(Axis), relative, filters))
    return st.one_of(steps)


def _ended(steps: list[NodeStep | Group]) -> tuple[NodeStep | Group, ...]:
    """The steps up to the first that ends a path."""
    leaves = (Content.TEXT, Content.COMMENT, Content.INSTRUCTION)
    for number, step in enumerate(steps):
        if isinstance(step, NodeStep) and (step.is_attribute or step.test in leaves):
            return tuple(steps[: number + 1])
    return tuple(steps)


def _relative(steps: tuple[NodeStep | Group, ...]) -> UpdatePath:
    """A relative path: its first step is to children."""
    return UpdatePath((replace(steps[0], axis=Axis.CHILD), *steps[1:]))


def _paths(steps: tuple[NodeStep | Group, ...]) -> st.SearchStrategy[UpdatePath]:
    return st.sampled_from([UpdatePath(steps, is_absolute=True), _relative(steps)])


PATHS = paths(NESTED_MAX)
PLAIN = st.builds(PlainPath, st.lists(NAMES, min_size=1, max_size=3).map(tuple)) | st.builds(
    PlainPath, st.lists(NAMES, max_size=2).map(tuple), st.none() | NAMES, VALUES
)


@st.composite
def statements(draw: st.DrawFn) -> Statement:
    function = draw(st.sampled_from(Function))
    argument: PlainPath | UpdatePath | str | None = None
    if function.takes_plain_path:
        argument = draw(PLAIN)
    elif function.takes_path:
        argument = draw(PATHS)
    elif function is Function.UPDATE:
        argument = draw(VALUES)
    return Statement(draw(PATHS), function, argument)


@given(statements())
def test_printed_statements_parse_to_the_same(statement: Statement) -> None:
    text = statement_text(statement)
    assert parse_statement(text, namespaces={"p": "urn:p"}) == statement
