"""``penstock schema match``: pairs of places proposed, for somebody to look at."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from penstock.cli.console import ExitCode, note, plural, print_json
from penstock.cli.new_files import require_new, write
from penstock.cli.refusals import told
from penstock.cli.samples import sum_up
from penstock.mediation import Abbreviations, ProposedMatching, ProposedPair, match_schemas
from penstock.schema import SampleValues, read_schema_file
from penstock.schema.schema_files import read_text


def match(
    local: Path,
    target: Path,
    *,
    samples: Sequence[Path],
    target_samples: Sequence[Path],
    abbreviations: Path | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> ExitCode:
    """Prints or writes the matching; what to look at is told on stderr."""
    if output is not None:
        require_new([output], force=force)
    if bool(samples) != bool(target_samples):
        note("values are compared only where there are samples of both schemas")
    trees = []
    for path in (local, target):
        with told(path, as_json=as_json):
            trees.append(read_schema_file(path))
    values, refused = sum_up(samples, SampleValues.of, SampleValues(), as_json=as_json)
    target_values, others = sum_up(target_samples, SampleValues.of, SampleValues(), as_json=as_json)
    found = match_schemas(
        *trees,
        abbreviations=read_abbreviations(abbreviations, as_json=as_json),
        local_values=values,
        target_values=target_values,
    )
    text = found.to_text()
    if output is not None:
        write(output, text)
    if as_json:
        print_json(as_dict(found))
    elif output is None:
        sys.stdout.write(text)
    if not as_json:
        for line in _in_words(found):
            note(line)
        file = output or "MATCHING"
        note(f"next: edit the matching, then `penstock mapping derive {local} {target} {file}`")
    return ExitCode.REFUSED if refused or others else ExitCode.DONE


def read_abbreviations(path: Path | None, *, as_json: bool) -> Abbreviations:
    """The table that is shipped, extended by a file where there is one."""
    shipped = Abbreviations.shipped()
    if path is None:
        return shipped
    with told(path, as_json=as_json):
        text = read_text(path, "mapping.abbreviations")
        return shipped.extended(Abbreviations.from_text(text))


def as_dict(found: ProposedMatching) -> dict[str, Any]:
    """A proposed matching as ``--json`` shows it."""
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


def _in_words(found: ProposedMatching) -> Iterator[str]:
    uncertain = [pair for pair in found.pairs if pair.rating.is_uncertain]
    left = len(found.unmatched_local), len(found.unmatched_target)
    yield (
        f"{plural(len(found.pairs), 'pair')}, {len(uncertain)} uncertain;"
        f" in no pair: {left[0]} local, {left[1]} global"
    )
    for pair in uncertain:
        rival = pair.rival
        rivals = "" if rival is None else f"; nearly as good: {rival[0]} and {rival[1]}"
        yield f"uncertain: {pair.local} and {pair.target} ({pair.rating.score:.2f}){rivals}"
