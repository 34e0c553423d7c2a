"""Relations between keyword queries: containment and common generalisations.

A document matches an ``AND`` query if it contains all keywords, an ``OR`` query if it contains one.
A document that contains a phrase contains each shorter phrase and each word in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.language import KeywordQuery
from penstock.language.keywords.query import PHRASE_SEPARATOR, Mode
from penstock.language.limits import KEYWORDS_MAX


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
    # q is a disjunction of sets of facts; each has to imply all of p's keywords, or any.
    implications = set(_implications(q.keywords, p.keywords))
    if q.mode is p.mode is Mode.ANY:
        return len({fact for fact, _ in implications}) == len(q.keywords)
    if q.mode is Mode.ANY:
        return len(implications) == len(q.keywords) * len(p.keywords)
    implied = {keyword for _, keyword in implications}
    return bool(implied) if p.mode is Mode.ANY else len(implied) == len(p.keywords)


def _implications(facts: Iterable[str], keywords: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The keywords in each document that contains a fact: itself, and parts of the phrase.

    Each part of a fact is looked up: pairs of facts and keywords can be a million.
    """
    wanted = set(keywords)
    lengths = {each.count(PHRASE_SEPARATOR) + 1 for each in wanted}
    for fact in facts:
        if fact in wanted:
            yield fact, fact
        words = fact.split(PHRASE_SEPARATOR)
        for length in lengths:
            for start in range(len(words) - length + 1 if length < len(words) else 0):
                part = PHRASE_SEPARATOR.join(words[start : start + length])
                if part in wanted:
                    yield fact, part


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
    redundant = {
        fact if weakest else keyword
        for fact, keyword in _implications(query.keywords, query.keywords)
        if fact != keyword
    }
    return _query(set(query.keywords) - redundant, query.mode)


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
        # Words that two phrases share are parts of the common phrase, if there is one.
        common = _words(p) & _words(q)
        common |= {keyword for _, keyword in _implications(p.keywords, q.keywords)}
        common |= {keyword for _, keyword in _implications(q.keywords, p.keywords)}
        if common:
            yield minimise_keywords(_query(common, Mode.ALL))
    union = {*_alternatives(p), *_alternatives(q)}
    if len(union) <= KEYWORDS_MAX:
        yield minimise_keywords(_query(union, Mode.ANY))


def _alternatives(query: KeywordQuery) -> tuple[str, ...]:
    if query.mode is Mode.ANY:
        return query.keywords
    return (max(query.keywords, key=lambda word: (len(word), word)),)


def _words(query: KeywordQuery) -> set[str]:
    return {word for keyword in query.keywords for word in keyword.split(PHRASE_SEPARATOR)}


def _query(words: Iterable[str], mode: Mode) -> KeywordQuery:
    distinct = tuple(sorted(set(words)))
    return KeywordQuery(distinct, mode if len(distinct) > 1 else Mode.ALL)
