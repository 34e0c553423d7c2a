"""Errors in generated workloads, benchmarks and experiments."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, MissingPackageError, WorkloadError

ERRORS: dict[str, ErrorSpec] = {
    "lab.parameter": ErrorSpec(
        WorkloadError,
        "a workload parameter is out of range",
        "See the parameter's docstring.",
    ),
    "lab.schema": ErrorSpec(
        WorkloadError,
        "there is no built-in schema with that name",
        "Use one of the names listed, or read your own with `SchemaGraph.from_dtd_file`.",
    ),
    "lab.catalogue": ErrorSpec(
        WorkloadError,
        "there is no course catalogue with that name",
        "Use one of the names listed; `penstock generate catalogues` writes all of them.",
    ),
    "lab.workload": ErrorSpec(
        WorkloadError,
        "there is no preset workload with that name",
        "Use one of the names listed, or create your own `Workload`.",
    ),
    "lab.exhausted": ErrorSpec(
        WorkloadError,
        "the schema does not have that many distinct queries",
        "Ask for fewer queries, greater depth or more predicates, or allow duplicates with"
        " `distinct=False`.",
    ),
    "lab.plots": ErrorSpec(
        MissingPackageError,
        "matplotlib, which draws the plots, is not installed",
        "Install it with `pip install 'penstock[lab]'`, or run `make setup`.",
    ),
}
