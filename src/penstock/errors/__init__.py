"""The error table: every error has a stable code, a class, a message with position, and a hint.

Codes are ``area.cause``. The native core reports errors by code; :func:`error` creates an instance
of the class that the table names. Every class also derives from a built-in exception, so callers
can catch errors without importing Penstock.

Each package of Penstock has a module of the same name here with its rows; :data:`ERRORS` combines
them.
"""

from __future__ import annotations

from penstock.errors import (
    cli,
    documents,
    extras,
    lab,
    language,
    links,
    matching,
    mediation,
    native,
    overlay,
    pipeline,
    routing,
    schema,
    sync,
    updates,
    workspace,
)
from penstock.errors.classes import (
    DocumentError,
    EngineError,
    ErrorSpec,
    IndexFileError,
    LinkError,
    LocalLinkError,
    MappingError,
    MissingIndexError,
    MissingPackageError,
    NativeMissingError,
    NativeMissingWarning,
    OverlayError,
    PeerLinkError,
    PenstockError,
    PipelineError,
    PipelineFailure,
    QueryError,
    RecordsError,
    RoutingError,
    SchemaError,
    SubscriptionFileError,
    SyncError,
    UnknownSubscriptionError,
    UpdateError,
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
    "LinkError",
    "LocalLinkError",
    "MappingError",
    "MissingIndexError",
    "MissingPackageError",
    "NativeMissingError",
    "NativeMissingWarning",
    "OverlayError",
    "PeerLinkError",
    "PenstockError",
    "PipelineError",
    "PipelineFailure",
    "QueryError",
    "RecordsError",
    "RoutingError",
    "SchemaError",
    "SubscriptionFileError",
    "SyncError",
    "UnknownSubscriptionError",
    "UpdateError",
    "Where",
    "WorkloadError",
    "WorkspaceError",
    "error",
]

ERRORS: dict[str, ErrorSpec] = {
    **native.ERRORS,
    **extras.ERRORS,
    **documents.ERRORS,
    **language.ERRORS,
    **updates.ERRORS,
    **schema.ERRORS,
    **matching.ERRORS,
    **mediation.ERRORS,
    **links.ERRORS,
    **routing.ERRORS,
    **sync.ERRORS,
    **overlay.ERRORS,
    **workspace.ERRORS,
    **pipeline.ERRORS,
    **lab.ERRORS,
    **cli.ERRORS,
}
"""Maps every code to its class, meaning and hint."""


def error(code: str, message: str, where: Where | None = None) -> PenstockError:
    """Creates the error for ``code``, in the class that the table names."""
    return ERRORS[code].cls(code, message, where=where)
