"""``penstock match``: documents against the subscriptions of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from penstock.cli import subscription_file
from penstock.cli.console import (
    ExitCode,
    error_as_dict,
    note,
    out,
    place_of,
    plural,
    print_json,
    print_table,
    progress,
    show_error,
)
from penstock.cli.mappings import OF_THE_GLOBAL_DOCUMENT, read_mapping, tell_unknown
from penstock.cli.results import explanation_as_dict, fragment_as_dict, one_line
from penstock.cli.subscription_file import Entry, Refused
from penstock.errors import SubscriptionFileError
from penstock.matching import (
    Counters,
    Explanation,
    KeywordIndex,
    Matches,
    SubscriptionIndex,
    combine_matchers,
)
from penstock.mediation import Mapping, MediatedMatcher

FLAGGED_MAX = 1_000
"""Files of up to so many subscriptions are searched for those that can never match: that takes some
hundred microseconds each, too long for a million."""

UNTOLD = "(the document is too large to tell which part of it holds some of these keywords)"
"""In place of fragments, for keywords with ``OR``."""


def run(
    subscriptions: Path,
    documents: Sequence[Path],
    *,
    fragments: bool,
    explain: str | None,
    mapping: Path | None,
    engine: str | None,
    strict: bool,
    as_json: bool,
) -> ExitCode:
    """Matches each document in turn; what is refused is told and does not stop the rest."""
    through = None if mapping is None else read_mapping(mapping, as_json=as_json)
    paths = SubscriptionIndex(engine=engine)
    keywords = KeywordIndex(engine=engine if engine == "reference" else None)
    try:
        given = list(subscription_file.read(subscriptions))
    except SubscriptionFileError as error:
        show_error(error, place=place_of(subscriptions, error), as_json=as_json)
        return ExitCode.REFUSED
    order, refused = subscription_file.add_all(paths, keywords, given)
    show: _Text | _Json = _Json(order, through) if as_json else _Text(order, documents)
    for each in refused:
        show.subscription(each, each.place(subscriptions))
    if len(given) <= FLAGGED_MAX:
        for entry, reason in subscription_file.never_matching(given):
            show.never(entry, entry.place(subscriptions), reason)
    matcher = paths.matcher()
    if len(keywords):
        matcher = combine_matchers(matcher, keywords.matcher())
    mediated = MediatedMatcher(matcher)
    counters = Counters()
    for path in progress(documents, "matching"):
        if through is None:
            matches = matcher.match_file(path, fragments=fragments)
        else:
            matches = mediated.match(path.read_bytes(), through, fragments=fragments)
        counters += matches.counters
        told = None
        if explain is not None:
            told = mediated.explain(path.read_bytes(), through, explain)
        show.document(path, matches, told)
    if not (through is None or explain is None or explain in keywords or as_json):
        note(OF_THE_GLOBAL_DOCUMENT)
    show.summary(counters, len(paths) + len(keywords), len(refused))
    something_refused = bool(refused) or counters.refused > 0
    return ExitCode.REFUSED if strict and something_refused else ExitCode.DONE


def _outcome(matches: Matches) -> str:
    if matches.errors:
        return "refused"
    return "matched" if len(matches) else "unmatched"


class _Text:
    """Rows for people: document, number of matches, ids."""

    def __init__(self, order: dict[str, int], documents: Sequence[Path]) -> None:
        self._order = order
        self._name_width = max(len(str(path)) for path in documents)

    def subscription(self, refused: Refused, place: str) -> None:
        show_error(refused.reason, place=place, source=refused.entry.subscription.query)

    def never(self, entry: Entry, place: str, reason: str) -> None:
        note(f"note: {place}: {entry.subscription.id} never matches: {reason}")

    def document(self, path: Path, matches: Matches, explanation: Explanation | None) -> None:
        for error in matches.errors:
            self._row(path, "refused", Text(error.code, style="red"))
            show_error(error, place=place_of(path, error))
        ids = sorted(matches.ids, key=self._order.__getitem__)
        if not matches.errors:
            self._row(path, str(len(ids)), Text(", ".join(ids)))
        tell_unknown(path, matches.counters.work.unknown)
        console = out()
        for id_ in ids:
            if id_ in matches.untold:
                console.print(f"    {id_}: {UNTOLD}", soft_wrap=True)
            for fragment in matches.fragments.get(id_, ()):
                console.print(
                    Text.assemble(f"    {id_}: ", (one_line(fragment), "cyan")), soft_wrap=True
                )
        if explanation is not None:
            for line in str(explanation).splitlines():
                console.print(f"    {line}", soft_wrap=True)

    def _row(self, path: Path, count: str, rest: Text) -> None:
        # One table a row: rows are shown as documents are matched, and still stand in columns.
        row = Table(box=None, show_header=False, pad_edge=False)
        row.add_column(width=self._name_width, no_wrap=True)
        row.add_column(width=len("refused"), justify="right")
        row.add_column(overflow="fold")
        row.add_row(str(path), count, rest)
        print_table(row)

    def summary(self, counters: Counters, subscriptions: int, refused: int) -> None:
        told = f" ({refused} refused)" if refused else ""
        note(
            f"{plural(counters.documents, 'document')}: {counters.matched} matched,"
            f" {counters.unmatched} unmatched, {counters.refused} refused;"
            f" {plural(counters.matches, 'match', 'matches')}"
            f" of {plural(subscriptions, 'subscription')}{told}"
        )


class _Json:
    """JSON Lines: an object a refused subscription, an object a document, and the summary."""

    def __init__(self, order: dict[str, int], mapping: Mapping | None) -> None:
        self._order = order
        self._mapping = mapping

    def subscription(self, refused: Refused, place: str) -> None:
        print_json(
            {
                "type": "subscription",
                "id": refused.entry.subscription.id,
                "place": place,
                "error": error_as_dict(refused.reason),
            }
        )

    def never(self, entry: Entry, place: str, reason: str) -> None:
        print_json(
            {
                "type": "subscription",
                "id": entry.subscription.id,
                "place": place,
                "never_matches": reason,
            }
        )

    def document(self, path: Path, matches: Matches, explanation: Explanation | None) -> None:
        row: dict[str, Any] = {
            "type": "document",
            "document": str(path),
            "outcome": _outcome(matches),
            "ids": sorted(matches.ids, key=self._order.__getitem__),
        }
        if matches.fragments or matches.untold:
            row["fragments"] = {
                id_: [fragment_as_dict(fragment) for fragment in matches.fragments[id_]]
                for id_ in row["ids"]
                if id_ in matches.fragments
            }
        if matches.untold:
            row["untold"] = sorted(matches.untold)
        if self._mapping is not None:
            row["unknown_elements"] = matches.counters.work.unknown
        if matches.errors:
            row["error"] = error_as_dict(matches.errors[0])
        if explanation is not None:
            row["explanation"] = explanation_as_dict(explanation)
        print_json(row)

    def summary(self, counters: Counters, subscriptions: int, refused: int) -> None:
        print_json(
            {
                "type": "summary",
                **asdict(counters),
                "subscriptions": subscriptions,
                "subscriptions_refused": refused,
                **({} if self._mapping is None else {"mapping": self._mapping.digest}),
            }
        )
