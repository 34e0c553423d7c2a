"""Figure 5(d): querying time when an Exchange repeats subtrees."""

from __future__ import annotations

from statistics import mean

from penstock.documents import Name
from penstock.lab.bench.report import Progress
from penstock.lab.catalogues import CatalogueDocuments, catalogue
from penstock.lab.catalogues.rewritten_documents import rewritten_document
from penstock.lab.experiment_tables import Cell, Chart, ResultTable
from penstock.lab.mediation.querying_time import SEED, measure
from penstock.lab.mediation.scale import Scale
from penstock.schema import NodePath

EXCHANGE_CATALOGUE = "quillan"
"""The catalogue whose courses are below their lecturers."""

COURSES: NodePath = tuple(
    Name("", name) for name in ("lecturers", "department", "lecturer", "course")
)


def by_repetition(scale: Scale, progress: Progress) -> ResultTable:
    """Reproduce Figure 5(d)."""
    one = catalogue(EXCHANGE_CATALOGUE)
    rows: list[tuple[Cell, ...]] = []
    for count in scale.repetitions:
        progress(f"lab mediation: {count} courses per lecturer")
        source = CatalogueDocuments(one, repeats={COURSES: count})
        sent = [
            rewritten_document(one, each)
            for each in source.documents(scale.catalogues, scale.size, SEED)
        ]
        found = measure(sent, scale.subscriptions[0], scale.repeats, ("nddr", "iddr"))
        grown = mean(len(each.rewritten) / len(each.document) for each in sent)
        nddr, iddr = found.ways["nddr"], found.ways["iddr"]
        rows.append((one.name, count, grown, nddr * 1e3, iddr * 1e3, 100 * (1 - iddr / nddr)))
    return ResultTable(
        "fig5d",
        "Fig. 5(d): querying time by the number of children of an Exchange",
        ("catalogue", "repetition", "global / local bytes", "NDDR ms", "IDDR ms", "IDDR under %"),
        tuple(rows),
        ("The paper: IDDR overtakes NDDR at repetition 4.",),
        Chart("catalogue", "repetition", ("NDDR ms", "IDDR ms"), "querying ms"),
    )
