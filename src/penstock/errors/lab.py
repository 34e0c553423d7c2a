"""The errors of generated workloads and the bench."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, MissingPackageError, WorkloadError

ERRORS: dict[str, ErrorSpec] = {
    "lab.parameter": ErrorSpec(
        WorkloadError,
        "a parameter of a workload is out of its range",
        "See the parameter's docstring.",
    ),
    "lab.schema": ErrorSpec(
        WorkloadError,
        "no schema of that name is shipped",
        "Use one of the names listed, or read your own with `SchemaGraph.from_dtd_file`.",
    ),
    "lab.catalogue": ErrorSpec(
        WorkloadError,
        "no course catalogue of that name is shipped",
        "Use one of the names listed; `penstock generate catalogues` writes all of them out.",
    ),
    "lab.workload": ErrorSpec(
        WorkloadError,
        "no workload of that name is shipped",
        "Use one of the names listed, or make a `Workload` of your own.",
    ),
    "lab.exhausted": ErrorSpec(
        WorkloadError,
        "the schema does not give that many distinct queries",
        "Ask for fewer, for greater depth or more predicates, or allow equals: `distinct=False`.",
    ),
    "lab.plots": ErrorSpec(
        MissingPackageError,
        "the package that draws plots is not installed",
        "Install it with `pip install 'penstock[lab]'`, or run `make setup`.",
    ),
}
