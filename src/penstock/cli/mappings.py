"""``penstock mapping``: mappings derived, checked and tried."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from penstock.cli.console import (
    ExitCode,
    note,
    place_of,
    plural,
    print_json,
    print_table,
    show_error,
)
from penstock.cli.refusals import told
from penstock.documents import Span, read_events
from penstock.errors import DocumentError
from penstock.mediation import (
    Comparison,
    GlobalDocument,
    Mapping,
    SchemaMatching,
    compare,
    derive,
    rewrite,
)
from penstock.schema import SchemaTree, read_schema_file
from penstock.schema.schema_files import read_text

OF_THE_GLOBAL_DOCUMENT = "of the document as the global schema has it: see `penstock mapping apply`"
"""What an explanation of a document with a mapping is of."""


def derive_one(local: Path, target: Path, matching: Path, *, as_json: bool) -> ExitCode:
    """Prints the mapping; what it does not do is told on stderr."""
    trees = [_schema(path, as_json=as_json) for path in (local, target)]
    with told(matching, as_json=as_json):
        pairs = SchemaMatching.from_text(read_text(matching, "mapping.matching"))
        found = derive(trees[0], trees[1], pairs)
    unreached = [str(each) for each in found.unreached]
    remarks = list(found.mapping.transformed.remarks)
    if as_json:
        print_json(
            {
                "mapping": found.mapping.to_text(),
                "digest": found.mapping.digest,
                "unreached": unreached,
                "remarks": remarks,
                **differences(found.comparison),
            }
        )
        return ExitCode.DONE
    sys.stdout.write(found.mapping.to_text())
    if pairs.uncertain:
        note(f"the matching has {plural(len(pairs.uncertain), 'uncertain pair')}")
    for each in unreached:
        note(f"not reached: {each}")
    for each in (*remarks, *in_words(found.comparison)):
        note(each)
    return ExitCode.DONE


def check(mapping: Path, target: Path, *, local: Path | None, as_json: bool) -> ExitCode:
    """Prints the operators and the differences; says by its exit code whether all is well."""
    found = read_mapping(mapping, as_json=as_json)
    comparison = compare(found.transformed.tree, _schema(target, as_json=as_json))
    is_for_local = local is None or _schema(local, as_json=as_json).root == found.local.root
    blocking = {each: found.is_blocking(each) for each in found.operators}
    if as_json:
        operators = [
            {"operator": found.describe(each), "blocking": blocking[each]}
            for each in found.operators
        ]
        print_json(
            {
                "digest": found.digest,
                "operators": operators,
                "remarks": list(found.transformed.remarks),
                "is_for_local": is_for_local,
                **differences(comparison),
            }
        )
    else:
        table = Table(box=None, show_header=False, pad_edge=False)
        for each in found.operators:
            table.add_row(found.describe(each), "blocks" if blocking[each] else "passes")
        print_table(table)
        for line in (*found.transformed.remarks, *in_words(comparison)):
            note(line)
        if not is_for_local:
            note(f"the mapping is for another schema than {local}")
    is_well = is_for_local and not comparison.extra
    return ExitCode.DONE if is_well else ExitCode.CHECK_FAILED


def apply(mapping: Path, documents: Sequence[Path], *, trace: bool, as_json: bool) -> ExitCode:
    """Prints each global document; what is refused is told and does not stop the rest."""
    found = read_mapping(mapping, as_json=as_json)
    refused = False
    for path in documents:
        content = path.read_bytes()
        try:
            made = rewrite(found, read_events(content))
        except DocumentError as reason:
            show_error(reason, place=place_of(path, reason), as_json=as_json)
            refused = True
            continue
        steps = list(_steps(found, made, content)) if trace else []
        if as_json:
            steps_wanted = {"trace": steps} if trace else {}
            told_of = {"document": str(path), "xml": made.to_xml(), "unknown": made.unknown}
            print_json({**told_of, **steps_wanted})
            continue
        sys.stdout.write(made.to_xml())
        for step in steps:
            note(f"{path}:{step['line']}: {step['operator']}: {step['what']}")
        tell_unknown(path, made.unknown)
    return ExitCode.REFUSED if refused else ExitCode.DONE


def tell_unknown(path: Path, unknown: int) -> None:
    """Say how many elements of a document its mapping could do nothing with, if there are any."""
    if unknown:
        elements = plural(unknown, "element")
        note(f"{path}: {elements} that the local schema does not know passed unchanged")


def _steps(mapping: Mapping, made: GlobalDocument, content: bytes) -> Iterator[dict[str, Any]]:
    described = {operator: mapping.describe(operator) for operator in mapping.operators}
    for each in made.trace:
        yield {
            "operator": described[each.operator],
            "line": _line(content, each.span),
            "what": each.what,
        }


def _line(content: bytes, span: Span) -> int:
    return content.count(b"\n", 0, span.start) + 1


def _schema(path: Path, *, as_json: bool) -> SchemaTree:
    with told(path, as_json=as_json):
        return read_schema_file(path)


def read_mapping(path: Path, *, as_json: bool) -> Mapping:
    """The mapping of a file; one that is refused is shown with its place, and ends the command."""
    with told(path, as_json=as_json):
        return Mapping.from_text(read_text(path, "mapping.syntax"))


def differences(comparison: Comparison) -> dict[str, Any]:
    """How a transformed schema differs from the global one, as ``--json`` shows it."""
    return {
        "missing": [str(place) for place in comparison.missing],
        "extra": [str(place) for place in comparison.extra],
        "cardinality": [
            {"path": str(place), "here": here, "global": there}
            for place, here, there in comparison.cardinality
        ],
    }


def in_words(comparison: Comparison) -> Iterator[str]:
    """The same in lines."""
    for place in comparison.missing:
        yield f"missing: the global schema has {place}, and these documents never"
    for place in comparison.extra:
        yield f"extra: these documents have {place}, which the global schema does not know"
    for place, here, there in comparison.cardinality:
        yield f"cardinality: {place} occurs {here} here, {there} in the global schema"
