"""The paper's running example: the files of ``examples/university/*``."""

from __future__ import annotations

from repository import ROOT

FOLDER = ROOT / "examples" / "university"

LOCAL = FOLDER / "local.dtd"
GLOBAL = FOLDER / "global.schema"
MATCHING = FOLDER / "courses.matching"
MAPPING = FOLDER / "courses.mapping"
DOCUMENT = FOLDER / "catalogue.xml"
