"""The built-in schemas of the workloads."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from penstock.errors import error
from penstock.schema import SchemaGraph

SCHEMA_ROOTS: Final = {
    "news": "news",
    "protein": "proteins",
    "customers": "customers",
    "bibliography": "bibliography",
    "treebank": "corpus",
    "auctions": "auctions",
}
"""The root element of each schema, by schema name."""


def schema_text(name: str) -> str:
    """The text of a built-in DTD."""
    if name not in SCHEMA_ROOTS:
        raise error(
            "lab.schema",
            f"unknown schema {name!r}; the built-in schemas are {', '.join(SCHEMA_ROOTS)}",
        )
    return (files("penstock.lab") / "schemas" / f"{name}.dtd").read_text(encoding="utf-8")


@cache
def built_in_schema(name: str) -> SchemaGraph:
    """Load a built-in schema by name. Schemas are immutable, so each is cached."""
    return SchemaGraph.from_dtd(schema_text(name), roots=[SCHEMA_ROOTS[name]])
