"""``penstock subscribe``, ``unsubscribe``, ``pause`` and ``resume``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.cli.console import ExitCode, note, out, place_of, plural, print_json, show_error
from penstock.cli.subscription_rows import as_dict
from penstock.errors import QueryError, SchemaError
from penstock.language import why_never
from penstock.schema import SchemaGraph
from penstock.workspace import StoredSubscription, Workspace


def subscribe(
    folder: Path, wanted: StoredSubscription, *, dtd: Path | None, as_json: bool
) -> ExitCode:
    """Adds a subscription, prints its id, and says so where it can never match."""
    schema = None
    if dtd is not None:
        try:
            schema = SchemaGraph.from_dtd_file(dtd)
        except SchemaError as error:
            show_error(error, place=place_of(dtd, error), as_json=as_json)
            return ExitCode.REFUSED
    with Workspace.open(folder) as workspace:
        try:
            stored = workspace.subscriptions.add(wanted)
        except QueryError as error:
            show_error(error, source=wanted.query, as_json=as_json)
            if not as_json and wanted.kind == "xpath" and _looks_like_words(wanted.query):
                note("for words in place of an XPath: penstock subscribe NAME --keywords WORDS")
            return ExitCode.REFUSED
    never = None
    if stored.kind == "xpath":  # keywords contradict nothing, and a DTD says nothing of words
        never = why_never(stored.subscription.parsed, schema)
    if as_json:
        print_json({**as_dict(stored), "never_matches": never})
        return ExitCode.DONE
    out().print(stored.id)
    if never is not None:
        note(f"note: this subscription never matches: {never}")
    return ExitCode.DONE


def _looks_like_words(query: str) -> bool:
    """Whether someone meant keywords: there is nothing of a path in it."""
    return len(query.split()) > 1 and not set(query) & set("/@[*|")


def unsubscribe(folder: Path, ids: Sequence[str], *, as_json: bool) -> ExitCode:
    """Removes subscriptions, all or none."""
    with Workspace.open(folder) as workspace:
        workspace.subscriptions.remove(ids)
    return _told(ids, "removed", as_json=as_json)


def set_paused(folder: Path, ids: Sequence[str], *, paused: bool, as_json: bool) -> ExitCode:
    """Pauses or resumes subscriptions, all or none."""
    with Workspace.open(folder) as workspace:
        workspace.subscriptions.set_paused(ids, paused)
    return _told(ids, "paused" if paused else "resumed", as_json=as_json)


def _told(ids: Sequence[str], what: str, *, as_json: bool) -> ExitCode:
    if as_json:
        print_json({what: list(ids)})
    else:
        note(f"{plural(len(ids), 'subscription')} {what}")
    return ExitCode.DONE
