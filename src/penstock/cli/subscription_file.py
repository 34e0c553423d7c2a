"""Reads subscription files: lines of ``id<TAB>query`` with directives, or JSON Lines.

Queries are XPath unless the file declares them to be keywords.
docs/reference/subscription-files.md describes both formats.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from penstock.errors import QueryError, SubscriptionFileError, Where, error
from penstock.language import Subscription
from penstock.language.limits import MAX_NAMESPACES
from penstock.matching import KeywordIndex, SubscriptionIndex
from penstock.matching.query_indexes import QUERY_KINDS, QueryKind


@dataclass(frozen=True, slots=True)
class Entry:
    """A subscription with its position in the file."""

    subscription: Subscription
    kind: QueryKind
    line: int
    column: int
    """Column at which the query begins."""

    where: Mapping[str, str] = field(default_factory=dict)
    """Header fields and the values that the subscription requires."""

    def place(self, path: Path, offset: int = 0) -> str:
        """``file:line:column`` of the character at an offset in the query."""
        return f"{path}:{self.line}:{self.column + offset}"


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that the index refused."""

    entry: Entry
    reason: QueryError

    def place(self, path: Path) -> str:
        """``file:line:column`` of the error."""
        offset = self.reason.where.column - 1 if self.reason.where is not None else 0
        return self.entry.place(path, offset)


LineErrorHandler: TypeAlias = Callable[[SubscriptionFileError], None]
"""Called for each malformed line. If it returns, reading continues with the next line."""


def raise_error(reason: SubscriptionFileError) -> None:
    """Stops at the first malformed line."""
    raise reason


def read(path: Path, on_error: LineErrorHandler = raise_error) -> Iterator[Entry]:
    """Reads the subscriptions of a file.

    Raises
    ------
    SubscriptionFileError
        A line is neither a subscription nor a directive, or not UTF-8, and ``on_error`` raises it.
    """
    lines = numbered_lines(path, on_error)
    if path.suffix == ".jsonl":
        return _entries(json_objects(lines, on_error), _json_entry, on_error)
    return _entries(lines, _TextParser().entry, on_error)


def add_all(
    paths: SubscriptionIndex, keywords: KeywordIndex, entries: Iterable[Entry]
) -> tuple[dict[str, int], list[Refused]]:
    """Adds entries to the indexes; returns the file order of the ids, and the refused entries."""
    order: dict[str, int] = {}
    refused: list[Refused] = []
    groups: dict[object, list[Entry]] = {}
    for entry in entries:
        subscription = entry.subscription
        if subscription.id in order:
            reason = error("subscription.duplicate", f"the id `{subscription.id}` occurs twice")
            assert isinstance(reason, QueryError)
            refused.append(Refused(entry, reason))
            continue
        order[subscription.id] = len(order)
        # Entries with the same namespaces are added in one call.
        namespaces = frozenset(subscription.namespaces.items())
        context = entry.kind, namespaces, subscription.default_namespace
        groups.setdefault(context, []).append(entry)
    for group in groups.values():
        ids = [entry.subscription.id for entry in group]
        queries = [entry.subscription.query for entry in group]
        where = [entry.where for entry in group]
        if group[0].kind == "keywords":
            errors = keywords.add_many(ids, queries, where=where)
        else:
            errors = paths.add_many(
                ids,
                queries,
                namespaces=group[0].subscription.namespaces,
                default_namespace=group[0].subscription.default_namespace,
                where=where,
            )
        refused += [
            Refused(entry, errors[entry.subscription.id])
            for entry in group
            if entry.subscription.id in errors
        ]
    return order, sorted(refused, key=lambda each: each.entry.line)


def numbered_lines(
    path: Path, on_error: LineErrorHandler = raise_error
) -> Iterator[tuple[int, str]]:
    """Yields line numbers and lines; only a line feed ends a line."""
    with path.open("rb") as file:
        offset = 0
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as fault:
                column = len(line[: fault.start].decode("utf-8")) + 1
                where = Where(offset + fault.start, number, column)
                on_error(line_error("subscription-file.encoding", "invalid UTF-8", where))
                text = ""
            offset += len(line)
            yield number, text.rstrip("\r\n")


def line_error(code: str, message: str, where: Where) -> SubscriptionFileError:
    """Creates an error at a position in the file."""
    made = error(code, message, where)
    assert isinstance(made, SubscriptionFileError)
    return made


T = TypeVar("T")


def _entries(
    lines: Iterable[tuple[int, T]],
    parse_line: Callable[[T, int], Entry | None],
    on_error: LineErrorHandler,
) -> Iterator[Entry]:
    for number, line in lines:
        try:
            entry = parse_line(line, number)
        except SubscriptionFileError as reason:
            on_error(reason)
            continue
        if entry is not None:
            yield entry


class _TextParser:
    """Parses the text format; a directive applies to the lines after it."""

    def __init__(self) -> None:
        self._namespaces: dict[str, str] = {}
        self._default_namespace: str | None = None
        self._kind: QueryKind = "xpath"
        self._where: dict[str, str] = {}

    def entry(self, line: str, number: int) -> Entry | None:
        """Parses a line; returns ``None`` for a comment, a directive or an empty line."""
        if not line.strip() or line.startswith("#"):
            return None
        if line.startswith("@"):
            self._apply_directive(line, number)
            return None
        id_, tab, query = line.partition("\t")
        if not tab or not id_.strip() or not query.strip():
            where = Where(0, number, len(id_) + 1 if id_.strip() else 1)
            raise line_error("subscription-file.line", "expected `id<TAB>query`", where)
        has_names = self._kind == "xpath"
        subscription = Subscription(
            id_.strip(),
            query.strip(),
            namespaces=self._namespaces if has_names else {},
            default_namespace=self._default_namespace if has_names else None,
        )
        column = len(line) - len(query.lstrip()) + 1
        return Entry(subscription, self._kind, number, column, self._where)

    def _apply_directive(self, line: str, number: int) -> None:
        word, _, rest = line.partition(" ")
        if word == "@default-namespace":
            self._default_namespace = rest.strip() or None
        elif word == "@kind":
            self._kind = _kind(rest.strip(), number)
        elif word.strip() == "@where":
            name, equals, value = (part.strip() for part in rest.partition("="))
            if rest.strip() and not (name and equals):
                message = "expected `@where FIELD=VALUE`"
                raise error("subscription-file.directive", message, Where(0, number, 1))
            self._where = {**self._where, name: value} if name else {}
        else:
            namespaces = {**self._namespaces, **_binding(word, rest, number)}
            # Each subscription has its own map, so a longer one would cost quadratic time.
            if len(namespaces) > MAX_NAMESPACES:
                message = f"more than {MAX_NAMESPACES} prefixes"
                raise error("subscription-file.directive", message, Where(0, number, 1))
            self._namespaces = namespaces


def _kind(word: str, number: int) -> QueryKind:
    for kind in QUERY_KINDS:
        if word == kind:
            return kind
    message = f"unknown kind of subscription `{word}`"
    raise error("subscription-file.directive", message, Where(0, number, 1))


def _binding(word: str, rest: str, number: int) -> dict[str, str]:
    prefix, equals, uri = (part.strip() for part in rest.partition("="))
    if word == "@namespace" and prefix and equals and uri:
        return {prefix: uri}
    raise error(
        "subscription-file.directive",
        f"unknown directive `{word}`"
        if word != "@namespace"
        else "expected `@namespace PREFIX=URI`",
        Where(0, number, 1),
    )


def json_objects(
    lines: Iterable[tuple[int, str]], on_error: LineErrorHandler
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Parses each non-empty line as a JSON object."""
    for number, line in lines:
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as fault:
            where = Where(0, number, fault.colno)
            on_error(line_error("subscription-file.not-json", fault.msg, where))
            continue
        except (ValueError, RecursionError):
            # A number of thousands of digits, or arrays and objects nested as deeply.
            message = "a number is too long, or values are nested too deeply"
            on_error(line_error("subscription-file.not-json", message, Where(0, number, 1)))
            continue
        if not isinstance(row, dict):
            on_error(bad_row("expected a JSON object", number))
            continue
        yield number, row


def _json_entry(row: dict[str, Any], number: int) -> Entry:
    unknown = set(row) - {"id", "kind", "query", "namespaces", "default_namespace", "where"}
    if unknown:
        raise bad_row(f"unknown key `{min(unknown)}`", number)
    kind = kind_of(row, number)
    id_, query = row.get("id"), row.get("query")
    if not isinstance(id_, str) or not isinstance(query, str):
        raise bad_row("`id` and `query` are required and must be strings", number)
    namespaces = row.get("namespaces", {})
    if not isinstance(namespaces, dict) or not all(
        isinstance(uri, str) for uri in namespaces.values()
    ):
        raise bad_row("`namespaces` must be an object with string values", number)
    default = row.get("default_namespace")
    if default is not None and not isinstance(default, str):
        raise bad_row("`default_namespace` must be a string", number)
    subscription = Subscription(id_, query, namespaces=namespaces, default_namespace=default)
    return Entry(subscription, kind, number, 1, header_tests_of(row, number))


def kind_of(row: Mapping[str, Any], number: int) -> QueryKind:
    """The kind of the query in a row; only XPath queries may have namespaces."""
    for kind in QUERY_KINDS:
        if row.get("kind", "xpath") == kind:
            if kind == "keywords" and (row.get("namespaces") or row.get("default_namespace")):
                raise bad_row("keywords cannot have namespaces", number)
            return kind
    raise bad_row("`kind` must be `xpath` or `keywords`", number)


def header_tests_of(row: Mapping[str, Any], number: int) -> Mapping[str, str]:
    """The header fields and values that the subscription in a row requires."""
    where = row.get("where") or {}
    if not isinstance(where, dict) or not all(isinstance(each, str) for each in where.values()):
        raise bad_row("`where` must map header fields to strings", number)
    return where


def bad_row(message: str, number: int) -> SubscriptionFileError:
    """Creates the error for a line with missing, unknown or malformed values."""
    return line_error("subscription-file.line", message, Where(0, number, 1))
