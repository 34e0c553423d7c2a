"""``penstock schema integrate``: a global schema from local ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from penstock.cli.console import ExitCode, note, plural, print_json
from penstock.cli.matchings import read_abbreviations
from penstock.cli.new_files import require_new, write
from penstock.cli.refusals import told
from penstock.mediation import (
    Derivation,
    GlobalSchema,
    Integration,
    derive,
    extend,
)
from penstock.mediation import integrate as integrate_schemas
from penstock.schema import SchemaTree, read_schema_file
from penstock.schema.schema_files import read_text


def integrate(
    locals_: Sequence[Path],
    *,
    domain: str | None,
    into: Path | None,
    output: Path | None,
    matchings: Path | None,
    abbreviations: Path | None,
    force: bool,
    as_json: bool,
) -> ExitCode:
    """Prints or writes the global schema, and writes the matching of each local one."""
    files = _matching_files(locals_, matchings)
    require_new([*([output] if output else []), *files], force=force)
    trees = []
    for path in locals_:
        with told(path, as_json=as_json):
            trees.append(read_schema_file(path))
    table = read_abbreviations(abbreviations, as_json=as_json)
    before = None
    if into is None:
        found = integrate_schemas(_domain(domain, output), trees, abbreviations=table)
    else:
        with told(into, as_json=as_json):
            before = GlobalSchema.from_text(read_text(into, "schema.file"))
        found = extend(before, trees, abbreviations=table)
    if output is not None:
        write(output, found.schema.to_text())
    if files:
        for file, matching, missing in zip(files, found.matchings, found.unplaced, strict=True):
            write(file, matching.to_text(each.place for each in missing))
    if as_json:
        print_json(_as_dict(found, locals_, trees))
        return ExitCode.DONE
    if output is None:
        sys.stdout.write(found.schema.to_text())
    for line in _in_words(found, before, locals_, trees):
        note(line)
    if files:
        example = f"{locals_[0]} {output or 'GLOBAL'} {files[0]}"
        note(f"next: edit the matchings, then `penstock mapping derive {example}`")
    return ExitCode.DONE


def _domain(given: str | None, output: Path | None) -> str:
    if given is None and output is None:
        raise typer.BadParameter("name the domain, or the file", param_hint="--domain")
    return given or (output.stem if output else "")


def _matching_files(locals_: Sequence[Path], folder: Path | None) -> list[Path]:
    """A file for each local schema, called like it."""
    if folder is None:
        return []
    files = [folder / f"{path.stem}.matching" for path in locals_]
    for path, file in zip(locals_, files, strict=True):
        if files.count(file) > 1:
            message = f"another local schema is called like {path}: their matchings would be one"
            raise typer.BadParameter(message, param_hint="LOCAL...")
    return files


def _derived(found: Integration, trees: Sequence[SchemaTree]) -> list[Derivation]:
    return [
        derive(tree, found.schema.tree, matching)
        for tree, matching in zip(trees, found.matchings, strict=True)
    ]


def _as_dict(
    found: Integration, locals_: Sequence[Path], trees: Sequence[SchemaTree]
) -> dict[str, Any]:
    schema = found.schema
    return {
        "domain": schema.domain,
        "version": schema.version,
        "digest": schema.digest,
        "predecessor": schema.predecessor,
        "schema": schema.to_text(),
        "added": [str(place) for place in found.added],
        "locals": [
            {
                "schema": str(path),
                "matching": matching.to_text(),
                "uncertain": len(matching.uncertain),
                "unplaced": [
                    {"place": str(each.place), "reason": each.reason} for each in unplaced
                ],
                "unreached": [str(each) for each in derived.unreached],
            }
            for path, matching, unplaced, derived in zip(
                locals_, found.matchings, found.unplaced, _derived(found, trees), strict=True
            )
        ],
    }


def _in_words(
    found: Integration,
    before: GlobalSchema | None,
    locals_: Sequence[Path],
    trees: Sequence[SchemaTree],
) -> Iterator[str]:
    schema = found.schema
    places = plural(len(found.added), "new place")
    if schema == before:
        yield f"nothing new: {schema.domain} stays at version {schema.version}"
    else:
        yield f"{schema.domain}, version {schema.version}: {places}"
    if before is not None:
        for place in found.added:
            yield f"added: {place}"
    for path, matching, unplaced, derived in zip(
        locals_, found.matchings, found.unplaced, _derived(found, trees), strict=True
    ):
        pairs = plural(len(matching.pairs), "pair")
        yield f"{path}: {pairs}, {len(matching.uncertain)} uncertain"
        for each in unplaced:
            yield f"{path}: not placed: {each}"
        for unreached in derived.unreached:
            yield f"{path}: not reached: {unreached}"
