"""``penstock try``: what a subscription would have matched, before anyone subscribes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.text import Text

from penstock.cli.console import (
    ExitCode,
    error_as_dict,
    note,
    out,
    place_of,
    plural,
    print_json,
    progress,
    show_error,
)
from penstock.cli.results import answer_as_dict, fragment_as_dict, one_line
from penstock.documents import Fragment
from penstock.errors import DocumentError, QueryError
from penstock.matching import Answer, Counters, KeywordIndex, SubscriptionIndex
from penstock.matching.answers import Form
from penstock.mediation import Mapping as SchemaMapping
from penstock.mediation import MediatedMatcher

_ID = "query"


@dataclass(frozen=True, slots=True)
class _Tried:
    """What became of a document."""

    counters: Counters
    errors: Sequence[DocumentError]
    fragments: Sequence[Fragment] = ()
    """What an XPath selects."""
    answers: Sequence[Answer] = ()
    """What keywords are answered by, the best first."""


class Trial(Protocol):
    """A query that is tried."""

    query: str
    found: str
    """What it finds, in a word."""

    def prepare(self) -> str | None:
        """Look at the query; why it can never match, if that is so.

        Raises
        ------
        QueryError
            The query is refused.
        """

    def of(self, path: Path) -> _Tried:
        """Try it on a document."""


class PathTrial:
    """An XPath; with a mapping, on what that makes of the documents."""

    found = "fragment"

    def __init__(
        self,
        query: str,
        namespaces: Mapping[str, str],
        default_namespace: str | None,
        mapping: SchemaMapping | None = None,
    ) -> None:
        self.query = query
        self._namespaces = namespaces
        self._default_namespace = default_namespace
        self._mapping = mapping
        self._index = SubscriptionIndex()

    def prepare(self) -> str | None:
        """Add it, alone, to an index."""
        return self._index.add(
            _ID,
            self.query,
            namespaces=self._namespaces,
            default_namespace=self._default_namespace,
        )

    def of(self, path: Path) -> _Tried:
        """Match with fragments."""
        matcher = self._index.matcher()
        if self._mapping is None:
            matches = matcher.match_file(path, fragments=True)
        else:
            mediated = MediatedMatcher(matcher)
            matches = mediated.match(path.read_bytes(), self._mapping, fragments=True)
        return _Tried(matches.counters, matches.errors, matches.fragments.get(_ID, ()))


class KeywordTrial:
    """Keywords: what is returned of each answer, and how many answers a document."""

    found = "answer"

    def __init__(self, query: str, form: Form, limit: int | None) -> None:
        self.query = query
        self._form: Form = form
        self._limit = limit
        self._index = KeywordIndex()

    def prepare(self) -> str | None:
        """Add them, alone, to an index; words never contradict each other."""
        self._index.add(_ID, self.query)
        return None

    def of(self, path: Path) -> _Tried:
        """Match, and look for the answers where there are any."""
        matcher = self._index.matcher()
        matches = matcher.match_file(path)
        if not len(matches):
            return _Tried(matches.counters, matches.errors)
        try:
            found = matcher.answers(path.read_bytes(), [_ID], form=self._form, limit=self._limit)
        except DocumentError as reason:  # to say where it matches takes more than matching it
            counters = Counters.of_one(matches=0, refused=True, work=matches.counters.work)
            return _Tried(counters, [reason])
        return _Tried(matches.counters, matches.errors, answers=found[_ID])


def run(trial: Trial, documents: Sequence[Path], *, as_json: bool) -> ExitCode:
    """Tries the query on each document, shows what it finds, and tells the rate."""
    try:
        never = trial.prepare()
    except QueryError as error:
        show_error(error, source=trial.query, as_json=as_json)
        return ExitCode.REFUSED
    counters = Counters()
    for path in progress(documents, "trying"):
        tried = trial.of(path)
        counters += tried.counters
        if as_json:
            print_json(_row(path, trial, tried))
        else:
            _show_text(path, trial, tried)
    read = counters.documents - counters.refused
    rate = counters.matched / read if read else 0.0
    if as_json:
        print_json(
            {
                "type": "summary",
                "documents": counters.documents,
                "matched": counters.matched,
                "unmatched": counters.unmatched,
                "refused": counters.refused,
                "rate": rate,
                "never_matches": never,
            }
        )
    else:
        told = f"; {counters.refused} refused" if counters.refused else ""
        note(f"matched {counters.matched} of {plural(read, 'document')} ({rate:.1%}){told}")
        if never is not None:
            note(f"this query never matches: {never}")
    return ExitCode.DONE


def _show_text(path: Path, trial: Trial, tried: _Tried) -> None:
    for error in tried.errors:
        show_error(error, place=place_of(path, error))
    count = len(tried.fragments) + len(tried.answers)
    if not count:
        return
    console = out()
    console.print(f"{path}: {plural(count, trial.found)}", soft_wrap=True)
    for fragment in tried.fragments:
        console.print(Text(f"    {one_line(fragment)}", style="cyan"), soft_wrap=True)
    for answer in tried.answers:
        console.print(Text(f"    {answer}"), soft_wrap=True)
        if answer.fragment is not None:
            line = f"        {one_line(answer.fragment)}"
            console.print(Text(line, style="cyan"), soft_wrap=True)


def _row(path: Path, trial: Trial, tried: _Tried) -> dict[str, Any]:
    row: dict[str, Any] = {
        "type": "document",
        "document": str(path),
        "matched": tried.counters.matched > 0,
    }
    if isinstance(trial, KeywordTrial):
        row["answers"] = [answer_as_dict(each) for each in tried.answers]
    else:
        row["fragments"] = [fragment_as_dict(each) for each in tried.fragments]
    if tried.errors:
        row["error"] = error_as_dict(tried.errors[0])
    return row
