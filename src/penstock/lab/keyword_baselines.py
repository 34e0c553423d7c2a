"""Answers of any keyword engine as element numbers, to compare the baselines with the others."""

from __future__ import annotations

from penstock.documents import Document
from penstock.matching import KeywordMatcher
from penstock.matching.engine import Buffer
from penstock.matching.matcher import bytes_of
from penstock.matching.native_keyword_engine import NativeKeywordMatcher


def answer_elements(
    matcher: KeywordMatcher, document: Buffer | Document
) -> dict[str, tuple[int, ...]]:
    """Find the elements that answer each matching subscription.

    A baseline engine reports the answers that it finds itself, since its detailed answers come from
    the default engine. The other engines return the elements of their detailed answers.

    Returns
    -------
    Element numbers in document order by subscription; the root is 0.
    """
    engine = matcher.engine
    if isinstance(engine, NativeKeywordMatcher) and engine.is_baseline:
        return dict(engine.baseline_answers(bytes_of(document)))
    answers = matcher.answers(document, form="ids")
    return {name: tuple(sorted(each.element for each in found)) for name, found in answers.items()}
