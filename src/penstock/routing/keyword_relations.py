"""Relations between keyword queries: containment and common generalisations.

A document matches an ``AND`` query if it contains all keywords, an ``OR`` query if it contains one.
A document that contains a phrase contains each shorter phrase and each word in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.language import KeywordQuery
from penstock.language.keywords.query import PHRASE_SEPARATOR, Mode
from penstock.language.limits import KEYWORDS_MAX


def implies_keyword(strong: str, weak: str) -> bool:
    """Whether each document that contains one keyword contains the other.

    Examples
    --------
    >>> implies_keyword("storm surge warning", "surge warning"), implies_keyword("storms", "storm")
    (True, False)
    """
    separator = PHRASE_SEPARATOR
    return strong == weak or f"{separator}{weak}{separator}" in f"{separator}{strong}{separator}"


def contains_keywords(p: KeywordQuery, q: KeywordQuery) -> bool:
    """Whether each document that matches ``q`` matches ``p``; exact.

    Examples
    --------
    >>> from penstock.language import parse_keywords
    >>> contains_keywords(parse_keywords("storm"), parse_keywords('"storm surge" coast'))
    True
    >>> contains_keywords(parse_keywords("storm OR gale"), parse_keywords("storm coast"))
    True
    >>> contains_keywords(parse_keywords("storm coast"), parse_keywords("storm"))
    False
    """
    # p is a conjunction of clauses of alternatives; q is a disjunction of sets of facts.
    clauses = [p.keywords] if p.mode is Mode.ANY else [(word,) for word in p.keywords]
    cases = [(word,) for word in q.keywords] if q.mode is Mode.ANY else [q.keywords]
    return all(
        any(implies_keyword(fact, word) for fact in facts for word in clause)
        for facts in cases
        for clause in clauses
    )


def minimise_keywords(query: KeywordQuery) -> KeywordQuery:
    """The query without keywords that others make redundant.

    Examples
    --------
    >>> from penstock.language import parse_keywords
    >>> str(minimise_keywords(parse_keywords('storm "storm surge"')))
    '"storm surge"'
    >>> str(minimise_keywords(parse_keywords('storm OR "storm surge"')))
    'storm'
    """
    weakest = query.mode is Mode.ANY
    kept = [
        word
        for word in query.keywords
        if not any(
            other != word
            and (implies_keyword(word, other) if weakest else implies_keyword(other, word))
            for other in query.keywords
        )
    ]
    return _query(kept, query.mode)


def generalise_keywords(p: KeywordQuery, q: KeywordQuery) -> Iterator[KeywordQuery]:
    """Queries that contain both: the common words of two ``AND``, and unions as ``OR``.

    For the union, an ``AND`` is replaced by one of its keywords, the longest, because long words
    are rare.

    Examples
    --------
    >>> from penstock.language import parse_keywords
    >>> def generalised(p, q):
    ...     return [str(g) for g in generalise_keywords(parse_keywords(p), parse_keywords(q))]
    >>> generalised("storm coast", "coast harbour")
    ['coast', 'harbour OR storm']
    >>> generalised("storm OR gale", "gale OR flood")
    ['flood OR gale OR storm']
    """
    if p.mode is q.mode is Mode.ALL:
        common = {
            shared for one in p.keywords for two in q.keywords for shared in _common_part(one, two)
        }
        if common:
            yield minimise_keywords(_query(common, Mode.ALL))
    union = {*_alternatives(p), *_alternatives(q)}
    if len(union) <= KEYWORDS_MAX:
        yield minimise_keywords(_query(union, Mode.ANY))


def _alternatives(query: KeywordQuery) -> tuple[str, ...]:
    if query.mode is Mode.ANY:
        return query.keywords
    return (max(query.keywords, key=lambda word: (len(word), word)),)


def _common_part(one: str, two: str) -> Iterator[str]:
    """The shorter keyword if the longer one contains it, else the words that both have."""
    if implies_keyword(one, two):
        yield two
    elif implies_keyword(two, one):
        yield one
    else:
        yield from set(one.split(PHRASE_SEPARATOR)) & set(two.split(PHRASE_SEPARATOR))


def _query(words: Iterable[str], mode: Mode) -> KeywordQuery:
    distinct = tuple(sorted(set(words)))
    return KeywordQuery(distinct, mode if len(distinct) > 1 else Mode.ALL)
