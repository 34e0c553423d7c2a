"""The matcher of keyword subscriptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from penstock.documents import Document
from penstock.errors import error
from penstock.matching.answers import Answer, Form
from penstock.matching.engine import Buffer, KeywordEngineMatcher
from penstock.matching.matcher import Matcher, bytes_of


class KeywordMatcher(Matcher):
    """A snapshot of a keyword index, made by :meth:`KeywordIndex.matcher`.

    A :class:`Matcher` whose fragments are path returns, and that also returns detailed answers.
    """

    _engine: KeywordEngineMatcher

    def __init__(self, engine: KeywordEngineMatcher, *, description: str = "") -> None:
        super().__init__(engine, description=description)

    def engine_counters(self) -> dict[str, int]:
        """Counters of the engine ``kemb`` by name, accumulated over all documents.

        Sizes of the automaton (states, transitions, rules), elements read, active states (sum and
        peak) and discarded elements. Other engines return no counters.
        """
        return dict(self._engine.engine_counters())

    def answers(
        self,
        document: Buffer | Document,
        ids: Sequence[str] | None = None,
        *,
        form: Form = "paths",
        limit: int | None = None,
    ) -> dict[str, tuple[Answer, ...]]:
        """The answers of subscriptions, the best first.

        Ranked by number of keywords, then by depth, by size of the path return (smaller first) and
        by document order.

        Parameters
        ----------
        document
            The bytes of the document.
        ids
            The subscriptions; defaults to all that match.
        form
            Which part of the document to return: one of :data:`~penstock.matching.answers.Form`.
        limit
            Maximum number of answers per subscription; defaults to all.

        Raises
        ------
        DocumentError
            The document is refused by the reader.
        UnknownSubscriptionError
            The snapshot does not contain the subscription.

        Examples
        --------
        >>> from penstock import KeywordIndex
        >>> index = KeywordIndex()
        >>> index.add("coastguard", "storm coast")
        >>> news = b"<news><item><p>Storm</p><p>sun</p><p>the coast</p></item></news>"
        >>> (answer,) = index.matcher().answers(news)["coastguard"]
        >>> answer.path
        '/news[1]/item[1]'
        >>> answer.fragment.to_xml()
        '<item><p>Storm</p><p>the coast</p></item>'
        """
        if form not in get_args(Form):
            raise ValueError(f"form must be one of {get_args(Form)}, not {form!r}")
        if limit is not None and limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit!r}")
        data = bytes_of(document)
        if ids is None:
            outcome = self._engine.match(data, self._fields(None, document))
            if outcome.error is not None:
                raise outcome.error
            ids = outcome.handles.ids()
        for name in ids:
            if not self._engine.contains(name):
                raise error("subscription.unknown", f"unknown subscription `{name}`")
        return dict(self._engine.answers(data, ids, form, limit))
