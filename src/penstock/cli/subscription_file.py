"""Subscription files: lines of ``id<TAB>query`` with directives, or JSON Lines.

A query is XPath or, where the file says so, keywords.

docs/reference/subscription-files.md describes both formats.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from penstock.errors import QueryError, SubscriptionFileError, Where, error
from penstock.language import Subscription, why_never
from penstock.matching import KeywordIndex, SubscriptionIndex
from penstock.workspace.query_indexes import KINDS, Kind


@dataclass(frozen=True, slots=True)
class Entry:
    """A subscription, and where in its file it stands."""

    subscription: Subscription
    kind: Kind
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


Refuse: TypeAlias = Callable[[SubscriptionFileError], None]
"""Told of a line that is no subscription; where it returns, the next line is read."""


def stop(reason: SubscriptionFileError) -> None:
    """Refuses a file for its first bad line."""
    raise reason


def read(path: Path, refuse: Refuse = stop) -> Iterator[Entry]:
    """Every subscription of a file.

    Raises
    ------
    SubscriptionFileError
        A line is neither a subscription nor a directive, or not UTF-8, and ``refuse`` raises it.
    """
    lines = numbered_lines(path, refuse)
    if path.suffix == ".jsonl":
        return _of_each(json_objects(lines, refuse), _json_row, refuse)
    return _of_each(lines, _TextLines().entry, refuse)


def add_all(
    paths: SubscriptionIndex, keywords: KeywordIndex, entries: Iterable[Entry]
) -> tuple[dict[str, int], list[Refused]]:
    """Adds what the indexes take; gives the order of the ids in the file, and what was refused."""
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
        namespaces = frozenset(subscription.namespaces.items())
        context = entry.kind, namespaces, subscription.default_namespace
        groups.setdefault(context, []).append(entry)
    for group in groups.values():
        ids = [entry.subscription.id for entry in group]
        queries = [entry.subscription.query for entry in group]
        if group[0].kind == "keywords":
            errors = keywords.add_many(ids, queries)
        else:
            errors = paths.add_many(
                ids,
                queries,
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
    """The subscriptions that contradict themselves, each with the reason; keywords never do."""
    for entry in entries:
        if entry.kind == "keywords":
            continue
        try:
            reason = why_never(entry.subscription.parsed)
        except QueryError:
            continue  # refused, which is told elsewhere
        if reason is not None:
            yield entry, reason


def numbered_lines(path: Path, refuse: Refuse = stop) -> Iterator[tuple[int, str]]:
    """Numbered lines without their ends; only line feeds end a line."""
    with path.open("rb") as file:
        offset = 0
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as fault:
                column = len(line[: fault.start].decode("utf-8")) + 1
                where = Where(offset + fault.start, number, column)
                refuse(refusal("subscription-file.encoding", "these bytes are not UTF-8", where))
                text = ""
            offset += len(line)
            yield number, text.rstrip("\r\n")


def refusal(code: str, message: str, where: Where) -> SubscriptionFileError:
    """The error of a line."""
    made = error(code, message, where)
    assert isinstance(made, SubscriptionFileError)
    return made


T = TypeVar("T")


def _of_each(
    lines: Iterable[tuple[int, T]], entry_of: Callable[[T, int], Entry | None], refuse: Refuse
) -> Iterator[Entry]:
    for number, line in lines:
        try:
            entry = entry_of(line, number)
        except SubscriptionFileError as reason:
            refuse(reason)
            continue
        if entry is not None:
            yield entry


class _TextLines:
    """Reads line by line; directives hold for the lines after them."""

    def __init__(self) -> None:
        self._namespaces: dict[str, str] = {}
        self._default_namespace: str | None = None
        self._kind: Kind = "xpath"

    def entry(self, line: str, number: int) -> Entry | None:
        """The subscription of a line; ``None`` where it is a comment, a directive or empty."""
        if not line.strip() or line.startswith("#"):
            return None
        if line.startswith("@"):
            self._direct(line, number)
            return None
        id_, tab, query = line.partition("\t")
        if not tab or not id_.strip() or not query.strip():
            where = Where(0, number, len(id_) + 1 if id_.strip() else 1)
            raise refusal("subscription-file.line", "this line is no `id<TAB>query`", where)
        has_names = self._kind == "xpath"
        subscription = Subscription(
            id_.strip(),
            query.strip(),
            namespaces=self._namespaces if has_names else {},
            default_namespace=self._default_namespace if has_names else None,
        )
        return Entry(subscription, self._kind, number, len(line) - len(query.lstrip()) + 1)

    def _direct(self, line: str, number: int) -> None:
        word, _, rest = line.partition(" ")
        if word == "@default-namespace":
            self._default_namespace = rest.strip() or None
        elif word == "@kind":
            self._kind = _kind(rest.strip(), number)
        else:
            self._namespaces = {**self._namespaces, **_binding(word, rest, number)}


def _kind(word: str, number: int) -> Kind:
    for kind in KINDS:
        if word == kind:
            return kind
    message = f"`{word}` is no kind of subscription"
    raise error("subscription-file.directive", message, Where(0, number, 1))


def _binding(word: str, rest: str, number: int) -> dict[str, str]:
    prefix, equals, uri = (part.strip() for part in rest.partition("="))
    if word == "@namespace" and prefix and equals and uri:
        return {prefix: uri}
    raise error(
        "subscription-file.directive",
        f"`{word}` is no directive" if word != "@namespace" else "this binds no prefix",
        Where(0, number, 1),
    )


def json_objects(
    lines: Iterable[tuple[int, str]], refuse: Refuse
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The object on each line that is not empty."""
    for number, line in lines:
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as fault:
            where = Where(0, number, fault.colno)
            refuse(refusal("subscription-file.not-json", fault.msg, where))
            continue
        if not isinstance(row, dict):
            refuse(bad_row("this line is no JSON object", number))
            continue
        yield number, row


def _json_row(row: dict[str, Any], number: int) -> Entry:
    unknown = set(row) - {"id", "kind", "query", "namespaces", "default_namespace"}
    if unknown:
        raise bad_row(f"there is no key `{min(unknown)}` in a subscription", number)
    kind = kind_of(row, number)
    id_, query = row.get("id"), row.get("query")
    if not isinstance(id_, str) or not isinstance(query, str):
        raise bad_row("`id` and `query` must be there, and strings", number)
    namespaces = row.get("namespaces", {})
    if not isinstance(namespaces, dict) or not all(
        isinstance(uri, str) for uri in namespaces.values()
    ):
        raise bad_row("`namespaces` must be an object of strings", number)
    default = row.get("default_namespace")
    if default is not None and not isinstance(default, str):
        raise bad_row("`default_namespace` must be a string", number)
    subscription = Subscription(id_, query, namespaces=namespaces, default_namespace=default)
    return Entry(subscription, kind, number, 1)


def kind_of(row: Mapping[str, Any], number: int) -> Kind:
    """The kind of an object's query; namespaces are for XPath alone."""
    for kind in KINDS:
        if row.get("kind", "xpath") == kind:
            if kind == "keywords" and (row.get("namespaces") or row.get("default_namespace")):
                raise bad_row("keywords are of no namespace, and this names some", number)
            return kind
    raise bad_row("`kind` must be `xpath` or `keywords`", number)


def bad_row(message: str, number: int) -> SubscriptionFileError:
    """The error of a line of the wrong shape."""
    return refusal("subscription-file.line", message, Where(0, number, 1))
