"""Errors for optional dependencies that are not installed."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, MissingPackageError

ERRORS: dict[str, ErrorSpec] = {
    "extra.spark": ErrorSpec(
        MissingPackageError,
        "a package that workspaces or the pipeline need is not installed",
        "Install the extra: `pip install 'penstock[spark]'`.",
    ),
    "extra.links": ErrorSpec(
        MissingPackageError,
        "a package that links between routers need is not installed",
        "Install the extra: `pip install 'penstock[links]'`.",
    ),
    "extra.sync": ErrorSpec(
        MissingPackageError,
        "a package that synchronisation over HTTP needs is not installed",
        "Install the extra: `pip install 'penstock[sync]'`.",
    ),
}
