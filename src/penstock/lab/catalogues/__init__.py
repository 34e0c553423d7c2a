"""The course-catalogue benchmark: forty universities' schemas, one global schema, documents."""

from penstock.lab.catalogues.catalogue_collection import (
    CATALOGUES,
    Catalogue,
    catalogue,
    global_schema,
    operator_counts,
)
from penstock.lab.catalogues.document_generator import CatalogueDocuments

__all__ = [
    "CATALOGUES",
    "Catalogue",
    "CatalogueDocuments",
    "catalogue",
    "global_schema",
    "operator_counts",
]
