"""Course catalogues with known correspondences, for measuring schema matching.

Weights and word lists may be chosen on the tuning set only; the held-back set is for reports.
"""

from penstock.lab.matching_catalogues.annotated_catalogue import (
    HELD_BACK,
    RECORD_NAMES,
    TUNING,
    AnnotatedCatalogue,
    catalogues_of,
    correspondences,
)

__all__ = [
    "HELD_BACK",
    "RECORD_NAMES",
    "TUNING",
    "AnnotatedCatalogue",
    "catalogues_of",
    "correspondences",
]
