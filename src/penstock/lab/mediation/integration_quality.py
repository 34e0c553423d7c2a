"""The quality of schema integration: whether corresponding places become one global place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import Cell, ResultTable
from penstock.lab.matching_catalogues import (
    HELD_BACK,
    RECORD_NAMES,
    TUNING,
    AnnotatedCatalogue,
    catalogues_of,
    correspondences,
)
from penstock.lab.mediation.scale import Scale
from penstock.mediation import Integration, integrate

COURSE = "course"
"""The concept of the records of a catalogue."""


@dataclass(frozen=True, slots=True)
class IntegrationQuality:
    """Pairs of places of two local schemas with one global place, compared with known ones."""

    sources: int
    """Catalogues."""
    together: int
    """Catalogues whose courses have the most frequent global place of courses."""
    wanted: int
    """Known pairs."""
    joined: int
    """Pairs with one global place."""
    right: int
    """Known pairs with one global place."""

    @property
    def wrong(self) -> int:
        """Pairs of different concepts with one global place."""
        return self.joined - self.right

    @property
    def precision(self) -> float:
        """Percentage of joined pairs that are right."""
        return 100 * self.right / max(self.joined, 1)

    @property
    def recall(self) -> float:
        """Percentage of known pairs that are joined."""
        return 100 * self.right / max(self.wanted, 1)


def integration_quality(scale: Scale, progress: Progress) -> ResultTable:
    """Integrate the catalogues of each set, without and with samples."""
    rows: list[tuple[Cell, ...]] = []
    for which in (TUNING, HELD_BACK, RECORD_NAMES):
        title = which.replace("_", "-")
        progress(f"lab mediation: integrating the {title} catalogues")
        catalogues = catalogues_of(which)[: scale.catalogues]
        for with_samples in (False, True):
            found = integration_of(catalogues, with_samples=with_samples)
            quality = quality_of_integration(catalogues, found)
            rows.append(
                (
                    title,
                    "with samples" if with_samples else "names and structure",
                    quality.sources,
                    quality.together,
                    quality.wanted,
                    quality.wrong,
                    quality.precision,
                    quality.recall,
                )
            )
    return ResultTable(
        "integration",
        "Integration of course catalogues into one schema",
        (
            "set",
            "from",
            "catalogues",
            "with courses at one place",
            "pairs",
            "wrong pairs",
            "precision %",
            "recall %",
        ),
        tuple(rows),
        (
            "Pairs: places of two catalogues with the same concept. They are found if they have the"
            " same global place.",
        ),
    )


def integration_of(catalogues: Sequence[AnnotatedCatalogue], *, with_samples: bool) -> Integration:
    """Integrates catalogues into one schema."""
    return integrate(
        "courses",
        [each.schema for each in catalogues],
        values=[each.values for each in catalogues] if with_samples else None,
    )


def quality_of_integration(
    catalogues: Sequence[AnnotatedCatalogue], found: Integration
) -> IntegrationQuality:
    """Compares an integration with the known correspondences of all pairs of catalogues."""
    images = [dict(matching.pairs) for matching in found.matchings]
    courses = Counter(
        image.get(each.concepts[COURSE]) for each, image in zip(catalogues, images, strict=True)
    )
    del courses[None]
    wanted = joined = right = 0
    for (local, here), (other, there) in combinations(zip(catalogues, images, strict=True), 2):
        sources = {image: place for place, image in there.items()}
        pairs = {(place, sources[image]) for place, image in here.items() if image in sources}
        known = correspondences(local, other)
        wanted += len(known)
        joined += len(pairs)
        right += len(pairs & known)
    return IntegrationQuality(
        len(catalogues), max(courses.values(), default=0), wanted, joined, right
    )
