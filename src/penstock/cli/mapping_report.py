"""Reports registered mappings and how their results differ from the global schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.console import note, plural

if TYPE_CHECKING:
    from penstock.mediation import Comparison, LocalSchema

EXPLAINS_GLOBAL_DOCUMENT = (
    "this explains the document as rewritten by the mapping: see `penstock mapping apply`"
)
"""Note printed below the explanation of a document that was matched through a mapping."""


def differences_as_dict(comparison: Comparison) -> dict[str, Any]:
    """The JSON form of the differences between a rewritten schema and the global one."""
    return {
        "missing": [str(place) for place in comparison.missing],
        "extra": [str(place) for place in comparison.extra],
        "cardinality": [
            {"path": str(place), "here": here, "global": there}
            for place, here, there in comparison.cardinality
        ],
    }


def difference_lines(comparison: Comparison) -> Iterator[str]:
    """The differences as text, one line each."""
    for place in comparison.missing:
        yield f"missing: {place} is in the global schema but never in these documents"
    for place in comparison.extra:
        yield f"extra: {place} is in these documents but not in the global schema"
    for place, here, there in comparison.cardinality:
        yield f"cardinality: {place} occurs {here} here, {there} in the global schema"


def note_unknown_elements(path: Path, unknown: int) -> None:
    """Reports how many elements are not in the local schema, if there are any."""
    if unknown:
        elements = plural(unknown, "element")
        note(f"{path}: {elements} not in the local schema passed through unchanged")


def local_schema_as_dict(local: LocalSchema) -> dict[str, object]:
    """The JSON form of a registered local schema."""
    return {
        "schema": local.name,
        "publisher": local.publisher,
        "domain": local.domain,
        "version": local.version,
        "digest": local.digest,
    }
