"""The classes of Penstock's errors, and what the table says of each code.

:mod:`penstock.errors` is their door. Every class is also a builtin's subclass, so that callers
who know nothing of Penstock can still catch sensibly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Where(NamedTuple):
    """A position: offset from 0, line and column (in characters) from 1.

    The offset counts bytes in documents and characters in queries.
    """

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
        # The table is made of these classes, so it comes later.
        from penstock.errors import ERRORS  # noqa: PLC0415

        return ERRORS[self.code].hint

    def __str__(self) -> str:
        place = f" at line {self.where.line}, column {self.where.column}" if self.where else ""
        return f"{self.message}{place} [{self.code}]"

    def __reduce__(self) -> tuple[object, ...]:
        # Spark pickles errors; keyword-only arguments need help.
        return (_again, (type(self), self.code, self.message, self.where))


def _again(cls: type[PenstockError], code: str, message: str, where: Where | None) -> PenstockError:
    return cls(code, message, where=where)


class DocumentError(PenstockError, ValueError):
    """A document was refused; in a stream it becomes a dead letter."""


class QueryError(PenstockError, ValueError):
    """A query was refused."""


class RecordsError(PenstockError, OSError):
    """Files of records cannot be read as they are."""


class SchemaError(PenstockError, ValueError):
    """A schema was refused."""


class MappingError(PenstockError, ValueError):
    """A mapping or a schema matching was refused."""


class WorkloadError(PenstockError, ValueError):
    """A workload cannot be made as asked."""


class PipelineError(PenstockError, ValueError):
    """A pipeline cannot run as asked."""


class PipelineFailure(PenstockError, RuntimeError):  # noqa: N818
    """A pipeline stopped before its end."""


class SubscriptionFileError(PenstockError, ValueError):
    """A subscription file was refused."""


class IndexFileError(PenstockError, ValueError):
    """An index file is damaged, of another kind, or too new."""


class UnknownSubscriptionError(PenstockError, KeyError):
    """No subscription of that id."""

    __str__ = PenstockError.__str__  # KeyError's own would quote the message


class EngineError(PenstockError, ValueError):
    """An engine that there is not, or that this index cannot serve."""


class WorkspaceError(PenstockError, ValueError):
    """A workspace, or something in it, is not as it must be."""


class NativeMissingError(PenstockError, ImportError):
    """The native core is required and absent."""


class MissingPackageError(PenstockError, ImportError):
    """A package is not installed that only some commands need."""


class NativeMissingWarning(RuntimeWarning):
    """The native core is absent, and the references serve."""


@dataclass(frozen=True, slots=True)
class ErrorSpec:
    """One row of the table."""

    cls: type[PenstockError]
    meaning: str
    hint: str


# People import them from the package, and tracebacks should say the same.
for _each in [each for each in globals().values() if isinstance(each, type)]:
    if _each.__module__ == __name__:
        _each.__module__ = "penstock.errors"
