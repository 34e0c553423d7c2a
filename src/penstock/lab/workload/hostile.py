"""Hostile workloads: small documents and sets of subscriptions that cost a matcher the most."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

SUBSCRIPTIONS_MAX = 10_000
"""The largest set of subscriptions of a case."""


@dataclass(frozen=True, slots=True)
class HostileCase:
    """A document with subscriptions that are expensive to match against it."""

    name: str
    document: bytes
    queries: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    """Keyword queries, matched beside the XPath queries."""
    fragments: bool = False
    """Whether the fragments are asked for, too."""


def hostile_cases(*, subscriptions: int = SUBSCRIPTIONS_MAX) -> Iterator[HostileCase]:
    """All cases, each with at most ``subscriptions`` queries."""
    for make in _CASES:
        yield make(subscriptions)


def _document(content: str) -> bytes:
    return content.encode()


def _nested(names: Iterable[str], inner: str = "") -> str:
    """Elements inside each other, the first outermost."""
    listed = list(names)
    opening = "".join(f"<{name}>" for name in listed)
    closing = "".join(f"</{name}>" for name in reversed(listed))
    return opening + inner + closing


def _word(number: int, letters: str, length: int) -> str:
    """The number as a word over the letters."""
    word = ""
    for _ in range(length):
        number, letter = divmod(number, len(letters))
        word += letters[letter]
    return word


def _two_descendants(count: int) -> HostileCase:
    inner = "".join(f'<a k="{at % 37}"/><b k="{at % 41}"/>' for at in range(10))
    document = "<r>" + (_nested("ab" * 40, inner) * 60) + "</r>"
    count = min(count, 1_000)
    return HostileCase(
        "two nested descendants of any element",
        _document(document),
        tuple(f"//*[.//a[@k={at % 37}] and .//b[@k={at}]]" for at in range(count)),
    )


def _distinct_descendants(count: int) -> HostileCase:
    document = "<r>" + _nested((f"n{at % 50}" for at in range(400)), "<x>1</x>") + "</r>"
    return HostileCase(
        "descendants of any element, each query with names of its own",
        _document(document * 1),
        tuple(f"//*[.//n{at % 50}[.//n{at // 50 % 50}]//x = {at % 7}]" for at in range(count)),
    )


def _negations(count: int) -> HostileCase:
    document = "<r>" + _nested("abc" * 60, '<a k="1"/><b k="2"/><c k="3">4</c>' * 20) * 8 + "</r>"
    count = min(count, 1_000)
    return HostileCase(
        "not, or and and",
        _document(document),
        tuple(
            f"//*[not(.//a[@k={at}]) and (.//b[@k={at % 9}] or not(c > {at}))]"
            f"//*[not(b = {at}) or .//c = {at % 5}]"
            for at in range(count)
        ),
    )


def _failing_negations(count: int) -> HostileCase:
    document = "<r>" + _nested("abc" * 60, '<a k="1"/><b k="2"/><c k="3">4</c>' * 20) * 8 + "</r>"
    return HostileCase(
        "not, and none matches",
        _document(document),
        tuple(
            f"//*[not(.//c) or .//a[@k={at + 10}]]//b[not(.//*[@k={at}])][@k={at + 5}]"
            for at in range(count)
        ),
    )


def _mixed_axes(count: int) -> HostileCase:
    def query(number: int) -> str:
        axes = [("/", "//")[number >> bit & 1] for bit in range(8)]
        names = _word(number * 7_919, "abc", 8)
        return "".join(axis + name for axis, name in zip(axes, names, strict=True))

    def tree(depth: int, seed: int) -> str:
        if depth == 0:
            return ""
        name = "abc"[seed % 3]
        below = "".join(tree(depth - 1, seed * 2 + turn + depth) for turn in range(2))
        return f"<{name}>{below}</{name}>"

    return HostileCase(
        "child and descendant steps mixed",
        _document("<a>" + tree(12, 1) + "</a>"),
        tuple("//a" + query(at) for at in range(count)),
    )


def _descendant_only(count: int) -> HostileCase:
    letters = "abcd"
    document = "<r>" + _nested(_word(0x9E3779B97F4A7C15 * 11, letters, 40) * 20) + "</r>"
    return HostileCase(
        "descendant steps only, in one deep path",
        _document(document),
        tuple("//" + "//".join(_word(at * 2_654_435_761, letters, 8)) for at in range(count)),
    )


def _child_conditions(count: int) -> HostileCase:
    count = min(count, 5_000)
    names = (f"k{at}" for at in range(count))
    document = "<r>" + _nested("x" * 300, "".join(f"<k{at}/>" for at in range(500))) + "</r>"
    return HostileCase(
        "two steps with a child of their own",
        _document(document),
        tuple(f"//*[{name}]/*[{name}]" for name in names),
    )


def _child_conditions_met(count: int) -> HostileCase:
    count = min(count, 5_000)
    document = "<r>" + _nested("k" * 900) + "<k/>" * 1_000 + "</r>"
    return HostileCase(
        "two steps with the same child, and a value",
        _document(document),
        tuple(f"//*[k]/*[k][. != '{at}']" for at in range(count)),
    )


def _nested_substrings(count: int) -> HostileCase:
    count = min(count, 1_000)
    document = "<r>" + _nested("d" * 60, "<p>" + "x" * 1_500 + "</p>" * 1) * 10 + "</r>"
    return HostileCase(
        "contains: nested substrings, all present",
        _document(document),
        tuple(f"//*[contains(., '{'x' * (at + 1)}')]" for at in range(count)),
    )


def _substrings_of_first_node(count: int) -> HostileCase:
    text = "".join(_word(at * 40_503, "ab", 12) for at in range(1_000))
    document = "<r>" + _nested("d" * 100, f"<p>{text}</p><p>{text}</p>") + "</r>"
    return HostileCase(
        "contains of a descendant: short substrings",
        _document(document),
        tuple(f"//*[contains(.//p, '{_word(at, 'ab', 13)}')]" for at in range(min(count, 8_192))),
    )


def _prefixes(count: int) -> HostileCase:
    count = min(count, 1_000)
    document = "<r>" + f"<p>{'x' * 1_200}</p>" * 80 + "</r>"
    return HostileCase(
        "starts-with: nested prefixes, all present",
        _document(document),
        tuple(f"//*[starts-with(., '{'x' * (at + 1)}')]" for at in range(count)),
    )


def _thresholds(count: int) -> HostileCase:
    document = "<r>" + "".join(f'<p v="{at + 20_000}">{at}</p>' for at in range(4_000)) + "</r>"
    return HostileCase(
        "numbers: thresholds, all met",
        _document(document),
        tuple(f"//p[@v > {at}]" for at in range(count)),
    )


def _thresholds_deep(count: int) -> HostileCase:
    document = (
        "<r>" + _nested("d" * 200, "".join(f"<p>{at * 11}</p>" for at in range(2_000))) + "</r>"
    )
    return HostileCase(
        "numbers: thresholds on a descendant",
        _document(document),
        tuple(f"//*[.//p > {at}.5]//d[p != {at}]" for at in range(count)),
    )


def _inequalities(count: int) -> HostileCase:
    document = "<r>" + "".join(f'<p v="{at}">t{at}</p>' for at in range(4_000)) + "</r>"
    return HostileCase(
        "texts: all but one differ",
        _document(document),
        tuple(f"/r[p != 't{at}']/p[@v != '{at}'][. != 't{at}']" for at in range(count)),
    )


def _deep_texts(count: int) -> HostileCase:
    count = min(count, 2_000)
    document = "<r>" + _nested("d" * 900, "some text of a paragraph " * 200) + "</r>"
    return HostileCase(
        "equality with the string-value of nested elements",
        _document(document),
        tuple(f'//*[.="{"some text " * 3}{at}"]' for at in range(count)),
    )


def _long_literals(count: int) -> HostileCase:
    count = min(count, 2_000)
    text = "lorem ipsum dolor sit amet " * 300
    document = "<r>" + _nested("d" * 900, text) + "</r>"
    return HostileCase(
        "equality with long literals, many pieces",
        _document(document.replace("dolor", "d&lt;r")),
        tuple(f'//*[.="{text}{at}"]' for at in range(min(count, 100))),
    )


def _one_query(count: int) -> HostileCase:
    del count
    document = "<r>" + _nested("ab" * 300, '<b k="3"/>' * 1_000) + "</r>"
    query = "".join("//*[.//b[@k=3]]" for _ in range(10))
    return HostileCase("one query, ten steps with a descendant", _document(document), (query,))


def _one_query_that_fails(count: int) -> HostileCase:
    del count
    document = "<r>" + _nested("ab" * 300, '<b k="3"/>' * 1_000) + "</r>"
    query = "".join("//*[.//b[@k=3]]" for _ in range(10)) + "/z"
    return HostileCase("one query, ten steps, no match", _document(document), (query,))


def _one_query_verified(count: int) -> HostileCase:
    del count
    document = "<r>" + _nested("ab" * 300, '<b k="3"/>' * 1_000) + "</r>"
    query = "".join("//*[not(.//c)]" for _ in range(10)) + "//*[not(.//a) and not(.//b)]//b"
    return HostileCase("one query, ten steps with a negation", _document(document), (query,))


def _compounds(count: int) -> HostileCase:
    element = "".join(f'<e a="{at % 10}" b="{at % 7}"><c>{at % 13}</c><d/></e>' for at in range(60))
    document = "<r>" + _nested("x" * 20, element) * 10 + "</r>"
    return HostileCase(
        "compound conditions on a nested element",
        _document(document),
        tuple(f"//x[.//e[@a > {at % 100 / 100}][c < {13 + at // 100}]/d]" for at in range(count)),
    )


def _unions(count: int) -> HostileCase:
    document = "<r>" + _nested("abcdefgh" * 12, "<i>1</i>" * 40) * 12 + "</r>"

    def query(number: int) -> str:
        word = _word(number * 2_654_435_761, "abcdefgh", 6)
        return " | ".join(
            f"//{one}[.//{two}]//i[. != {number}]" for one, two in itertools.pairwise(word)
        )

    return HostileCase("unions", _document(document), tuple(query(at) for at in range(count)))


def _disjunctions(count: int) -> HostileCase:
    document = "<r>" + _nested("abcdefgh" * 12, '<i k="1" l="2">1</i>' * 40) * 8 + "</r>"

    def query(number: int) -> str:
        first, second = _word(number, "abcdefgh", 5), _word(number * 31, "abcdefgh", 5)
        return (
            f"//*[.//{first[0]} or {first[1]}][.//i[@k={number % 3}] or @l={number}]"
            f"[{second[0]} or .//{second[1]}[@k={number}] or .//i != {number}]//i"
        )

    return HostileCase("disjunctions", _document(document), tuple(query(at) for at in range(count)))


def _positions(count: int) -> HostileCase:
    document = "<r>" + _nested("a" * 200, "<b><c/></b>" * 1_000) + "</r>"
    return HostileCase(
        "positions",
        _document(document),
        tuple(
            f"//a[{at + 2}]/b[last() - 0 = {at}]//c"
            if at % 2
            else f"//*[position() != {at + 3}]/*[{at + 1_001}]"
            for at in range(count)
        ),
    )


def _last_positions(count: int) -> HostileCase:
    document = "<r>" + "<b><c/><c/></b>" * 4_000 + "</r>"
    return HostileCase(
        "last positions",
        _document(document),
        tuple(
            f"//*[last() > {at + 5_000}]/*[position() != last()][{at + 2}]" for at in range(count)
        ),
    )


def _attributes(count: int) -> HostileCase:
    attributes = " ".join(f'a{at}="{at}"' for at in range(100))
    element = f"<d {attributes}>"
    document = "<r>" + element * 80 + "</d>" * 80 + "</r>"
    return HostileCase(
        "many attributes in nested elements",
        _document(document),
        tuple(
            f"//d[@a{at % 100} != {at}]//d[@a{at * 7 % 100} != {at}]/@a{at * 3 % 100}"
            for at in range(count)
        ),
    )


def _wildcards(count: int) -> HostileCase:
    document = "<r>" + _nested("a" * 900, "<b/>" * 1_000) + "</r>"
    return HostileCase(
        "wildcards and a value",
        _document(document),
        tuple(
            "//*" + "/*" * (at % 60) + "//*" * (at // 60 % 8) + f"[@k={at}]" for at in range(count)
        ),
    )


def _ambiguous_values(count: int) -> HostileCase:
    document = (
        "<r>"
        + '<a k="1">' * 60
        + "".join(f'<a k="{at}"/>' for at in range(3_000))
        + "</a>" * 60
        + "</r>"
    )
    return HostileCase(
        "values of several ancestors",
        _document(document),
        tuple(f"//a[@k != {at}]//a[@k != {at % 99}]//a[@k = {at}]" for at in range(count)),
    )


def _pending(count: int) -> HostileCase:
    document = "<r>" + _nested("a" * 60, "<b>1</b>" * 2_000 + "<c>1</c>") + "</r>"
    return HostileCase(
        "matches that wait for several elements",
        _document(document),
        tuple(
            f"//a[c = {at % 5}][.//b != {at}]//a[b != {at}]//a[c != {at}]/b" for at in range(count)
        ),
    )


def _keywords(count: int) -> HostileCase:
    words = [f"w{at}" for at in range(200)]
    text = " ".join(words)
    document = "<r>" + _nested("abc" * 60, text) * 30 + "</r>"
    return HostileCase(
        "keywords: shared words in nested elements",
        _document(document),
        (),
        keywords=tuple(
            " ".join(words[(at * step) % 200] for step in range(1, 9)) for at in range(count)
        ),
    )


def _keywords_missing(count: int) -> HostileCase:
    words = [f"w{at}" for at in range(200)]
    text = " ".join(words)
    document = "<r>" + _nested("abc" * 60, text) * 30 + "</r>"
    return HostileCase(
        "keywords: all but one word present, mixed with paths",
        _document(document),
        tuple(f"//*[not(.//a = 'w{at}')]/c[. = '{at}']" for at in range(count // 2)),
        keywords=tuple(
            " ".join(words[(at * step) % 200] for step in range(1, 9)) + f" missing{at}"
            for at in range(count // 2)
        ),
    )


def _small_document(count: int) -> HostileCase:
    document = "<r>" + _nested("ab" * 36, '<b k="1">1</b>' * 36) + "</r>"
    return HostileCase(
        "a small document: values of ancestors and descendants",
        _document(document),
        tuple(f"//*[@k != {at}]//*[@k < {at + 1}]//b[. != {at}]" for at in range(count)),
    )


def _small_negations(count: int) -> HostileCase:
    document = "<r>" + _nested("a" * 140) + "</r>"
    return HostileCase(
        "a small document: negations",
        _document(document),
        tuple(f"//*[not(.//c)]//a[not(@k={at})][{at + 500}]" for at in range(count)),
    )


def _nested_negations(count: int) -> HostileCase:
    document = "<r>" + _nested("a" * 990) + "</r>"
    depth = 14
    return HostileCase(
        "negations inside each other",
        _document(document),
        tuple(f"//a[{'not(.//a[' * depth}@k={at}{'])' * depth}]" for at in range(count)),
    )


def _many_predicates(count: int) -> HostileCase:
    count = min(count, 1_000)

    def query(number: int) -> str:
        return "//a" + "".join(f"[not(b{number}x{at})]" for at in range(200)) + "[2]"

    return HostileCase(
        "a small document: many negations in each query",
        _document("<r><a><b/></a></r>"),
        tuple(query(at) for at in range(count)),
    )


def _small_disjunctions(count: int) -> HostileCase:
    document = "<r>" + _nested("ab" * 35, '<b k="1">1</b>' * 35) + "</r>"

    def query(number: int) -> str:
        either = " or ".join(f"(a{number % 17 + at} and .//b != {number + at})" for at in range(5))
        return f"//*[{either}]//b[. != {number}]"

    return HostileCase(
        "a small document: disjunctions of conjunctions",
        _document(document),
        tuple(query(at) for at in range(count)),
    )


def _patterns(count: int) -> HostileCase:
    document = "<r>" + _nested("a" * 20, "xy" * 2_000) + "</r>"
    return HostileCase(
        "patterns with many active states",
        _document(document),
        tuple(
            f"//a[matches(., '[xy]*(x|y){{1,{at % 90 + 2}}}z')][{at + 2}]" for at in range(count)
        ),
    )


def _string_functions(count: int) -> HostileCase:
    document = "<r>" + _nested("ab" * 90, "<b>x y</b>" * 180) + "</r>"
    return HostileCase(
        "string functions of nested elements",
        _document(document),
        tuple(f"//a[string-length(normalize-space(.)) = {at + 20_000}]" for at in range(count)),
    )


def _compared_paths(count: int) -> HostileCase:
    inner = "".join(f"<b>{at}</b><c>{at + 5_000}</c>" for at in range(500))
    document = "<r>" + _nested("a" * 100, inner) + "</r>"
    return HostileCase(
        "comparisons of two paths",
        _document(document),
        tuple(f"//*[.//b = .//c][{at + 2}]" for at in range(count)),
    )


def _common_steps(count: int) -> HostileCase:
    children = "".join(f"<x{at}/>" for at in range(50))
    element = "<a>" + '<c k="1"/>' * 20 + f"<b>{children}</b></a>"
    count = min(count, 1_000)
    return HostileCase(
        "the same negations in the first steps of all queries",
        _document("<r>" + element * 20 + "</r>"),
        tuple(
            f"/r/a[not(.//c[@k=3])]/b[not(.//d) and count(*) > 9]/x{at % 50}[not(y{at})][2]"
            for at in range(count)
        ),
    )


def _common_tests(count: int) -> HostileCase:
    document = "<r>" + "<a><b>1</b><c>2</c></a>" * 40 + f"<a>{'<b>1</b><c>2</c>' * 500}</a></r>"
    count = min(count, 1_000)
    return HostileCase(
        "the same expensive test, in a step of its own for each query",
        _document(document),
        tuple(
            f"/r/a[not(.//b[not(@k)] = .//c) and count(.//text()) > 9][{at + 2}]"
            for at in range(count)
        ),
    )


def _selected_nodes(count: int) -> HostileCase:
    document = "<r>" + "<a/>" * 10_000 + "</r>"
    return HostileCase(
        "fragments: all elements, for each query",
        _document(document),
        tuple(f"//a | //z{at}" for at in range(count)),
        fragments=True,
    )


def _selected_ancestors(count: int) -> HostileCase:
    document = "<r>" + _nested("a" * 900, "x" * 5_000) + "</r>"
    return HostileCase(
        "fragments: nested elements, for each query",
        _document(document),
        tuple(f"//a[not(@k{at})]" for at in range(count)),
        fragments=True,
    )


def _keyword_answers(count: int) -> HostileCase:
    words = [f"w{at}" for at in range(20)]
    document = "<r>" + f"<a>{' '.join(words)}</a>" * 1_500 + "</r>"
    return HostileCase(
        "fragments: keywords with many answers",
        _document(document),
        (),
        keywords=tuple(
            " ".join(words[(at // 20**place + place) % 20] for place in range(4))
            for at in range(count)
        ),
        fragments=True,
    )


def _keyword_alternatives(count: int) -> HostileCase:
    document = "<r>" + "".join(f"<a>w{at % 200}" for at in range(900)) + "</a>" * 900 + "</r>"
    return HostileCase(
        "fragments: keywords with OR in nested elements",
        _document(document),
        (),
        keywords=tuple(
            " OR ".join(f"w{at * step % 200}" for step in range(1, 9)) for at in range(count)
        ),
        fragments=True,
    )


def _distant_keywords(count: int) -> HostileCase:
    words = " ".join(f"y{at}" for at in range(200))
    elements = f"<b>{words}</b>" + "<b>y0</b>" * 1_200
    document = "<r>" + elements + _nested("a" * 900, "<b>x</b>" * 1_000) + "</r>"
    return HostileCase(
        "fragments: keywords that meet far above",
        _document(document),
        (),
        keywords=tuple(f"x OR y{at % 200} OR y{at // 200}" for at in range(count)),
        fragments=True,
    )


def _normalized_space(count: int) -> HostileCase:
    document = "<r>" + "".join(f"<a k=' x{at} '><b>x{at}</b></a>" for at in range(3_000)) + "</r>"
    values = ("normalize-space(.)", "normalize-space(b)", "normalize-space(@k)")
    return HostileCase(
        "equality after normalize-space()",
        _document(document),
        tuple(f"//a[{values[at % 3]} = 'x{at // 3}']" for at in range(count)),
    )


def _equality_after_functions(count: int) -> HostileCase:
    document = "<r>" + "".join(f"<a>X{at}</a>" for at in range(8_000)) + "</r>"
    values = ("lower-case(.)", "translate(., 'X', 'x')", "lower-case(normalize-space(.))")
    return HostileCase(
        "equality after other string functions",
        _document(document),
        tuple(f"//a[{values[at % 3]} = 'x{at}']" for at in range(count)),
    )


def _many_operands(count: int) -> HostileCase:
    document = "<e>" + "".join(f"<c{at}/>" for at in range(9_000)) + "</e>"
    return HostileCase(
        "an element with many children, and conditions on as many",
        _document(document),
        tuple(f"//e[c{at} and d{at} and f{at}]" for at in range(count)),
    )


def _absent_operands(count: int) -> HostileCase:
    return HostileCase(
        "a value that is there, and one of an operand of each query that is not",
        _document("<r>" + "<a k='v'><b>x</b></a>" * 4_000 + "</r>"),
        tuple(
            f"//a[@k = 'v' and @k{at} = 'v']" if at % 2 else f"//a[b = 'x' and c{at} = 'x']"
            for at in range(count)
        ),
    )


def _absent_operands_of_nested(count: int) -> HostileCase:
    return HostileCase(
        "compound conditions with operands of their own",
        _document("<r>" + "<e><b k='1'/></e>" * 5_000 + "</r>"),
        tuple(f"//e[b[@k = '1' and @l{at} = '1']]" for at in range(count)),
    )


def _attribute_patterns(count: int) -> HostileCase:
    document = f"<a k='{'ab' * 5_000}'/>"
    return HostileCase(
        "patterns of a long attribute",
        _document(document),
        tuple(_pattern("/a", "@k", at) for at in range(count)),
    )


def _text_patterns(count: int) -> HostileCase:
    document = f"<a>{'ab' * 2_500}{'é' * 2_500}</a>"
    return HostileCase(
        "patterns of a long text",
        _document(document),
        tuple(_pattern("//a", ".", at) for at in range(count)),
    )


def _pattern(path: str, value: str, number: int) -> str:
    """A test with a pattern of its own, which requires no text that could be looked up."""
    return f"{path}[matches({value}, '\\w*\\w{{{number % 490 + 1}}}[;-=]{{{number // 490 + 1}}}')]"


def _patterns_of_nothing(count: int) -> HostileCase:
    return HostileCase(
        "patterns with many active states, of empty values",
        _document("<r>" + "<a/><b k=''/>" * 7_000 + "</r>"),
        tuple(
            f"//{'b' if at % 2 else 'a'}[matches({'@k' if at % 2 else '.'},"
            f" '([ab]?){{{at % 230 + 100}}}[c-d]{{{at // 230 + 1}}}')]"
            for at in range(count)
        ),
    )


def _translated_text(count: int) -> HostileCase:
    return HostileCase(
        "substrings of a long text after translate()",
        _document(f"<a>{'a&#98;' * 5_000}{'ab cd Ef ' * 6_000}</a>"),
        tuple(f"//a[contains(translate(., 'abc', 'xyz'), 'q{at}')]" for at in range(count)),
    )


def _sigmas(count: int) -> HostileCase:
    functions = "lower-case(upper-case(" * 4 + "." + "))" * 4
    return HostileCase(
        "lower case that depends on what follows",
        _document(f"<a>{'&#931;&#769;' * 2_000}{'αΣ' + chr(0x301) * 10_000}</a>"),
        tuple(
            f"//a[string-length({functions if at % 2 else 'lower-case(.)'}) = {at}]"
            for at in range(count)
        ),
    )


def _folded_text(count: int) -> HostileCase:
    document = _nested("a" * 900, "É" * 20_000 + "é&#201;" * 2_000)
    return HostileCase(
        "substrings of nested elements without regard to case",
        _document(document),
        tuple(f"//a[contains(lower-case(.), 'q{at}')]" for at in range(count)),
    )


def _long_substrings(count: int) -> HostileCase:
    count = min(count, 3_000)
    return HostileCase(
        "contains and starts-with: long nested substrings, all present",
        _document(_nested("a" * 900, "x" * 15_000)),
        tuple(
            f"//a[{('contains', 'starts-with')[at % 2]}(., '{'x' * (at * 4 + 1)}')]"
            for at in range(count)
        ),
    )


def _complements(count: int) -> HostileCase:
    document = "<r>" + "".join(f"<a k='x{at}'>y{at}</a>" for at in range(4_000)) + "</r>"
    tests = (
        "not(@k = 'x{}')",
        "not(. = 'y{}')",
        "not(@k != 'x{}')",
        "not(normalize-space(.) = 'y{}')",
    )
    return HostileCase(
        "negations of comparisons, each with a literal of its own",
        _document(document),
        tuple(f"//a[{tests[at % 4].format(at)}][{at + 2}]" for at in range(count)),
    )


def _counts(count: int) -> HostileCase:
    document = _nested("a" * 100, "<b/>" * 10_000)
    return HostileCase(
        "numbers of descendants",
        _document(document),
        tuple(
            f"//a[count(.//b) = {at + 20_000}]"
            if at % 2
            else f"//a[count(.//a//b) < {at}][{at + 2}]"
            for at in range(count)
        ),
    )


def _dates(count: int) -> HostileCase:
    days = "".join(f"<a>{2_000 + at % 99}-01-{at % 28 + 1:02}</a>" for at in range(4_500))
    return HostileCase(
        "dates",
        _document(f"<r>{days}</r>"),
        tuple(
            f"//a[xs:date(.) {('<', '=', '!=', '>')[at % 4]} xs:date('{1_000 + at % 9_000}-01-01')]"
            for at in range(count)
        ),
    )


def _lengths_of_first_nodes(count: int) -> HostileCase:
    document = _nested("a" * 300, "<b>x</b>" * 8_000)
    return HostileCase(
        "lengths of first nodes",
        _document(f"<r>{document}</r>"),
        tuple(f"//a[string-length(.//b) = {at + 2}]" for at in range(count)),
    )


def _tiny_positions(count: int) -> HostileCase:
    return HostileCase(
        "a document of a few bytes: positions",
        _document("<r><a/></r>"),
        tuple(
            (f"//a[{at + 2}]", f"//a[last() = {at + 2}]", f"//a[not(b{at})][2]")[at % 3]
            for at in range(count)
        ),
    )


def _tiny_unions(count: int) -> HostileCase:
    return HostileCase(
        "a document of a few bytes: unions of positions",
        _document("<a/>"),
        tuple(
            " | ".join(f"//a[{at * 16 + branch + 2}]" for branch in range(16))
            for at in range(count)
        ),
    )


def _tiny_patterns(count: int) -> HostileCase:
    return HostileCase(
        "a document of a few bytes: patterns with many active states",
        _document("<a k=''/>"),
        tuple(
            f"//a[matches({('.', '@k')[at % 2]},"
            f" '([ab]?){{{at % 230 + 100}}}[c-d]{{{at // 230 + 1}}}')]"
            for at in range(count)
        ),
    )


def _cheap(count: int) -> HostileCase:
    document = "<r>" + "".join(f'<p v="{at}"><q>{at % 9}</q></p>' for at in range(4_000)) + "</r>"
    return HostileCase(
        "for comparison: ordinary subscriptions",
        _document(document),
        tuple(f"/r/p[@v = '{at}']/q" for at in range(count)),
    )


_CASES: tuple[Callable[[int], HostileCase], ...] = (
    _two_descendants,
    _distinct_descendants,
    _negations,
    _failing_negations,
    _mixed_axes,
    _descendant_only,
    _child_conditions,
    _child_conditions_met,
    _nested_substrings,
    _substrings_of_first_node,
    _prefixes,
    _thresholds,
    _thresholds_deep,
    _inequalities,
    _deep_texts,
    _long_literals,
    _one_query,
    _one_query_that_fails,
    _one_query_verified,
    _compounds,
    _unions,
    _disjunctions,
    _positions,
    _last_positions,
    _attributes,
    _wildcards,
    _ambiguous_values,
    _pending,
    _small_document,
    _small_negations,
    _nested_negations,
    _many_predicates,
    _small_disjunctions,
    _patterns,
    _string_functions,
    _compared_paths,
    _common_steps,
    _common_tests,
    _normalized_space,
    _equality_after_functions,
    _many_operands,
    _absent_operands,
    _absent_operands_of_nested,
    _attribute_patterns,
    _text_patterns,
    _patterns_of_nothing,
    _translated_text,
    _sigmas,
    _folded_text,
    _long_substrings,
    _complements,
    _counts,
    _dates,
    _lengths_of_first_nodes,
    _tiny_positions,
    _tiny_unions,
    _tiny_patterns,
    _keywords,
    _keywords_missing,
    _selected_nodes,
    _selected_ancestors,
    _keyword_answers,
    _keyword_alternatives,
    _distant_keywords,
    _cheap,
)
