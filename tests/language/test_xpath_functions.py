"""Patterns and dates agree with elementpath, an independent implementation of XPath 2.0."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from penstock import SubscriptionIndex
from penstock.errors import QueryError
from penstock.language import parse
from penstock.language.limits import MAX_PATTERN_STATES
from penstock.language.xpath.ast import DateType
from penstock.language.xpath.dates import milliseconds
from penstock.language.xpath.pattern import PatternRefused, pattern_of
from penstock.native import native
from support.fixtures import xpath2_functions as elementpath

ATOMS = (
    *("a", "b", "é", ".", "^", "$", r"\d", r"\D", r"\w", r"\s", r"\S", r"\i", r"\c", r"\p{Lu}"),
    *("[a-c]", "[^a]", "[a-z-[b]]", r"[\d-]", r"[^\p{L}]", r"\.", r"\P{Nd}", "[-a]", "1"),
)


@st.composite
def patterns(draw: st.DrawFn, depth: int = 2) -> str:
    """Patterns that are mostly valid."""
    branches = []
    for _ in range(draw(st.integers(1, 2))):
        branch = ""
        for _ in range(draw(st.integers(0, 3))):
            if depth and draw(st.booleans()):
                atom = "(" + draw(patterns(depth - 1)) + ")"
            else:
                atom = draw(st.sampled_from(ATOMS))
            anchor = atom in "^$"
            quantifiers = ("",) if anchor else ("", "", "*", "+", "?", "{2}", "{1,2}", "{0,}", "*?")
            branch += atom + draw(st.sampled_from(quantifiers))
        branches.append(branch)
    return "|".join(branches)


texts = st.text(st.sampled_from("aAbB1é- \u0663_Z"), max_size=6)


def native_matches(text: str, pattern: str, flags: str) -> bool:
    index = SubscriptionIndex()
    index.add("s", f"/a[matches(., '{pattern}', '{flags}')]")
    return "s" in set(index.matcher().match(f"<a>{text}</a>".encode()))


@given(patterns(), st.sampled_from(("", "i", "s", "is")), texts)
@example("^(a|b{2})+$", "", "abba")
@example("[a-z-[b]]", "i", "B")
def test_patterns_agree_with_elementpath(pattern: str, flags: str, text: str) -> None:
    # Python's `i` also applies to categories and negated sets.
    assume("i" not in flags or not re.search(r"\\[pP]|\[\^|-\[", pattern))
    try:
        expected = elementpath.matches(text, pattern, flags)
    except Exception as unsupported:  # elementpath translates some to what Python refuses
        assume(isinstance(unsupported, AssertionError))
        raise
    assert pattern_of(pattern, flags).matches(text) == expected
    if native is not None:
        assert native_matches(text, pattern, flags) == expected


dates = st.one_of(
    st.dates().map(str),
    st.datetimes().map(lambda each: each.isoformat()),
    st.from_regex(r"[0-9]{4}-[01][0-9]-[0-3][0-9](Z|[+-][01][0-9]:[0-6]0)?", fullmatch=True),
    st.from_regex(
        r"20[0-9]{2}-0[0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,4})?Z?",
        fullmatch=True,
    ),
    st.text("0123456789-T:Z+. ", max_size=12),
)


@given(dates, st.sampled_from(DateType))
@example("2017-12-31T24:00:00", DateType.DATE_TIME)
@example(" 2018-01-01+14:00\n", DateType.DATE)
def test_dates_agree_with_elementpath(text: str, date_type: DateType) -> None:
    function = elementpath.date if date_type is DateType.DATE else elementpath.date_time
    expected = function(text)
    found = milliseconds(date_type, text)
    # elementpath computes some years beyond the range of Python's own dates.
    assume("9999" not in text and "0001" not in text)
    if isinstance(expected, list):
        assert found is None
    else:
        assert found is not None
        assert found == pytest.approx(expected * 1000, abs=1)


@pytest.mark.parametrize(
    "pattern",
    [
        "((a{100}){100}){100}",
        "((((){1000}){1000}){1000}){1000}",
        "(((a?){40}){40}){40}",
        "a{2001}",
        "ab" * MAX_PATTERN_STATES,
        "(" * 40 + ")" * 40,
        "[a-" * 40 + "]" * 40,
    ],
)
def test_a_pattern_cannot_grow_without_limit(pattern: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse(f"a[matches(b, '{pattern}')]")
    assert refused.value.code == "query.limit"
    with pytest.raises(PatternRefused) as again:
        pattern_of(pattern, "")
    assert again.value.code == "query.limit"


@pytest.mark.parametrize("engine", ["shared", "reference"] if native else ["reference"])
def test_a_pattern_that_defeats_backtracking_is_matched_in_time(engine: str) -> None:
    program = f"""
from penstock import SubscriptionIndex
index = SubscriptionIndex(engine={engine!r})
for number, pattern in enumerate(["^(a+)+b$", "(a|a)*(a|a)*c", "^(a?){{30}}a{{30}}b"]):
    index.add(str(number), f"/r[matches(., '{{pattern}}')]")
assert not set(index.matcher().match(b"<r>" + b"a" * 2_000 + b"</r>"))
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
