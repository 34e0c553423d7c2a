"""Adapter of the native keyword engines: converts between tuples and Penstock's types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Final, TypeAlias

from penstock.documents import Context, Fragment, Limits, Span
from penstock.errors import DocumentError, QueryError
from penstock.language.keywords.query import Mode, parse_keywords, spelled
from penstock.language.keywords.tokenizer_options import TokenizerOptions
from penstock.matching.answers import Answer, Form, KeywordWitnesses, merge_spans
from penstock.matching.engine import OR_TOO_LARGE, Buffer
from penstock.matching.header_tests import HeaderFields
from penstock.matching.limits import WITNESSES_MAX
from penstock.matching.line_numbers import Lines
from penstock.matching.native_base import (
    NativeIndexBase,
    NativeSnapshotMatcher,
    Refusal,
    context_of,
    document_error,
    loaded_index,
    query_errors,
    refuse_header_tests,
    summary_of,
)
from penstock.matching.path_returns import PathReturns
from penstock.matching.results import Explanation, Witness
from penstock.native import native

if TYPE_CHECKING:
    from penstock._native import KeywordIndex, KeywordMatcher

DEFAULT_KEYWORD_ENGINE: Final = "postings"

_Span: TypeAlias = tuple[int, int, bool]
_Keyword: TypeAlias = tuple[str, int, Sequence[tuple[int, str, _Span]]]
_Answer: TypeAlias = tuple[
    int,
    str,
    int,
    _Span,
    Sequence[tuple[str, str]],
    Sequence[_Keyword],
    Sequence[_Span],
    int,
    bool,
]


class NativeKeywordIndex(NativeIndexBase):
    """Keyword subscriptions stored by the native core."""

    _index: KeywordIndex

    def __init__(self, index: KeywordIndex) -> None:
        self._index = index
        self.options = TokenizerOptions.of_flags(index.options())

    @classmethod
    def empty(cls, options: TokenizerOptions) -> NativeKeywordIndex:
        """An index without subscriptions."""
        return cls(native.KeywordIndex(options.flags()))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> NativeKeywordIndex:
        """Map a saved index into memory."""
        return cls(loaded_index(path, native.KeywordIndex.load(path)))

    @classmethod
    def from_bytes(cls, content: bytes) -> NativeKeywordIndex:
        """The index in the content of an index file."""
        return cls(loaded_index("a pickled index", native.KeywordIndex.from_bytes(content)))

    def add_many(
        self, ids: Sequence[str], queries: Sequence[str], where: Sequence[HeaderFields] = ()
    ) -> Mapping[int, QueryError]:
        """Add all valid queries; returns the errors of the others by position."""
        tests = [list(each.items()) for each in where]
        return query_errors(queries, self._index.add_many(list(ids), list(queries), tests))

    def matcher(self, engine: str, limits: Limits, *, discard: bool) -> NativeKeywordMatcher:
        """Create a matcher of the current subscriptions."""
        core = self._index.matcher(engine, limits.by_name(), discard)
        if engine != DEFAULT_KEYWORD_ENGINE:
            refuse_header_tests(engine, core)
        is_baseline = engine != DEFAULT_KEYWORD_ENGINE
        return NativeKeywordMatcher(core, limits, self.options, is_baseline=is_baseline)


class NativeKeywordMatcher(NativeSnapshotMatcher):
    """A matcher of keyword subscriptions in the native core."""

    core: KeywordMatcher

    def __init__(
        self,
        matcher: KeywordMatcher,
        limits: Limits,
        options: TokenizerOptions,
        *,
        is_baseline: bool,
    ) -> None:
        self.core = matcher
        self.limits = limits
        self._options = options
        self.is_baseline = is_baseline

    def baseline_answers(self, document: Buffer) -> Mapping[str, tuple[int, ...]]:
        """All answers that a baseline engine finds: element numbers by subscription, ascending."""
        numbers, refusal = self.core.baseline_answers(document)
        _raise(refusal)
        return numbers

    def engine_counters(self) -> Mapping[str, int]:
        """Counters of the engine by name, accumulated over all documents."""
        return self.core.counters()

    def answers(
        self, document: Buffer, subscriptions: Sequence[str], form: Form, limit: int | None
    ) -> Mapping[str, tuple[Answer, ...]]:
        """The best answers of each of these existing subscriptions, best first."""
        found = self._counted_answers(document, subscriptions, form, limit)
        return {name: answers for name, (_, answers) in found.items()}

    def _counted_answers(
        self, document: Buffer, subscriptions: Sequence[str], form: Form, limit: int | None
    ) -> Mapping[str, tuple[int, tuple[Answer, ...]]]:
        """The number of answers of each subscription, and the best of them."""
        found, summary, refusal = self.core.answers(document, list(subscriptions), limit)
        _raise(refusal)
        assert summary is not None, "neither a summary nor a refusal"
        context = context_of(document, summary_of(summary))
        converter = _AnswerConverter(document, context, Lines(document, context.encoding), form)
        return {
            name: (count, tuple(map(converter.answer, best)))
            for name, (count, best) in zip(subscriptions, found, strict=True)
        }

    def select(self, document: Buffer, subscriptions: Sequence[str]) -> Mapping[str, PathReturns]:
        """The path returns of these subscriptions in a document known to be well-formed.

        Omits ``OR`` queries if the document is too large to answer them, and queries whose answers
        take too much memory or more than the work budget of the document.
        """
        try:
            return self._path_returns(document, subscriptions)
        except DocumentError as reason:
            if reason.code != OR_TOO_LARGE:
                raise
            others = [name for name in subscriptions if not self._is_any(name)]
            return self._path_returns(document, others) if others else {}

    def _path_returns(
        self, document: Buffer, subscriptions: Sequence[str]
    ) -> Mapping[str, PathReturns]:
        found, summary, refusal = self.core.path_returns(document, list(subscriptions))
        _raise(refusal)
        assert summary is not None, "neither a summary nor a refusal"
        context = context_of(document, summary_of(summary))
        return {
            name: PathReturns(returns, document, context)
            for name, returns in zip(subscriptions, found, strict=True)
            if returns is not None
        }

    def _is_any(self, subscription: str) -> bool:
        text = self.query(subscription)
        return text is not None and parse_keywords(text, self._options).mode is Mode.ANY

    def explain(self, document: Buffer, subscription: str) -> Explanation | None:
        """Explain why the document matches or not; ``None`` for an unknown subscription."""
        text = self.query(subscription)
        if text is None:
            return None
        # A temporary index holds the query under an empty id, and each of its keywords as a query.
        keywords = parse_keywords(text, self._options).keywords
        index = NativeKeywordIndex.empty(self._options)
        index.add_many(["", *keywords], [text, *map(spelled, keywords)])
        alone = index.matcher(DEFAULT_KEYWORD_ENGINE, self.limits, discard=False)
        outcome = alone.match(document)
        if outcome.error is not None:
            return Explanation(subscription, text, error=outcome.error)
        there = set(outcome.handles.ids())
        try:
            count, answers = alone._counted_answers(document, [""], "ids", WITNESSES_MAX)[""]
        except DocumentError as reason:
            return Explanation(subscription, text, error=reason)
        return Explanation(
            subscription,
            text,
            witnesses=tuple(each.place for each in answers),
            witness_count=count,
            answers=answers,
            lacking=tuple(keyword for keyword in keywords if keyword not in there),
        )


@dataclass(frozen=True, slots=True)
class _AnswerConverter:
    """Converts the answers of one document."""

    document: Buffer
    context: Context
    lines: Lines
    form: Form

    def answer(self, raw: _Answer) -> Answer:
        number, path, depth, span, namespaces, keywords, ranges, size, truncated = raw
        return Answer(
            element=number,
            place=self._witness(path, span),
            depth=depth + 1,  # the native core counts ancestors
            size=size,
            witnesses=tuple(
                KeywordWitnesses(
                    word, count, tuple(self._witness(path, span) for _, path, span in first)
                )
                for word, count, first in keywords
            ),
            truncated=truncated,
            fragment=self._fragment(span, ranges, namespaces),
        )

    def _witness(self, path: str, span: _Span) -> Witness:
        place = Span(*span)
        return Witness(path, place, self.lines.at(place.start))

    def _fragment(
        self, span: _Span, ranges: Sequence[_Span], namespaces: Sequence[tuple[str, str]]
    ) -> Fragment | None:
        if self.form == "ids":
            return None
        is_path = self.form == "paths"
        spans = merge_spans(Span(*each) for each in (ranges if is_path else [span]))
        return Fragment(
            "path" if is_path else "element",
            tuple(spans),
            tuple(bytes(self.document[each.start : each.end]) for each in spans),
            tuple(sorted(namespaces)),
            self.context,
        )


def _raise(refusal: Refusal | None) -> None:
    if refusal is not None:
        raise document_error(refusal)
