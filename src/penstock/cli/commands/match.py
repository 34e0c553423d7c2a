"""``penstock match``: matches documents against the subscriptions of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.console import (
    error_as_dict,
    note,
    place_of,
    plural,
    print_json,
    print_line,
    progress,
    show_error,
)
from penstock.cli.document_inputs import DocumentInput, document_inputs
from penstock.cli.exit_codes import ExitCode
from penstock.cli.input_files import errors_in, read_mapping
from penstock.cli.mapping_report import EXPLAINS_GLOBAL_DOCUMENT, note_unknown_elements
from penstock.cli.options import (
    EXISTING_FILE,
    DocumentsArgument,
    HeaderOption,
    JsonOption,
    StrictOption,
    header_fields,
)
from penstock.cli.result_format import explanation_as_dict, fragment_as_dict, one_line
from penstock.cli.terminal_text import visible
from penstock.cli.tokenizer_arguments import (
    FoldDiacriticsOption,
    SplitNamesOption,
    UnifyAbbreviationsOption,
    UnifyApostrophesOption,
    chosen_tokenizer,
)
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.cli.subscription_file import Entry, Refused
    from penstock.matching import Counters, Explanation, Matches
    from penstock.mediation import Mapping

FRAGMENTS_OMITTED = "(locating the fragments exceeds a limit of memory or work)"
"""Printed instead of the fragments of a query with ``OR``."""


class Engine(StrEnum):
    """The XPath engines; the same names as :data:`penstock.matching.engine.ENGINES`."""

    SHARED = "shared"
    YFILTER = "yfilter"
    REFERENCE = "reference"


def match(
    subscriptions: Annotated[
        Path, typer.Argument(metavar="SUBSCRIPTIONS", help="A subscription file.", **EXISTING_FILE)
    ],
    documents: DocumentsArgument,
    *,
    fragments: Annotated[
        bool, typer.Option("--fragments", help="Also print the fragments that each query selects.")
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Also explain why this subscription matches or does not match."
        ),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            help="A mapping file; XPath queries are matched against the rewritten documents.",
            **EXISTING_FILE,
        ),
    ] = None,
    header: HeaderOption = None,
    engine: Annotated[
        Engine | None, typer.Option(help="Engine to use instead of the default one.")
    ] = None,
    fold_diacritics: FoldDiacriticsOption = None,
    split_names: SplitNamesOption = None,
    unify_apostrophes: UnifyApostrophesOption = None,
    unify_abbreviations: UnifyAbbreviationsOption = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
) -> None:
    """Match documents against the subscriptions in a file.

    Prints one row per document: its name, the number of matches, and the matching ids in file
    order. Refused documents and subscriptions are reported on stderr and do not stop the others.
    With a mapping, fragments are still taken from the original documents.
    """
    from penstock.cli import subscription_file
    from penstock.cli.never_matching import NeverMatchingCheck
    from penstock.documents.failure_report import PROCESS_EXITS, internal_error
    from penstock.matching import (
        Counters,
        KeywordIndex,
        Matches,
        SubscriptionIndex,
        combine_matchers,
    )
    from penstock.mediation import MediatedMatcher

    chosen = None if mapping is None else read_mapping(mapping, as_json=as_json)
    inputs = document_inputs(documents)
    fields = header_fields(header)
    paths = SubscriptionIndex(engine=engine)
    keywords = KeywordIndex(
        engine=engine if engine == "reference" else None,
        tokenizer=chosen_tokenizer(
            {
                "fold_diacritics": fold_diacritics,
                "split_names": split_names,
                "unify_apostrophes": unify_apostrophes,
                "unify_abbreviations": unify_abbreviations,
            }
        ),
    )
    with errors_in(subscriptions, as_json=as_json):
        entries = list(subscription_file.read(subscriptions))
    order, refused = subscription_file.add_all(paths, keywords, entries)
    report: _TextReport | _JsonReport = (
        _JsonReport(order, chosen) if as_json else _TextReport(order, inputs)
    )
    for refusal in refused:
        report.subscription(refusal, refusal.place(subscriptions))
    check = NeverMatchingCheck()
    for entry in entries:
        if entry.kind == "keywords":
            continue  # keywords can always match
        reason = check.reason(entry.subscription)
        if reason is not None:
            report.never_matches(entry, entry.place(subscriptions), reason)
    if check.skipped and not as_json:
        note(check.skipped_note())
    matcher = paths.matcher()
    if len(keywords):
        matcher = combine_matchers(matcher, keywords.matcher())
    mediated = MediatedMatcher(matcher)
    counters = Counters()
    for each in progress(inputs, "matching"):
        explanation = None
        try:
            if explain is not None:  # before matching, which could not read a pipe again
                explanation = mediated.explain(each.content(), chosen, explain, header=fields)
            if chosen is None:
                matches = each.match(matcher, fragments=fragments, header=fields)
            else:
                content = each.content()
                matches = mediated.match(content, chosen, fragments=fragments, header=fields)
        except (*PROCESS_EXITS, PenstockError, OSError):
            raise
        except BaseException as failure:  # of this document only
            matches = Matches.of_refused(internal_error(failure, each.reported_content()))
        counters += matches.counters
        report.document(each.path, matches, explanation)
    if not (chosen is None or explain is None or explain in keywords or as_json):
        note(EXPLAINS_GLOBAL_DOCUMENT)
    report.summary(counters, len(paths) + len(keywords), len(refused), check.skipped)
    if strict and (refused or counters.refused or report.set_aside):
        raise typer.Exit(ExitCode.INPUT_REFUSED)


def _outcome(matches: Matches) -> str:
    if matches.errors:
        return "refused"
    return "matched" if len(matches) else "unmatched"


class _TextReport:
    """Prints one row per document: name, number of matches, ids."""

    def __init__(self, order: dict[str, int], inputs: Sequence[DocumentInput]) -> None:
        self.set_aside = 0
        self._order = order
        self._name_width = max(len(visible(str(each))) for each in inputs)

    def subscription(self, refused: Refused, place: str) -> None:
        show_error(refused.reason, place=place, source=refused.entry.subscription.query)

    def never_matches(self, entry: Entry, place: str, reason: str) -> None:
        note(f"note: {place}: {entry.subscription.id} never matches: {reason}")

    def document(self, path: Path, matches: Matches, explanation: Explanation | None) -> None:
        for error in matches.errors:
            self._row(path, "refused", (error.code, "red"))
            show_error(error, place=place_of(path, error))
        ids = sorted(matches.ids, key=self._order.__getitem__)
        if not matches.errors:
            self._row(path, str(len(ids)), ", ".join(ids))
        note_unknown_elements(path, matches.counters.work.unknown)
        if matches.work_error is not None:
            self.set_aside += len(matches.set_aside)
            show_error(matches.work_error, place=str(path))
        if matches.fragments or matches.without_fragments:
            for id_ in ids:
                if id_ in matches.without_fragments:
                    print_line(f"    {id_}: {FRAGMENTS_OMITTED}")
                for fragment in matches.fragments.get(id_, ()):
                    print_line(f"    {id_}: ", (one_line(fragment.to_xml()), "cyan"))
        if explanation is not None:
            for line in str(explanation).splitlines():
                print_line(f"    {line}")

    def _row(self, path: Path, count: str, rest: str | tuple[str, str]) -> None:
        name = f"{visible(str(path)):<{self._name_width}}"
        if rest:
            print_line(f"{name}  {count:>7}  ", rest)
        else:
            print_line(f"{name}  {count:>7}")

    def summary(
        self, counters: Counters, subscriptions: int, refused: int, _unchecked: int
    ) -> None:
        note(
            f"{plural(counters.documents, 'document')}: {counters.matched:,} matched,"
            f" {counters.unmatched:,} unmatched, {counters.refused:,} refused;"
            f" {plural(counters.matches, 'match', 'matches')}"
            f" of {plural(subscriptions, 'subscription')}"
            + (f" ({refused:,} refused)" if refused else "")
        )


class _JsonReport:
    """Prints JSON Lines: refused subscriptions, then documents, then the summary."""

    def __init__(self, order: dict[str, int], mapping: Mapping | None) -> None:
        self.set_aside = 0
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

    def never_matches(self, entry: Entry, place: str, reason: str) -> None:
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
        if matches.fragments or matches.without_fragments:
            row["fragments"] = {
                id_: [fragment_as_dict(fragment) for fragment in matches.fragments[id_]]
                for id_ in row["ids"]
                if id_ in matches.fragments
            }
        if matches.without_fragments:
            row["without_fragments"] = sorted(matches.without_fragments)
        if self._mapping is not None:
            row["unknown_elements"] = matches.counters.work.unknown
        if matches.work_error is not None:
            self.set_aside += len(matches.set_aside)
            row["set_aside"] = sorted(matches.set_aside, key=self._order.__getitem__)
            row["work_error"] = error_as_dict(matches.work_error)
        if matches.errors:
            row["error"] = error_as_dict(matches.errors[0])
        if explanation is not None:
            row["explanation"] = explanation_as_dict(explanation)
        print_json(row)

    def summary(self, counters: Counters, subscriptions: int, refused: int, unchecked: int) -> None:
        print_json(
            {
                "type": "summary",
                **asdict(counters),
                "subscriptions": subscriptions,
                "subscriptions_refused": refused,
                **({"subscriptions_unchecked": unchecked} if unchecked else {}),
                **({} if self._mapping is None else {"mapping": self._mapping.digest}),
            }
        )
