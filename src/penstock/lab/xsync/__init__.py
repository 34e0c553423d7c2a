"""The experiments of the XSync paper (update synchronisation for mobile XML data)."""

from __future__ import annotations

from penstock.extras import require_sync_extra
from penstock.lab.bench.machine_description import this_machine
from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import ExperimentResults
from penstock.lab.xsync.claims import claims
from penstock.lab.xsync.false_positives import false_positives
from penstock.lab.xsync.found_by_operation import found_by_operation
from penstock.lab.xsync.histories import conflicts, forwarding
from penstock.lab.xsync.scale import FULL, QUICK
from penstock.lab.xsync.search_cost import by_dtd, by_length, by_queries


def run(*, quick: bool, progress: Progress) -> ExperimentResults:
    """Reproduce Figures 4 to 11, with additional measurements.

    Raises
    ------
    MissingPackageError
        ``extra.sync``: messages cannot be encoded.
    """
    require_sync_extra("msgspec")
    from penstock.lab.xsync.merging import merging  # noqa: PLC0415  # an optional package
    from penstock.lab.xsync.peers import peers  # noqa: PLC0415

    scale = QUICK if quick else FULL
    figures = [
        *by_length(scale, progress),
        *by_queries(scale, progress),
        *by_dtd(scale, progress),
    ]
    tables = [
        *figures,
        false_positives(scale, progress),
        found_by_operation(scale, progress),
        conflicts(scale, progress),
        forwarding(scale, progress),
        merging(scale, progress),
        peers(scale, progress),
        claims(figures),
    ]
    return ExperimentResults("xsync", quick, this_machine(), tuple(tables))
