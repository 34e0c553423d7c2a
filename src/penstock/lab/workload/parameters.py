"""What a workload is made from, in the field's own parameters; each is checked at the door."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from penstock.errors import error


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueParameters:
    """The values of attributes and of elements that hold nothing but text.

    Documents and queries made with equal value parameters draw from the same values, so that value
    predicates can hit.
    """

    count: int = 200
    """Different values of one attribute or element, where the schema does not enumerate them."""

    skew: float = 0.8
    """Zipf exponent of choosing among them; 0 is uniform. Numbers are always uniform."""

    def __post_init__(self) -> None:
        _at_least(1, count=self.count)
        _at_least(0, skew=self.skew)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentParameters:
    """How documents are drawn from a schema."""

    size_min: int = 4 * 1024
    """Least size in bytes. Reached by repeating what the schema lets repeat, so a schema that
    allows little, or a low ``repeats_max``, can leave a document smaller."""

    size_max: int = 40 * 1024
    """Greatest size in bytes. Past it nothing optional is added; only what the elements already
    open still require."""

    levels_max: int = 20
    """Maximum levels; the root is level 1. What the schema requires is made all the same."""

    repeats_max: int = 10
    """Maximum repeats of what a content model marks by ``*`` or ``+``."""

    recursion_max: int = 4
    """How many elements that can contain each other may stand within each other."""

    optional_probability: float = 0.5
    """Probability of an optional element (``?``, and the first of ``*``)."""

    attribute_probability: float = 0.4
    """Probability of an attribute that is not required."""

    value_probability: float = 0.95
    """Probability that an element of text only is not empty."""

    choice_skew: float = 1.0
    """Zipf exponent of choosing alternatives in the schema's order; 0 is uniform."""

    words_mean: float = 36.0
    """Words of running text in an element of mixed content, on average, before its inlines."""

    inlines_mean: float = 1.6
    """Elements within such an element, on average."""

    inline_decay: float = 0.25
    """Factor by which that falls with each level of nesting."""

    vocabulary_size: int = 5000
    """Words of the running text, Zipf distributed."""

    values: ValueParameters = field(default_factory=ValueParameters)
    """The values of attributes and elements."""

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
    """How often each kind of value predicate is chosen, as weights."""

    attribute_equality: float = 1.0
    """``[@lang = 'en']``"""

    attribute_range: float = 0.0
    """``[@width < 300]``"""

    child_text: float = 0.0
    """``[city = 'mora']``"""

    own_text: float = 0.0
    """``[. = 'mora']``, on an element of text only"""

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
    """How queries are drawn from a schema: as random walks from a root."""

    depth_min: int = 1
    """Minimum depth: steps of a query, a final attribute not counted."""

    depth_max: int = 6
    """Maximum depth. The depth of a query is drawn evenly from the range, as far as the schema is
    that deep, and its walk keeps to elements from which that depth can be reached."""

    wildcard_probability: float = 0.1
    """Probability that a step is ``*``."""

    descendant_probability: float = 0.1
    """Probability that a step is led to by ``//``, whether or not it is ``*``."""

    descendant_skips: bool = True
    """Whether ``//`` passes over a level of the walk (where there is one) or stands for ``/``."""

    child_skew: float = 0.0
    """Zipf exponent of choosing the next child in the schema's order; 0 is uniform. The schemas
    name the commonest child first: above 0 queries ask for what is common and match much, below 0
    for what is rare."""

    attribute_leaf_probability: float = 0.0
    """Probability that a query selects an attribute of its last element, where that has any."""

    predicate_weights: tuple[float, ...] = (0.5, 0.5)
    """Weights of having 0, 1, 2, ... value predicates."""

    predicate_mix: PredicateMix = field(default_factory=PredicateMix)
    """Of which kind they are."""

    nested_path_weights: tuple[float, ...] = (1.0,)
    """Weights of having 0, 1, 2, ... nested paths."""

    nested_depth_max: int = 2
    """Steps of a nested path at most; no more than ``depth_max``."""

    distinct: bool = True
    """Whether no two queries are equal, as written."""

    values: ValueParameters = field(default_factory=ValueParameters)
    """What predicates compare with."""

    def __post_init__(self) -> None:
        _at_least(1, depth_min=self.depth_min, nested_depth_max=self.nested_depth_max)
        _at_least(self.depth_min, depth_max=self.depth_max)
        _at_least(self.nested_depth_max, depth_max=self.depth_max)
        _probability(
            wildcard_probability=self.wildcard_probability,
            descendant_probability=self.descendant_probability,
            attribute_leaf_probability=self.attribute_leaf_probability,
        )
        _finite(child_skew=self.child_skew)
        _weights(
            predicate_weights=self.predicate_weights, nested_path_weights=self.nested_path_weights
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordParameters:
    """How keyword queries are drawn."""

    words_min: int = 3
    """Least words of a query."""

    words_max: int = 10
    """Most words of a query."""

    any_probability: float = 0.0
    """Probability that any of the words will do (OR); all are wanted otherwise (AND)."""

    skew: float = 1.0
    """Zipf exponent of choosing among the words of documents, the commonest first; 0 is uniform.
    Words that come from XPath queries are not chosen: all of a query's are taken."""

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
            raise error("lab.parameter", f"{name} must be weights of which one is above 0")
