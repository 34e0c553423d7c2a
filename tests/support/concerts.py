"""Two publishers of concerts, and their global schema: the files of ``examples/mediation/*``."""

from __future__ import annotations

from repository import ROOT

from penstock.mediation import Mapping, SchemaMatching, derive
from penstock.schema import read_schema_file

FOLDER = ROOT / "examples" / "mediation"

GLOBAL = FOLDER / "concerts.schema"
OPERA = FOLDER / "opera" / "spring.xml"


def opera_mapping() -> Mapping:
    """The mapping of the opera's DTD, as ``penstock mapping derive`` makes it."""
    matching = SchemaMatching.from_text((FOLDER / "opera.matching").read_text("utf-8"))
    local, target = (read_schema_file(path) for path in (FOLDER / "opera.dtd", GLOBAL))
    return derive(local, target, matching).mapping
