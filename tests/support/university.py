"""The paper's running example, as examples/university has it."""

from __future__ import annotations

from repository import ROOT

FOLDER = ROOT / "examples" / "university"

LOCAL = FOLDER / "local.dtd"
GLOBAL = FOLDER / "global.schema"
MATCHING = FOLDER / "courses.matching"
MAPPING = FOLDER / "courses.mapping"
DOCUMENT = FOLDER / "catalogue.xml"
