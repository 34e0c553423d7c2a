"""Figure 5(d), where an Exchange repeats subtrees; and the memory that NDDR holds."""

from __future__ import annotations

from statistics import mean, median

from penstock.documents import Name
from penstock.lab.bench.report import Tell
from penstock.lab.catalogues import CatalogueDocuments, catalogue
from penstock.lab.catalogues.sent import sent_of
from penstock.lab.findings import Cell, Chart, Finding
from penstock.lab.mediation.data import SEED, draw, matcher_of, measure
from penstock.lab.mediation.scale import Scale
from penstock.mediation import MediatedMatcher
from penstock.schema import NodePath

TURNED = "quillan"
"""The catalogue whose courses stand below their lecturers."""

COURSES: NodePath = tuple(
    Name("", name) for name in ("lecturers", "department", "lecturer", "course")
)


def by_repetition(scale: Scale, tell: Tell) -> Finding:
    """Figure 5(d)."""
    one = catalogue(TURNED)
    rows: list[tuple[Cell, ...]] = []
    for count in scale.repetitions:
        tell(f"lab mediation: {count} courses a lecturer")
        source = CatalogueDocuments(one, repeats={COURSES: count})
        sent = [sent_of(one, each) for each in source.documents(scale.catalogues, scale.size, SEED)]
        found = measure(sent, scale.subscriptions[0], scale.repeats, ("nddr", "iddr"))
        grown = mean(len(each.rewritten) / len(each.document) for each in sent)
        nddr, iddr = found.ways["nddr"], found.ways["iddr"]
        rows.append((one.name, count, grown, nddr * 1e3, iddr * 1e3, 100 * (1 - iddr / nddr)))
    return Finding(
        "fig5d",
        "Fig. 5(d): querying time by the number of children that an Exchange turns round",
        ("catalogue", "repetition", "global / local bytes", "NDDR ms", "IDDR ms", "IDDR under %"),
        tuple(rows),
        ("The paper: IDDR overtakes NDDR at repetition 4.",),
        Chart("catalogue", "repetition", ("NDDR ms", "IDDR ms"), "querying ms"),
    )


def by_held_memory(scale: Scale, tell: Tell) -> Finding:
    """What NDDR holds back, against the size of the document."""
    mediated = MediatedMatcher(matcher_of(scale.subscriptions[0]), way="nddr")
    rows: list[tuple[Cell, ...]] = []
    for size in scale.sizes:
        tell(f"lab mediation: memory, {size:,} bytes")
        sent = draw(scale.catalogues, size)
        shares = [
            100
            * mediated.match(each.document, each.mapping).counters.work.held_bytes
            / len(each.document)
            for each in sent
        ]
        largest = max(range(len(sent)), key=shares.__getitem__)
        name = sent[largest].catalogue.name
        rows.append((size / 1000, mean(shares), median(shares), shares[largest], name))
    return Finding(
        "memory",
        "Memory held by NDDR, as a share of the document",
        ("KB", "mean %", "median %", "most %", "where"),
        tuple(rows),
        ("The paper: around 5% of most documents.",),
    )
