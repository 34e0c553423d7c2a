"""``penstock mapping apply``: prints documents as rewritten by a mapping."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.console import note, place_of, print_file, print_json, show_error
from penstock.cli.document_inputs import document_inputs
from penstock.cli.exit_codes import ExitCode
from penstock.cli.input_files import read_mapping
from penstock.cli.mapping_options import MappingArgument
from penstock.cli.mapping_report import note_unknown_elements
from penstock.cli.options import DocumentsArgument, JsonOption
from penstock.errors import DocumentError

if TYPE_CHECKING:
    from penstock.documents import Span
    from penstock.mediation import GlobalDocument, Mapping


def apply_mapping(
    mapping: MappingArgument,
    documents: DocumentsArgument,
    *,
    trace: Annotated[
        bool, typer.Option("--trace", help="Also report on stderr what each operator did.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print documents as rewritten for the global schema, which is what XPath queries match.

    Refused documents are reported on stderr and do not stop the others.
    """
    from penstock.documents import read_events
    from penstock.mediation import rewrite

    found = read_mapping(mapping, as_json=as_json)
    refused = False
    for each in document_inputs(documents):
        path, content = each.path, each.content()
        try:
            rewritten = rewrite(found, read_events(content))
        except DocumentError as reason:
            show_error(reason, place=place_of(path, reason), as_json=as_json)
            refused = True
            continue
        steps = list(_trace_steps(found, rewritten, content)) if trace else []
        if as_json:
            row = {"document": str(path), "xml": rewritten.to_xml(), "unknown": rewritten.unknown}
            print_json({**row, "trace": steps} if trace else row)
            continue
        print_file(rewritten.to_xml())
        for step in steps:
            note(f"{path}:{step['line']}: {step['operator']}: {step['what']}")
        note_unknown_elements(path, rewritten.unknown)
    if refused:
        raise typer.Exit(ExitCode.INPUT_REFUSED)


def _trace_steps(
    mapping: Mapping, rewritten: GlobalDocument, content: bytes
) -> Iterator[dict[str, Any]]:
    described = {operator: mapping.describe(operator) for operator in mapping.operators}
    for each in rewritten.trace:
        yield {
            "operator": described[each.operator],
            "line": _line(content, each.span),
            "what": each.what,
        }


def _line(content: bytes, span: Span) -> int:
    return content.count(b"\n", 0, span.start) + 1
