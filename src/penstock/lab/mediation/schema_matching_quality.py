"""The quality of automatic schema matching, measured against the hand-written matchings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from penstock.documents import read_events
from penstock.lab.bench.report import Progress
from penstock.lab.catalogues import CATALOGUES, Catalogue, global_schema
from penstock.lab.experiment_tables import Cell, ResultTable
from penstock.lab.mediation.querying_time import draw
from penstock.lab.mediation.scale import Scale
from penstock.mediation import ProposedMatching, match_schemas
from penstock.schema import SampleValues

SAMPLE_BYTES = 10_000
"""Size of the sample document of each catalogue."""


def matching_quality(scale: Scale, progress: Progress) -> ResultTable:
    """Measure precision and recall, without and with sample documents."""
    progress("lab mediation: automatic matching")
    catalogues = CATALOGUES[: scale.catalogues]
    rows = _rows("names and structure", [(one, _proposed(one)) for one in catalogues])
    progress("lab mediation: automatic matching with samples")
    sent = draw(scale.catalogues, SAMPLE_BYTES)
    local = [SampleValues.of(read_events(each.document)) for each in sent]
    target = [SampleValues.of(read_events(each.rewritten)) for each in sent]
    with_samples = [
        (one, _proposed(one, local[number], _merged(target[:number] + target[number + 1 :])))
        for number, one in enumerate(catalogues)
    ]
    rows += _rows("with samples", with_samples)
    return ResultTable(
        "matching",
        "Automatic schema matching compared with the hand-written matchings",
        (
            "from",
            "catalogues",
            "hand-written pairs",
            "proposed",
            "correct",
            "precision %",
            "recall %",
        ),
        tuple(rows),
        (
            "Samples: one document of each catalogue; for the global schema, the rewritten"
            " documents of all other catalogues.",
        ),
    )


def _merged(samples: Iterable[SampleValues]) -> SampleValues:
    return reduce(SampleValues.merged, samples, SampleValues())


def _proposed(
    one: Catalogue, local: SampleValues | None = None, target: SampleValues | None = None
) -> ProposedMatching:
    return match_schemas(one.schema, global_schema(), local_values=local, target_values=target)


def _rows(what: str, both: Sequence[tuple[Catalogue, ProposedMatching]]) -> list[tuple[Cell, ...]]:
    groups = {
        "all": both,
        "English": [pair for pair in both if pair[0].language == "en"],
        "other languages": [pair for pair in both if pair[0].language != "en"],
    }
    return [(what, name, *_quality(pairs)) for name, pairs in groups.items() if pairs]


def _quality(both: Sequence[tuple[Catalogue, ProposedMatching]]) -> tuple[float, ...]:
    hand_written = proposed_count = correct = 0
    for one, proposed in both:
        wanted = set(one.matching.pairs)
        found = {(pair.local, pair.target) for pair in proposed.pairs}
        hand_written += len(wanted)
        proposed_count += len(found)
        correct += len(wanted & found)
    precision, recall = correct / max(proposed_count, 1), correct / hand_written
    return hand_written, proposed_count, correct, 100 * precision, 100 * recall
