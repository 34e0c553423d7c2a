"""Subscription files: lines of ``id<TAB>query`` with directives, or JSON Lines.

docs/reference/subscription-files.md describes both formats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import QueryError, Where, error
from penstock.language import Subscription, why_never
from penstock.matching import SubscriptionIndex


@dataclass(frozen=True, slots=True)
class Entry:
    """A subscription, and where in its file it stands."""

    subscription: Subscription
    line: int
    column: int
    """Where the query begins."""

    def place(self, path: Path, inside: int = 0) -> str:
        """``file:line:column``, so many characters into the query."""
        return f"{path}:{self.line}:{self.column + inside}"


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that the index would not take."""

    entry: Entry
    reason: QueryError

    def place(self, path: Path) -> str:
        """``file:line:column`` of the character at fault."""
        inside = self.reason.where.column - 1 if self.reason.where is not None else 0
        return self.entry.place(path, inside)


def read(path: Path) -> Iterator[Entry]:
    """Every subscription of a file.

    Raises
    ------
    SubscriptionFileError
        A line is neither a subscription nor a directive, or the file is not UTF-8.
    """
    parse = _json_lines if path.suffix == ".jsonl" else _text_lines
    return parse(_lines(path))


def add_all(
    index: SubscriptionIndex, entries: Iterable[Entry]
) -> tuple[dict[str, int], list[Refused]]:
    """Adds what the index takes; gives the order of the ids in the file, and what was refused."""
    order: dict[str, int] = {}
    refused: list[Refused] = []
    groups: dict[object, list[Entry]] = {}
    for entry in entries:
        subscription = entry.subscription
        if subscription.id in order:
            reason = error("subscription.duplicate", f"the id `{subscription.id}` stands twice")
            assert isinstance(reason, QueryError)
            refused.append(Refused(entry, reason))
            continue
        order[subscription.id] = len(order)
        # What shares its namespaces is added at once.
        context = frozenset(subscription.namespaces.items()), subscription.default_namespace
        groups.setdefault(context, []).append(entry)
    for group in groups.values():
        errors = index.add_many(
            [entry.subscription.id for entry in group],
            [entry.subscription.query for entry in group],
            namespaces=group[0].subscription.namespaces,
            default_namespace=group[0].subscription.default_namespace,
        )
        refused += [
            Refused(entry, errors[entry.subscription.id])
            for entry in group
            if entry.subscription.id in errors
        ]
    return order, sorted(refused, key=lambda each: each.entry.line)


def never_matching(entries: Iterable[Entry]) -> Iterator[tuple[Entry, str]]:
    """The subscriptions that contradict themselves, each with the reason."""
    for entry in entries:
        try:
            reason = why_never(entry.subscription.parsed)
        except QueryError:
            continue  # refused, which is told elsewhere
        if reason is not None:
            yield entry, reason


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines without their ends; only line feeds end a line."""
    with path.open("rb") as file:
        offset = 0
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as fault:
                column = len(line[: fault.start].decode("utf-8")) + 1
                raise error(
                    "subscription-file.encoding",
                    "these bytes are not UTF-8",
                    Where(offset + fault.start, number, column),
                ) from fault
            offset += len(line)
            yield number, text.rstrip("\r\n")


def _text_lines(lines: Iterator[tuple[int, str]]) -> Iterator[Entry]:
    namespaces: dict[str, str] = {}
    default_namespace: str | None = None
    for number, line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("@"):
            word, _, rest = line.partition(" ")
            if word == "@default-namespace":
                default_namespace = rest.strip() or None
            else:
                namespaces = {**namespaces, **_binding(word, rest, number)}
            continue
        id_, tab, query = line.partition("\t")
        if not tab or not id_.strip() or not query.strip():
            raise error(
                "subscription-file.line",
                "this line is no `id<TAB>query`",
                Where(0, number, len(id_) + 1 if id_.strip() else 1),
            )
        subscription = Subscription(
            id_.strip(),
            query.strip(),
            namespaces=namespaces,
            default_namespace=default_namespace,
        )
        yield Entry(subscription, number, len(line) - len(query.lstrip()) + 1)


def _binding(word: str, rest: str, number: int) -> dict[str, str]:
    prefix, equals, uri = (part.strip() for part in rest.partition("="))
    if word == "@namespace" and prefix and equals and uri:
        return {prefix: uri}
    raise error(
        "subscription-file.directive",
        f"`{word}` is no directive" if word != "@namespace" else "this binds no prefix",
        Where(0, number, 1),
    )


def _json_lines(lines: Iterator[tuple[int, str]]) -> Iterator[Entry]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as fault:
            raise error(
                "subscription-file.not-json", fault.msg, Where(0, number, fault.colno)
            ) from fault
        yield _json_row(row, number)


def _json_row(row: object, number: int) -> Entry:
    if not isinstance(row, dict):
        raise _bad_row("this line is no JSON object", number)
    unknown = set(row) - {"id", "query", "namespaces", "default_namespace"}
    if unknown:
        raise _bad_row(f"there is no key `{min(unknown)}` in a subscription", number)
    id_, query = row.get("id"), row.get("query")
    if not isinstance(id_, str) or not isinstance(query, str):
        raise _bad_row("`id` and `query` must be there, and strings", number)
    namespaces = row.get("namespaces", {})
    if not isinstance(namespaces, dict) or not all(
        isinstance(uri, str) for uri in namespaces.values()
    ):
        raise _bad_row("`namespaces` must be an object of strings", number)
    default = row.get("default_namespace")
    if default is not None and not isinstance(default, str):
        raise _bad_row("`default_namespace` must be a string", number)
    subscription = Subscription(id_, query, namespaces=namespaces, default_namespace=default)
    return Entry(subscription, number, 1)


def _bad_row(message: str, number: int) -> Exception:
    return error("subscription-file.line", message, Where(0, number, 1))
