"""Vocabulary and value domains: distinct words, kinds by name, skewed frequencies."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from penstock.lab.workload import ValueParameters
from penstock.lab.workload.schema_shape import recursion_groups
from penstock.lab.workload.value_domains import RunningText, ValueKind, Values, kind_of, vocabulary
from penstock.lab.workload.weighted_choice import WeightedChoice, geometric, zipf_weights
from penstock.schema.content_model import Attribute, Default


def test_a_vocabulary_is_distinct_and_a_longer_one_begins_with_a_shorter_one() -> None:
    words = vocabulary(3000)
    assert len(set(words)) == 3000
    assert words[:500] == vocabulary(500)
    assert not any(set(word) & set("<&'\"") for word in words)


def test_running_text_is_zipf_distributed() -> None:
    rnd = Random(1).random
    text = RunningText(1000)
    words = Counter(
        word.strip(".,").lower() for _ in range(300) for word in text.cut(50, rnd).split()
    )
    assert words["the"] > 1.5 * words["of"] > 1.5 * words["and"] > 0
    assert len(words) > 500


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("price", ValueKind.NUMBER),
        ("words-count", ValueKind.NUMBER),
        ("issued", ValueKind.DATE),
        ("bid-date", ValueKind.DATE),
        ("city", ValueKind.WORD),
        ("discounted", ValueKind.WORD),
    ],
)
def test_the_name_determines_the_kind_of_values(name: str, kind: ValueKind) -> None:
    assert kind_of(name) is kind


def test_domains_have_the_requested_size_and_declared_values() -> None:
    values = Values(ValueParameters(count=30, skew=0.0))
    rnd = Random(2).random

    def drawn(attribute: Attribute) -> set[str]:
        domain = values.of_attribute("item", attribute)
        return {domain.draw(rnd) for _ in range(1000)}

    assert len(drawn(Attribute("code", "NMTOKEN", Default.IMPLIED))) == 30
    assert drawn(Attribute("price", "CDATA", Default.IMPLIED)) == {str(n) for n in range(30)}
    assert drawn(Attribute("lang", "enumeration", Default.IMPLIED, None, ("en", "de"))) == {
        "en",
        "de",
    }
    assert drawn(Attribute("version", "CDATA", Default.FIXED, "1")) == {"1"}
    assert drawn(Attribute("code", "CDATA", Default.IMPLIED)) != drawn(
        Attribute("name", "CDATA", Default.IMPLIED)
    )


def test_a_skew_favours_the_first_values() -> None:
    rnd = Random(3).random
    counts = Counter(WeightedChoice("abcd", zipf_weights(4, 1.0))(rnd) for _ in range(10_000))
    shares = [counts[letter] / 10_000 for letter in "abcd"]
    assert shares == pytest.approx([0.48, 0.24, 0.16, 0.12], abs=0.02)


def test_a_geometric_count_has_its_mean() -> None:
    rnd = Random(4).random
    counts = [geometric(1.5, rnd) for _ in range(10_000)]
    assert sum(counts) / 10_000 == pytest.approx(1.5, abs=0.08)
    assert min(counts) == 0
    assert geometric(0.0, rnd) == 0


def test_recursion_groups_are_elements_that_contain_each_other() -> None:
    found = recursion_groups(
        {"a": ["b", "c"], "b": ["c", "d"], "c": ["b"], "d": ["d", "e"], "e": []}
    )
    assert found["a"] == found["e"] == 0
    assert found["b"] == found["c"] != 0
    assert found["d"] not in (0, found["b"])
