"""``penstock schema integrate``: builds or extends a global schema from local ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.console import note, plural, print_file, print_json
from penstock.cli.exit_codes import ExitCode
from penstock.cli.input_files import errors_in, read_abbreviations
from penstock.cli.options import EXISTING_FILE, JsonOption
from penstock.cli.output_files import require_new, write
from penstock.cli.schema_options import (
    EXISTING_PATH,
    AbbreviationsOption,
    ForceOption,
    OutputOption,
)
from penstock.cli.schema_sources import SourceReader, is_documents

if TYPE_CHECKING:
    from penstock.mediation import Derivation, GlobalSchema, Integration
    from penstock.schema import SchemaTree


def integrate_schemas(
    locals_: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOCAL",
            help="Publishers' schemas: .dtd, .xsd or schema files; or an .xml document or a folder"
            " of documents of one publisher, from which the schema is inferred.",
            show_default=False,
            **EXISTING_PATH,
        ),
    ],
    *,
    domain: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name of the domain (default: the name of the output file)."
        ),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="GLOBAL",
            help="A global schema to extend; nothing in it is moved or renamed.",
            **EXISTING_FILE,
        ),
    ] = None,
    samples: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="File or folder of documents of a local schema, whose values are compared; once"
            " for each LOCAL, in their order.",
            **EXISTING_PATH,
        ),
    ] = None,
    global_samples: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="With --into, file or folder of documents of the global schema (repeatable).",
            **EXISTING_PATH,
        ),
    ] = None,
    output: OutputOption = None,
    matchings: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Write the matching of each local schema to NAME.matching in this folder.",
        ),
    ] = None,
    abbreviations: AbbreviationsOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Build a global schema from publishers' schemas, or extend one.

    Corresponding places become one place; the majority of the schemas decides its name and its
    parent. With --into, every place of the global schema stays, and new places make up its next
    version. Values of sample documents are compared where both sides have some.
    """
    from penstock.mediation import GlobalSchema, extend, integrate
    from penstock.schema.schema_files import read_text

    if into is not None and domain is not None:
        raise typer.BadParameter("the global schema already has a domain", param_hint="--domain")
    if into is None and global_samples:
        raise typer.BadParameter("applies only with --into", param_hint="--global-samples")
    files = _matching_files(locals_, matchings)
    require_new([*([output] if output else []), *files], force=force)
    reader = SourceReader(as_json=as_json)
    sources = reader.read_all(locals_, samples)
    trees = [source.tree for source in sources]
    values = [source.values for source in sources]
    table = read_abbreviations(abbreviations, as_json=as_json)
    before = None
    if into is None:
        found = integrate(_domain(domain, output), trees, values=values, abbreviations=table)
    else:
        with errors_in(into, as_json=as_json):
            before = GlobalSchema.from_text(read_text(into, "schema.file"))
        global_values = reader.values(global_samples or ())
        found = extend(
            before, trees, values=values, global_values=global_values, abbreviations=table
        )
    if output is not None:
        write(output, found.schema.to_text())
    if files:
        for file, matching, missing in zip(files, found.matchings, found.unplaced, strict=True):
            write(file, matching.to_text(each.place for each in missing))
    if as_json:
        print_json(_as_dict(found, locals_, trees))
    else:
        if output is None:
            print_file(found.schema.to_text())
        for line in _lines(found, before, locals_, trees):
            note(line)
        if files:
            local = "LOCAL" if is_documents(locals_[0]) else locals_[0]
            example = f"{local} {output or 'GLOBAL'} {files[0]}"
            note(f"next: edit the matchings, then `penstock mapping derive {example}`")
    if reader.refused:
        raise typer.Exit(ExitCode.INPUT_REFUSED)


def _domain(given: str | None, output: Path | None) -> str:
    if given is None and output is None:
        raise typer.BadParameter("give --domain or --output", param_hint="--domain")
    return given or (output.stem if output else "")


def _matching_files(locals_: Sequence[Path], folder: Path | None) -> list[Path]:
    """One output file per local schema, named after it."""
    if folder is None:
        return []
    files = [folder / f"{path.stem}.matching" for path in locals_]
    for path, file in zip(locals_, files, strict=True):
        if files.count(file) > 1:
            message = f"several local schemas are named `{path.stem}`: their matchings would clash"
            raise typer.BadParameter(message, param_hint="LOCAL...")
    return files


def _derived(found: Integration, trees: Sequence[SchemaTree]) -> list[Derivation]:
    from penstock.mediation import derive

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


def _lines(
    found: Integration,
    before: GlobalSchema | None,
    locals_: Sequence[Path],
    trees: Sequence[SchemaTree],
) -> Iterator[str]:
    schema = found.schema
    if schema == before:
        yield f"nothing new: {schema.domain} stays at version {schema.version}"
    else:
        places = plural(len(found.added), "new place")
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
