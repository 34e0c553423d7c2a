"""The course-catalogue benchmark: forty universities' schemas, one global schema, documents."""

from penstock.lab.catalogues.collection import (
    CATALOGUES,
    Catalogue,
    catalogue,
    global_schema,
    operator_counts,
)
from penstock.lab.catalogues.documents import CatalogueDocuments

__all__ = [
    "CATALOGUES",
    "Catalogue",
    "CatalogueDocuments",
    "catalogue",
    "global_schema",
    "operator_counts",
]
