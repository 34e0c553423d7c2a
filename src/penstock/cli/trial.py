"""``penstock try``: what a subscription would have matched, before anyone subscribes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

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
from penstock.cli.results import fragment_as_dict, one_line
from penstock.errors import QueryError
from penstock.matching import Counters, Matches, SubscriptionIndex

_ID = "query"


def run(
    query: str,
    documents: Sequence[Path],
    *,
    namespaces: Mapping[str, str],
    default_namespace: str | None,
    as_json: bool,
) -> ExitCode:
    """Matches the query alone against each document, with fragments, and tells the rate."""
    index = SubscriptionIndex()
    try:
        never = index.add(_ID, query, namespaces=namespaces, default_namespace=default_namespace)
    except QueryError as error:
        show_error(error, source=query, as_json=as_json)
        return ExitCode.REFUSED
    matcher = index.matcher()
    counters = Counters()
    for path in progress(documents, "trying"):
        matches = matcher.match_file(path, fragments=True)
        counters += matches.counters
        (_show_json if as_json else _show_text)(path, matches)
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


def _show_text(path: Path, matches: Matches) -> None:
    for error in matches.errors:
        show_error(error, place=place_of(path, error))
    selected = matches.fragments.get(_ID, ())
    if not selected:
        return
    console = out()
    console.print(f"{path}: {plural(len(selected), 'fragment')}", soft_wrap=True)
    for fragment in selected:
        console.print(Text(f"    {one_line(fragment)}", style="cyan"), soft_wrap=True)


def _show_json(path: Path, matches: Matches) -> None:
    row = {
        "type": "document",
        "document": str(path),
        "matched": len(matches) > 0,
        "fragments": [fragment_as_dict(each) for each in matches.fragments.get(_ID, ())],
    }
    if matches.errors:
        row["error"] = error_as_dict(matches.errors[0])
    print_json(row)
