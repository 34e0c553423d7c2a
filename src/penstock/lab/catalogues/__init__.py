"""The course-catalogue benchmark: the schemas of forty universities, a global schema, documents."""

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
