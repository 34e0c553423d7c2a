"""A set of patterns after any changes is the one of its patterns."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from penstock.routing import Pattern
from penstock.routing.pattern_set import PatternSet

PATTERNS = [Pattern.of_path(f"/a/b{number}") for number in range(60)]

changes = st.tuples(
    st.lists(st.sampled_from(PATTERNS), max_size=3) | st.just(PATTERNS),
    st.lists(st.sampled_from(PATTERNS), max_size=3),
)


@given(st.lists(changes, max_size=12))
def test_changes_give_the_set_of_the_remaining_patterns(
    history: list[tuple[list[Pattern], list[Pattern]]],
) -> None:
    patterns, expected = PatternSet(), dict[bytes, Pattern]()
    for added, removed in history:
        before = patterns.copy()
        patterns.change(added, [each.digest for each in removed])
        previous = dict(expected)
        expected = {d: p for d, p in expected.items() if p not in removed}
        expected |= {each.digest: each for each in added}
        ordered = sorted(expected)
        assert patterns.patterns == tuple(expected[digest] for digest in ordered)
        joined = hashlib.blake2b(b"".join(ordered), digest_size=16)
        assert patterns.digest == joined.hexdigest() == PatternSet(expected.values()).digest
        assert len(patterns) == len(expected)
        assert patterns.size == sum(pattern.size for pattern in expected.values())
        assert before.patterns == tuple(previous[digest] for digest in sorted(previous))
        assert {each.digest for each in patterns.difference(before)} == set(expected) - set(
            previous
        )
