"""``penstock generate catalogues``: the course-catalogue benchmark as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.cli.console import ExitCode, note, plural, print_json, progress
from penstock.lab.catalogues import CATALOGUES, Catalogue, CatalogueDocuments, catalogue
from penstock.lab.catalogues.collection import file_text


def write(
    folder: Path, names: Sequence[str], *, count: int, size: int, seed: int, as_json: bool
) -> ExitCode:
    """Writes the global schema, and a folder for each catalogue; ``names`` empty means all."""
    chosen = [catalogue(name) for name in names] or list(CATALOGUES)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "global.schema").write_text(file_text("global", "schema"), encoding="utf-8")
    for one in progress(chosen, "generating"):
        written = _write_one(folder / one.name, one, count=count, size=size, seed=seed)
        if as_json:
            print_json(
                {
                    "catalogue": one.name,
                    "university": one.university,
                    "language": one.language,
                    "operators": len(one.mapping.operators),
                    "documents": [str(path) for path in written],
                }
            )
    documents = plural(count * len(chosen), "document")
    note(f"{plural(len(chosen), 'catalogue')} with {documents} in {folder}")
    return ExitCode.DONE


def _write_one(folder: Path, one: Catalogue, *, count: int, size: int, seed: int) -> list[Path]:
    folder.mkdir(exist_ok=True)
    for kind in ("schema", "matching", "mapping"):
        (folder / f"{one.name}.{kind}").write_text(file_text(one.name, kind), encoding="utf-8")
    digits = len(str(count))
    written = []
    for number, document in enumerate(
        CatalogueDocuments(one).documents(count, size, seed), start=1
    ):
        path = folder / f"{number:0{digits}}.xml"
        path.write_bytes(document)
        written.append(path)
    return written
