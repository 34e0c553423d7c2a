"""``penstock schema match``: proposes a matching of two schemas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.console import note, plural, print_file, print_json
from penstock.cli.exit_codes import ExitCode
from penstock.cli.input_files import read_abbreviations, read_schema_tree
from penstock.cli.options import JsonOption
from penstock.cli.output_files import require_new, write
from penstock.cli.sample_documents import summarize
from penstock.cli.schema_options import (
    EXISTING_PATH,
    AbbreviationsOption,
    ForceOption,
    GlobalSchemaArgument,
    LocalSchemaArgument,
    OutputOption,
)

if TYPE_CHECKING:
    from penstock.mediation import ProposedMatching, ProposedPair


def match_schemas(
    local: LocalSchemaArgument,
    target: GlobalSchemaArgument,
    *,
    samples: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="File or folder of documents of the local schema, whose values are compared"
            " (repeatable).",
            **EXISTING_PATH,
        ),
    ] = None,
    global_samples: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="File or folder of documents of the global schema (repeatable).",
            **EXISTING_PATH,
        ),
    ] = None,
    abbreviations: AbbreviationsOption = None,
    output: OutputOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Propose which places of two schemas correspond, as a matching file.

    Each pair has a score from 0 to 1. Pairs to be reviewed are marked uncertain; unmatched places
    are listed below as comments. Edit the file, then derive a mapping from it.
    """
    from penstock.mediation import match_schemas as propose_matching
    from penstock.schema import SampleValues

    if output is not None:
        require_new([output], force=force)
    if bool(samples) != bool(global_samples):
        note("values are compared only if there are samples of both schemas")
    trees = [read_schema_tree(path, as_json=as_json) for path in (local, target)]
    local_values, local_refused = summarize(
        samples or (), SampleValues.of, SampleValues(), as_json=as_json
    )
    target_values, target_refused = summarize(
        global_samples or (), SampleValues.of, SampleValues(), as_json=as_json
    )
    found = propose_matching(
        *trees,
        abbreviations=read_abbreviations(abbreviations, as_json=as_json),
        local_values=local_values,
        target_values=target_values,
    )
    text = found.to_text()
    if output is not None:
        write(output, text)
    if as_json:
        print_json(_as_dict(found))
    elif output is None:
        print_file(text)
    if not as_json:
        for line in _lines(found):
            note(line)
        file = output or "MATCHING"
        note(f"next: edit the matching, then `penstock mapping derive {local} {target} {file}`")
    if local_refused or target_refused:
        raise typer.Exit(ExitCode.INPUT_REFUSED)


def _as_dict(found: ProposedMatching) -> dict[str, Any]:
    return {
        "pairs": [_pair_as_dict(pair) for pair in found.pairs],
        "unmatched_local": [str(place) for place in found.unmatched_local],
        "unmatched_global": [str(place) for place in found.unmatched_target],
    }


def _pair_as_dict(pair: ProposedPair) -> dict[str, Any]:
    rival = pair.rival
    return {
        "local": str(pair.local),
        "global": str(pair.target),
        "score": pair.rating.score,
        "uncertain": pair.rating.is_uncertain,
        "parts": {
            name: None if part is None else round(part, 2)
            for name, part in asdict(pair.parts).items()
        },
        "rival": None if rival is None else {"local": str(rival[0]), "global": str(rival[1])},
    }


def _lines(found: ProposedMatching) -> Iterator[str]:
    uncertain = [pair for pair in found.pairs if pair.rating.is_uncertain]
    yield (
        f"{plural(len(found.pairs), 'pair')}, {len(uncertain)} uncertain; unmatched:"
        f" {len(found.unmatched_local)} local, {len(found.unmatched_target)} global"
    )
    for pair in uncertain:
        rival = pair.rival
        rivals = "" if rival is None else f"; nearly as good: {rival[0]} and {rival[1]}"
        yield f"uncertain: {pair.local} and {pair.target} ({pair.rating.score:.2f}){rivals}"
