"""The parameters of workloads, validated on construction."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from penstock.errors import error


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueParameters:
    """The values of attributes and text-only elements.

    Documents and queries with equal value parameters draw from the same values, so that value
    predicates can match.
    """

    count: int = 200
    """Distinct values of an attribute or element, unless the schema enumerates them."""

    skew: float = 0.8
    """Zipf exponent of their frequencies; 0 is uniform. Numbers are always uniform."""

    def __post_init__(self) -> None:
        _at_least(1, count=self.count)
        _at_least(0, skew=self.skew)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentParameters:
    """Parameters of generated documents."""

    size_min: int = 4 * 1024
    """Minimum size in bytes. A schema with little repetition, or a low ``repeats_max``, can leave a
    document smaller."""

    size_max: int = 40 * 1024
    """Maximum size in bytes. Beyond it, only content that open elements require is added."""

    levels_max: int = 20
    """Maximum number of levels; the root is level 1. Required content may exceed it."""

    repeats_max: int = 10
    """Maximum repeats of a particle marked by ``*`` or ``+``."""

    recursion_max: int = 4
    """Maximum nesting of elements that can contain each other."""

    optional_probability: float = 0.5
    """Probability of an optional element (``?``, and the first of ``*``)."""

    attribute_probability: float = 0.4
    """Probability of an attribute that is not required."""

    value_probability: float = 0.95
    """Probability that a text-only element is not empty."""

    choice_skew: float = 1.0
    """Zipf exponent of alternatives in the order of the schema; 0 is uniform."""

    words_mean: float = 36.0
    """Mean number of words of running text in an element of mixed content, without its inlines."""

    inlines_mean: float = 1.6
    """Mean number of child elements of such an element."""

    inline_decay: float = 0.25
    """Factor by which ``inlines_mean`` falls with each level of nesting."""

    vocabulary_size: int = 5000
    """Number of distinct words of running text, which are Zipf-distributed."""

    values: ValueParameters = field(default_factory=ValueParameters)
    """The values of attributes and text-only elements."""

    def __post_init__(self) -> None:
        _at_least(
            1,
            size_min=self.size_min,
            levels_max=self.levels_max,
            repeats_max=self.repeats_max,
            recursion_max=self.recursion_max,
            vocabulary_size=self.vocabulary_size,
            words_mean=self.words_mean,
        )
        _at_least(self.size_min, size_max=self.size_max)
        _at_least(0, choice_skew=self.choice_skew, inlines_mean=self.inlines_mean)
        _probability(
            optional_probability=self.optional_probability,
            attribute_probability=self.attribute_probability,
            value_probability=self.value_probability,
            inline_decay=self.inline_decay,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateMix:
    """The weights of the kinds of value predicates."""

    attribute_equality: float = 1.0
    """``[@lang = 'en']``"""

    attribute_range: float = 0.0
    """``[@width < 300]``"""

    child_text: float = 0.0
    """``[city = 'mora']``"""

    own_text: float = 0.0
    """``[. = 'mora']``, on a text-only element"""

    def __post_init__(self) -> None:
        _weights(
            predicate_mix=(
                self.attribute_equality,
                self.attribute_range,
                self.child_text,
                self.own_text,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryParameters:
    """Parameters of generated queries, which are random walks from a root of the schema."""

    depth_min: int = 1
    """Minimum number of steps of a query, not counting a final attribute."""

    depth_max: int = 6
    """Maximum number of steps. The depth of a query is uniform in the range, as far as the schema
    is that deep; its walk visits only elements from which that depth can be reached."""

    wildcard_probability: float = 0.1
    """Probability that a step is ``*``."""

    descendant_probability: float = 0.1
    """Probability that a step follows ``//``, independent of ``*``."""

    descendant_skips: bool = True
    """Whether ``//`` skips a level of the walk, if possible; otherwise it replaces ``/``."""

    child_skew: float = 0.0
    """Zipf exponent of the next child in the order of the schema; 0 is uniform. The schemas list
    the most common child first, so queries are broad above 0 and selective below 0."""

    attribute_leaf_probability: float = 0.0
    """Probability that a query selects an attribute of its last element, if it has any."""

    predicate_weights: tuple[float, ...] = (0.5, 0.5)
    """Weights of 0, 1, 2, ... value predicates."""

    predicate_mix: PredicateMix = field(default_factory=PredicateMix)
    """The kinds of the value predicates."""

    nested_path_weights: tuple[float, ...] = (1.0,)
    """Weights of 0, 1, 2, ... nested paths."""

    nested_depth_max: int = 2
    """Maximum number of steps of a nested path; at most ``depth_max``."""

    branching_probability: float = 0.0
    """Probability that a step whose element has children has a further path below it, as a nested
    path: the query is a twig. Independent of ``nested_path_weights``."""

    distinct: bool = True
    """Whether the texts of all queries differ."""

    values: ValueParameters = field(default_factory=ValueParameters)
    """The values in predicates."""

    def __post_init__(self) -> None:
        _at_least(1, depth_min=self.depth_min, nested_depth_max=self.nested_depth_max)
        _at_least(self.depth_min, depth_max=self.depth_max)
        _at_least(self.nested_depth_max, depth_max=self.depth_max)
        _probability(
            wildcard_probability=self.wildcard_probability,
            descendant_probability=self.descendant_probability,
            attribute_leaf_probability=self.attribute_leaf_probability,
            branching_probability=self.branching_probability,
        )
        _finite(child_skew=self.child_skew)
        _weights(
            predicate_weights=self.predicate_weights, nested_path_weights=self.nested_path_weights
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordParameters:
    """Parameters of generated keyword queries."""

    words_min: int = 3
    """Minimum number of words of a query."""

    words_max: int = 10
    """Maximum number of words of a query."""

    any_probability: float = 0.0
    """Probability that a query matches any of its words (OR) rather than all of them (AND)."""

    skew: float = 1.0
    """Zipf exponent of the words of documents, most common first; 0 is uniform. Does not apply to
    the terms of XPath queries, which are all used."""

    def __post_init__(self) -> None:
        _at_least(1, words_min=self.words_min)
        _at_least(self.words_min, words_max=self.words_max)
        _at_least(0, skew=self.skew)
        _probability(any_probability=self.any_probability)


def _at_least(least: float, **values: float) -> None:
    for name, value in values.items():
        if not (value >= least and math.isfinite(value)):
            raise error("lab.parameter", f"{name} must be at least {least}, not {value}")


def _finite(**values: float) -> None:
    for name, value in values.items():
        if not math.isfinite(value):
            raise error("lab.parameter", f"{name} must be a number, not {value}")


def _probability(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise error("lab.parameter", f"{name} must be between 0 and 1, not {value}")


def _weights(**values: tuple[float, ...]) -> None:
    for name, weights in values.items():
        if not all(weight >= 0 for weight in weights) or not 0 < sum(weights) < math.inf:
            raise error("lab.parameter", f"{name} must be non-negative weights with a positive sum")
