"""The schemas that Penstock ships, made for its workloads."""

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
"""Each schema by name, with the root of its documents."""


def schema_text(name: str) -> str:
    """The text of a shipped DTD."""
    if name not in SCHEMA_ROOTS:
        raise error("lab.schema", f"there is no schema {name!r} among {', '.join(SCHEMA_ROOTS)}")
    return (files("penstock.lab") / "schemas" / f"{name}.dtd").read_text(encoding="utf-8")


@cache
def built_in_schema(name: str) -> SchemaGraph:
    """A shipped schema by name; schemas are immutable, so it is read once."""
    return SchemaGraph.from_dtd(schema_text(name), roots=[SCHEMA_ROOTS[name]])
