"""The one error table: every error has a stable code, a class, a message with position, a hint.

Codes are ``room.cause``. The native core raises by code; :func:`error` turns a code into the
class the table names. Every class is also a builtin's subclass, so that callers who know nothing
of Penstock can still catch sensibly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Where(NamedTuple):
    """A position: byte offset from 0, line and column (in characters) from 1."""

    offset: int
    line: int
    column: int


class PenstockError(Exception):
    """The base of all errors of Penstock."""

    def __init__(self, code: str, message: str, *, where: Where | None = None) -> None:
        super().__init__(code, message, where)
        self.code = code
        self.message = message
        self.where = where

    @property
    def hint(self) -> str:
        """What to do about it."""
        return ERRORS[self.code].hint

    def __str__(self) -> str:
        place = f" at line {self.where.line}, column {self.where.column}" if self.where else ""
        return f"{self.message}{place} [{self.code}]"

    def __reduce__(self) -> tuple[object, ...]:
        # Spark pickles errors; keyword-only arguments need help.
        return (error, (self.code, self.message, self.where))


class DocumentError(PenstockError, ValueError):
    """A document was refused; in a stream it becomes a dead letter."""


class QueryError(PenstockError, ValueError):
    """A query was refused."""


class SchemaError(PenstockError, ValueError):
    """A schema was refused."""


class IndexFileError(PenstockError, ValueError):
    """An index file is damaged, of another kind, or too new."""


class UnknownSubscriptionError(PenstockError, KeyError):
    """No subscription of that id."""

    __str__ = PenstockError.__str__  # KeyError's own would quote the message


class NativeMissingError(PenstockError, ImportError):
    """The native core is required and absent."""


class NativeMissingWarning(RuntimeWarning):
    """The native core is absent, and the references serve."""


@dataclass(frozen=True, slots=True)
class ErrorSpec:
    """One row of the table."""

    cls: type[PenstockError]
    meaning: str
    hint: str


ERRORS: dict[str, ErrorSpec] = {
    "native.missing": ErrorSpec(
        NativeMissingError,
        "the native core is not there and PENSTOCK_REQUIRE_NATIVE is set",
        "Install Rust 1.88 or newer and run `make setup`; `penstock doctor` shows what failed.",
    ),
    # Schemas
    "schema.syntax": ErrorSpec(
        SchemaError,
        "the DTD is not written as XML says",
        "See the position; parameter entities are unfolded before it.",
    ),
    "schema.entity": ErrorSpec(
        SchemaError,
        "an entity is not declared, or contains itself",
        "Declare the entity before it is used, and not in terms of itself.",
    ),
    "schema.external": ErrorSpec(
        SchemaError,
        "an external parameter entity is used",
        "External entities are never loaded: put its declarations into the DTD itself.",
    ),
    "schema.limit": ErrorSpec(
        SchemaError,
        "a named limit on reading DTDs was reached",
        "Pass `limits=DtdLimits(...)` with a higher limit if the DTD is to be trusted.",
    ),
    "schema.duplicate": ErrorSpec(
        SchemaError,
        "an element is declared twice",
        "Keep one of the declarations.",
    ),
    "schema.undeclared": ErrorSpec(
        SchemaError,
        "a content model names an element that is not declared",
        "Declare the element, or leave it out of the content model.",
    ),
    "schema.root": ErrorSpec(
        SchemaError,
        "no element can be the root, or the given root is not declared",
        "Name the elements a document may begin with: `roots=[...]`.",
    ),
    "schema.endless": ErrorSpec(
        SchemaError,
        "an element can never be complete",
        "Make the recursion optional with `?` or `*`.",
    ),
    "schema.namespace": ErrorSpec(
        SchemaError,
        "a prefix has no URI, or two labels name the same element",
        "Pass `namespaces={prefix: uri}` with one prefix for each URI.",
    ),
    "schema.encoding": ErrorSpec(
        SchemaError,
        "the DTD's bytes cannot be decoded",
        "Write DTDs in UTF-8, UTF-16, US-ASCII or ISO-8859-1, and declare which.",
    ),
}


def error(code: str, message: str, where: Where | None = None) -> PenstockError:
    """The error of ``code``, in the class the table names."""
    return ERRORS[code].cls(code, message, where=where)
