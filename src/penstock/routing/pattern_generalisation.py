"""Least upper bounds of two patterns."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.language import KeywordQuery, Query, generalise, normalise
from penstock.routing.keyword_relations import generalise_keywords
from penstock.routing.patterns import UNIVERSAL, Pattern


def upper_bounds(one: Pattern, two: Pattern) -> Iterator[Pattern]:
    """Patterns that contain both, each as specific as its form allows; at worst ``/*``.

    Two paths have one, two keyword queries have one for each form. Only header tests that both
    require remain.

    Examples
    --------
    >>> one = Pattern.of_path("/news/item[@n = 3]", where={"lang": "en", "desk": "sport"})
    >>> two = Pattern.of_path("/news/flash[@n = 7]", where={"lang": "en"})
    >>> [str(bound) for bound in upper_bounds(one, two)]
    ['/news/*[@n <= 7][@n >= 3] where lang=en']
    """
    where = one.where & two.where
    universal = Pattern(UNIVERSAL.query, where)
    if isinstance(one.query, Query) and isinstance(two.query, Query):
        bound = Pattern(normalise(generalise(one.query, two.query)), where)
        yield bound if bound.is_storable else universal
    elif isinstance(one.query, KeywordQuery) and isinstance(two.query, KeywordQuery):
        queries = list(generalise_keywords(one.query, two.query))
        yield from (Pattern(query, where) for query in queries)
        if not queries:
            yield universal
    else:
        yield universal
