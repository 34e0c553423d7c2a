"""Sketches of sample values: bounded, mergeable in any order, with estimated overlap."""

from __future__ import annotations

import pickle
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.documents import read_events
from penstock.errors import SchemaError
from penstock.schema import SampleValues, ValueKind, ValueSketch, sample_values
from penstock.schema.limits import SHAPES_MAX, SKETCH_VALUES_MAX, SKETCH_WORDS_MAX, VALUE_LENGTH_MAX
from support.strategies.xml import documents

FEWER = max(settings().max_examples // 3, 1)
VALUES = st.lists(st.text(st.sampled_from("ab1 -:."), min_size=1, max_size=6))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("12", ValueKind.NUMBER),
        ("-1,234.5", ValueKind.NUMBER),
        ("2026-03-01", ValueKind.DATE),
        ("2026-03-01T10:00:00Z", ValueKind.DATE),
        ("1.3.2026", ValueKind.DATE),
        ("3/1/26", ValueKind.DATE),
        ("10:15", ValueKind.TIME),
        ("9:00am - 10:30 am", ValueKind.TIME),
        ("https://example.org/a?b", ValueKind.ADDRESS),
        ("jo@example.org", ValueKind.ADDRESS),
        ("CS-101", ValueKind.CODE),
        ("Größe", ValueKind.WORD),
        ("Data Structures", ValueKind.PHRASE),
        ("a " * 20, ValueKind.PROSE),
    ],
)
def test_values_have_kinds(value: str, kind: ValueKind) -> None:
    assert ValueSketch.of([value]).kinds == {kind: 1}


def test_values_are_collected_by_node_and_attribute() -> None:
    found = SampleValues.of(read_events(b"<a x='1'>one<b/> two <c> </c><b>3</b></a>"))
    assert {str(place): dict(sketch.kinds) for place, sketch in found.places.items()} == {
        "/a/@x": {ValueKind.NUMBER: 1},
        "/a": {ValueKind.PHRASE: 1},
        "/a/b": {ValueKind.NUMBER: 1},
    }


def test_patterns_and_words_are_counted_within_their_limits() -> None:
    sketch = ValueSketch.of(["9:30am", "10:15am", "Noon"])
    assert sorted(sketch.shapes.values()) == [1, 1, 1]
    assert sum(sketch.words.values()) == 7
    assert sum(ValueSketch.of(["1:30pm", "9:45am"]).shapes.values()) == 2
    assert ValueSketch.of(["1:30pm", "9:45am"]).shapes.keys() <= sketch.shapes.keys()
    many = ValueSketch.of("-" * (n % 11) + f"w{n}" for n in range(5_000))
    assert len(many.shapes) <= SHAPES_MAX
    assert len(many.words) <= SKETCH_WORDS_MAX


def test_case_and_white_space_are_ignored() -> None:
    assert ValueSketch.of(["  New\n york"]).overlap(ValueSketch.of(["new York"])) == 1


def test_long_values_are_truncated() -> None:
    document = f"<a>{'x' * 1000}<b/>{'y' * 1000}</a>".encode()
    (sketch,) = SampleValues.of(read_events(document)).places.values()
    assert sketch.length == VALUE_LENGTH_MAX


def test_overlap_of_full_sketches_is_estimated() -> None:
    numbers = [str(number) for number in range(4000)]
    one, half = ValueSketch.of(numbers), ValueSketch.of(numbers[2000:])
    other, none = ValueSketch.of(numbers[1000:3000]), ValueSketch.of(map(str, range(5000, 9000)))
    assert len(one.hashes) == SKETCH_VALUES_MAX
    assert one.overlap(half) == 1, "all of the smaller set is in the larger"
    assert abs(half.overlap(other) - 0.5) < 0.25
    assert one.overlap(none) == 0
    assert one.count == 4000


def test_too_many_places_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_values, "SAMPLE_PATHS_MAX", 1)
    with pytest.raises(SchemaError, match="more than 1 paths"):
        SampleValues.of(read_events(b"<a>x<b>y</b></a>"))


@given(VALUES, VALUES, st.data())
def test_sketches_merge_as_their_values_do(
    some: list[str], others: list[str], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations([*some, *others]))
    merged = ValueSketch.of(some).merged(ValueSketch.of(others))
    assert merged == ValueSketch.of(shuffled)
    here = {" ".join(value.split()) for value in some}
    there = {" ".join(value.split()) for value in others}
    if here and there:
        wanted = len(here & there) / min(len(here), len(there))
        assert ValueSketch.of(some).overlap(ValueSketch.of(others)) == wanted


@settings(max_examples=FEWER)
@given(st.lists(documents(), max_size=3))
def test_merging_is_the_same_in_any_order_and_grouping(made: list[bytes]) -> None:
    each = [SampleValues.of(read_events(document)) for document in made]
    one_by_one = reduce(SampleValues.merged, each, SampleValues())
    others = each[::-1]
    while len(others) > 1:
        others = [*others[2:], others[0].merged(others[1])]
    grouped = others[0] if others else SampleValues()
    assert grouped == one_by_one
    assert pickle.loads(pickle.dumps(grouped)) == grouped
