"""The quality of matching catalogues with each other, on the tuning and the held-back set."""

from __future__ import annotations

from itertools import combinations

from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import Cell, ResultTable
from penstock.lab.matching_catalogues import (
    HELD_BACK,
    TUNING,
    AnnotatedCatalogue,
    catalogues_of,
    correspondences,
)
from penstock.lab.mediation.scale import Scale
from penstock.mediation import match_schemas


def pairwise_quality(scale: Scale, progress: Progress) -> ResultTable:
    """Match the catalogues of each set with each other, without and with samples."""
    rows: list[tuple[Cell, ...]] = []
    for which in (TUNING, HELD_BACK):
        progress(f"lab mediation: matching the {which.replace('_', '-')} catalogues pairwise")
        found = catalogues_of(which)[: scale.catalogues]
        for with_samples in (False, True):
            what = "with samples" if with_samples else "names and structure"
            for places in ("all", "values"):
                quality = quality_of(found, with_samples=with_samples, only_values=places != "all")
                rows.append((which.replace("_", "-"), what, places, *quality))
    return ResultTable(
        "pairwise",
        "Automatic matching of course catalogues with each other",
        ("set", "from", "places", "pairs", "precision %", "recall %", "F1 %"),
        tuple(rows),
        (
            "Weights and word lists were chosen on the tuning set; the held-back set was only"
            " measured.",
        ),
    )


def quality_of(
    catalogues: list[AnnotatedCatalogue], *, with_samples: bool, only_values: bool
) -> tuple[int, float, float, float]:
    """The number of correspondences, precision, recall and F1 in percent, over all pairs."""
    wanted_count = proposed_count = right = 0
    for local, target in combinations(catalogues, 2):
        proposed = match_schemas(
            local.schema,
            target.schema,
            local_values=local.values if with_samples else None,
            target_values=target.values if with_samples else None,
        )
        pairs = {(pair.local, pair.target) for pair in proposed.pairs}
        wanted = correspondences(local, target)
        if only_values:
            here, there = local.values.places, target.values.places
            pairs = {pair for pair in pairs if pair[0] in here and pair[1] in there}
            wanted = {pair for pair in wanted if pair[0] in here and pair[1] in there}
        wanted_count += len(wanted)
        proposed_count += len(pairs)
        right += len(pairs & wanted)
    return (
        wanted_count,
        100 * right / max(proposed_count, 1),
        100 * right / max(wanted_count, 1),
        200 * right / max(proposed_count + wanted_count, 1),
    )
