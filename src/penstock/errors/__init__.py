"""The one error table: every error has a stable code, a class, a message with position, a hint.

Codes are ``room.cause``. The native core raises by code; :func:`error` turns a code into the
class the table names. Every class is also a builtin's subclass, so that callers who know nothing
of Penstock can still catch sensibly.

Each package of Penstock has its rows in a module of the same name here; :data:`ERRORS` is all of
them.
"""

from __future__ import annotations

from penstock.errors import (
    cli,
    documents,
    lab,
    language,
    matching,
    mediation,
    native,
    pipeline,
    schema,
    workspace,
)
from penstock.errors.classes import (
    DocumentError,
    EngineError,
    ErrorSpec,
    IndexFileError,
    MappingError,
    MissingPackageError,
    NativeMissingError,
    NativeMissingWarning,
    PenstockError,
    PipelineError,
    PipelineFailure,
    QueryError,
    RecordsError,
    SchemaError,
    SubscriptionFileError,
    UnknownSubscriptionError,
    Where,
    WorkloadError,
    WorkspaceError,
)

__all__ = [
    "ERRORS",
    "DocumentError",
    "EngineError",
    "ErrorSpec",
    "IndexFileError",
    "MappingError",
    "MissingPackageError",
    "NativeMissingError",
    "NativeMissingWarning",
    "PenstockError",
    "PipelineError",
    "PipelineFailure",
    "QueryError",
    "RecordsError",
    "SchemaError",
    "SubscriptionFileError",
    "UnknownSubscriptionError",
    "Where",
    "WorkloadError",
    "WorkspaceError",
    "error",
]

ERRORS: dict[str, ErrorSpec] = {
    **native.ERRORS,
    **documents.ERRORS,
    **language.ERRORS,
    **schema.ERRORS,
    **matching.ERRORS,
    **mediation.ERRORS,
    **workspace.ERRORS,
    **pipeline.ERRORS,
    **lab.ERRORS,
    **cli.ERRORS,
}
"""Every code with its class, meaning and hint."""


def error(code: str, message: str, where: Where | None = None) -> PenstockError:
    """The error of ``code``, in the class the table names."""
    return ERRORS[code].cls(code, message, where=where)
