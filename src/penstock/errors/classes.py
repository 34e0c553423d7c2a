"""The error classes, and the row type of the error table.

Import them from :mod:`penstock.errors`. Every class also derives from a built-in exception, so
callers can catch errors without importing Penstock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Where(NamedTuple):
    """A position: an offset from 0; line and column from 1, in characters.

    The offset is in bytes for documents and in characters for queries.
    """

    offset: int
    line: int
    column: int


class PenstockError(Exception):
    """Base class of all Penstock errors."""

    def __init__(self, code: str, message: str, *, where: Where | None = None) -> None:
        super().__init__(code, message, where)
        self.code = code
        self.message = message
        self.where = where
        if hint := self._hint():
            # Tracebacks show notes, so the hint of an error that nobody catches is seen, too.
            self.add_note(f"Hint: {hint}")

    @property
    def hint(self) -> str:
        """How to fix the problem."""
        hint = self._hint()
        if hint is None:
            raise KeyError(self.code)
        return hint

    def _hint(self) -> str | None:
        # The table imports these classes.
        from penstock.errors import ERRORS  # noqa: PLC0415

        spec = ERRORS.get(self.code)
        return None if spec is None else spec.hint

    def __str__(self) -> str:
        place = f" at line {self.where.line}, column {self.where.column}" if self.where else ""
        return f"{self.message}{place} [{self.code}]"

    def __reduce__(self) -> tuple[object, ...]:
        # Spark pickles errors, and the default cannot pass keyword-only arguments.
        return (_recreate, (type(self), self.code, self.message, self.where))


def _recreate(
    cls: type[PenstockError], code: str, message: str, where: Where | None
) -> PenstockError:
    return cls(code, message, where=where)


class DocumentError(PenstockError, ValueError):
    """A document was refused; the pipeline makes it a dead letter."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        where: Where | None = None,
        path: str | None = None,
        report: str | None = None,
    ) -> None:
        super().__init__(code, message, where=where)
        self.path = path
        """The elements that are open at the position, from the root down, such as ``/news/item``;
        ``None`` if unknown."""
        self.report = report
        """For the codes ``internal.*``, what to send to the maintainers, as JSON."""

    def __reduce__(self) -> tuple[object, ...]:
        state = {"path": self.path, "report": self.report}
        return (_recreate, (type(self), self.code, self.message, self.where), state)


class QueryError(PenstockError, ValueError):
    """A query was refused."""


class UpdateError(PenstockError, ValueError):
    """An update statement, or an operation of one, was refused."""


class SyncError(PenstockError, ValueError):
    """Something is wrong in the synchronisation of a document."""


class RecordsError(PenstockError, OSError):
    """A file of records cannot be read."""


class SchemaError(PenstockError, ValueError):
    """A schema was refused."""


class MappingError(PenstockError, ValueError):
    """A mapping or a schema matching was refused."""


class RoutingError(PenstockError, ValueError):
    """An aggregated set, or a change of one, was refused."""


class OverlayError(PenstockError, ValueError):
    """A setting, call or message of the overlay was refused."""


class WorkloadError(PenstockError, ValueError):
    """A workload cannot be generated with these parameters."""


class PipelineError(PenstockError, ValueError):
    """A pipeline cannot run with these arguments."""


class PipelineFailure(PenstockError, RuntimeError):  # noqa: N818
    """A pipeline stopped prematurely."""


class SubscriptionFileError(PenstockError, ValueError):
    """A subscription file was refused."""


class IndexFileError(PenstockError, ValueError):
    """An index file is missing, damaged, of another kind, or of another version."""


class MissingIndexError(IndexFileError, FileNotFoundError):
    """A file of an index version does not exist."""


class UnknownSubscriptionError(PenstockError, KeyError):
    """There is no subscription with that id."""

    __str__ = PenstockError.__str__  # KeyError.__str__ would quote the message


class EngineError(PenstockError, ValueError):
    """Unknown engine, or one that the index does not support."""


class WorkspaceError(PenstockError, ValueError):
    """A workspace is missing, damaged or busy, or something in it is invalid."""


class LinkError(PenstockError, ConnectionError):
    """A link failed; the subclass says whose fault it was, this class blames the network."""


class LocalLinkError(LinkError):
    """This side broke a rule of the link protocol, or used a link wrongly."""


class PeerLinkError(LinkError):
    """The peer broke a rule of the link protocol."""


class NativeMissingError(PenstockError, ImportError):
    """The native core is required but not installed."""


class MissingPackageError(PenstockError, ImportError):
    """An optional package that this function needs is not installed."""


class NativeMissingWarning(RuntimeWarning):
    """The native core is not installed; the Python reference is used instead."""


@dataclass(frozen=True, slots=True)
class ErrorSpec:
    """A row of the error table."""

    cls: type[PenstockError]
    meaning: str
    hint: str


# Tracebacks show the name under which the classes are imported.
for _each in [each for each in globals().values() if isinstance(each, type)]:
    if _each.__module__ == __name__:
        _each.__module__ = "penstock.errors"
