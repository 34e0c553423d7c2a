"""More general patterns: least upper bounds of two, and patterns that require less than one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from penstock.language import KeywordQuery, Query, contains, generalise, normalise
from penstock.language.keywords.query import Mode
from penstock.language.xpath.ast import Expr, Kind, Path, Step
from penstock.routing.keyword_relations import generalise_keywords
from penstock.routing.limits import WEAKER_PATTERNS_MAX
from penstock.routing.minimisation import smaller_queries
from penstock.routing.patterns import UNIVERSAL, Pattern
from penstock.routing.vocabulary import predicate_steps


def upper_bounds(one: Pattern, two: Pattern) -> Iterator[Pattern]:
    """Patterns that contain both, each as specific as its form allows; at worst ``/*``.

    Two paths have one, two keyword queries have one for each form. Only header tests that both
    require remain. Predicates with wildcards that neither of two paths has are omitted: they take
    pattern nodes, hardly exclude a document, and are tested at almost every element.

    Examples
    --------
    >>> one = Pattern.of_path("/news/item[@n = 3]", where={"lang": "en", "desk": "sport"})
    >>> two = Pattern.of_path("/news/flash[@n = 7]", where={"lang": "en"})
    >>> [str(bound) for bound in upper_bounds(one, two)]
    ['/news/*[@n <= 7][@n >= 3] where lang=en']
    >>> one = Pattern.of_path("/news/item[line/title]")
    >>> two = Pattern.of_path("/news/item[map/title]")
    >>> [str(bound) for bound in upper_bounds(one, two)]
    ['/news/item']
    """
    where = one.where & two.where
    universal = Pattern(UNIVERSAL.query, where)
    if isinstance(one.query, Query) and isinstance(two.query, Query):
        general = normalise(generalise(one.query, two.query))
        bound = Pattern(_without_new_wildcards(general, (one.query, two.query)), where)
        yield bound if bound.is_storable else universal
    elif isinstance(one.query, KeywordQuery) and isinstance(two.query, KeywordQuery):
        queries = list(generalise_keywords(one.query, two.query))
        yield from (Pattern(query, where) for query in queries)
        if not queries:
            yield universal
    else:
        yield universal


def _without_new_wildcards(bound: Query, parts: Iterable[Query]) -> Query:
    """An upper bound without the predicates that have a wildcard and that no part has."""
    known = {
        predicate
        for part in parts
        for branch in part.branches
        for step in branch.steps
        for predicate in step.predicates
    }

    def is_kept(predicate: Expr) -> bool:
        return predicate in known or not any(map(_is_wildcard, predicate_steps(predicate)))

    branches = tuple(
        Path(
            tuple(
                replace(step, predicates=tuple(filter(is_kept, step.predicates)))
                for step in branch.steps
            )
        )
        for branch in bound.branches
    )
    if branches == bound.branches:
        return bound
    simpler = normalise(Query(branches))
    # A position counts the nodes for which the predicates before it hold.
    return simpler if contains(simpler, bound) else bound


def _is_wildcard(step: Step) -> bool:
    return step.kind is not Kind.TEXT and step.test.local is None


def weaker_patterns(pattern: Pattern) -> Iterator[Pattern]:
    """Patterns that require one thing less: a word, a predicate, or the last step.

    Examples
    --------
    >>> [str(weaker) for weaker in weaker_patterns(Pattern.of_keywords("storm coast flood"))]
    ['flood storm', 'coast storm', 'coast flood']
    >>> [str(weaker) for weaker in weaker_patterns(Pattern.of_path("/news/item[@n = 3]/title"))]
    ['/news/item/title', '/news/item[@n = 3]']
    """
    query = pattern.query
    if isinstance(query, KeywordQuery):
        if query.mode is Mode.ALL and len(query.keywords) > 1:
            for word in query.keywords[:WEAKER_PATTERNS_MAX]:
                kept = tuple(each for each in query.keywords if each != word)
                yield Pattern(KeywordQuery(kept, query.mode), pattern.where)
        return
    for smaller in islice(_smaller_paths(query), WEAKER_PATTERNS_MAX):
        weaker = Pattern(normalise(smaller), pattern.where)
        if weaker.size < pattern.size and weaker.contains(pattern):
            yield weaker


def _smaller_paths(query: Query) -> Iterator[Query]:
    yield from smaller_queries(query)
    for number, path in enumerate(query.branches):
        if len(path.steps) > 1:
            shorter = Path(path.steps[:-1])
            yield replace(
                query, branches=(*query.branches[:number], shorter, *query.branches[number + 1 :])
            )
