"""``penstock publish``: puts documents into the inbox."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.console import note, plural, print_json, print_line, progress
from penstock.cli.document_inputs import STDIN, DocumentInput, document_inputs, paths_listed_in
from penstock.cli.input_files import read_mapping
from penstock.cli.options import (
    DOCUMENTS_HELP,
    EXISTING_FILE,
    JsonOption,
    WorkspaceOption,
    header_fields,
)
from penstock.errors import DocumentError

if TYPE_CHECKING:
    from penstock.documents import Document, Header
    from penstock.workspace import Receipt, Workspace


def publish(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DOCUMENT", help=DOCUMENTS_HELP, show_default=False),
    ] = None,
    *,
    from_file: Annotated[
        Path | None,
        typer.Option(
            "--from",
            "--from-file",
            metavar="FILE",
            help="Also publish the documents whose paths this file lists, one per line or"
            " terminated by NUL; `-` reads the list, not a document, from standard input.",
            show_default=False,
        ),
    ] = None,
    workspace: WorkspaceOption = Path(),
    publisher: Annotated[
        str | None, typer.Option(help="Name of the publisher (default: your login name).")
    ] = None,
    schema: Annotated[
        str,
        typer.Option(help="Name of the documents' schema, which selects the registered mapping."),
    ] = "",
    mapping: Annotated[
        Path | None,
        typer.Option(
            help="A mapping file to send along instead of using a registered mapping.",
            **EXISTING_FILE,
        ),
    ] = None,
    header_field: Annotated[
        list[str] | None,
        typer.Option(
            "--header", "--field", metavar="FIELD=VALUE", help="A header field (repeatable)."
        ),
    ] = None,
    id_: Annotated[
        str,
        typer.Option(
            "--id",
            metavar="ID",
            help="Identity of the document, for a single file (default: a digest of its bytes).",
        ),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Put documents into the inbox, to be matched by `penstock run`.

    A document that was published before is not published again. Documents are parsed when they
    are processed, so malformed ones are accepted here.
    """
    from penstock.documents import Header
    from penstock.mediation import carrying
    from penstock.workspace import Workspace

    listed = [] if from_file is None else paths_listed_in(from_file)
    if from_file is not None and str(from_file) == STDIN and Path(STDIN) in (files or ()):
        raise typer.BadParameter(
            "standard input is either a document or the list", param_hint="--from"
        )
    inputs = document_inputs([*(files or ()), *listed])
    if id_ and len(inputs) > 1:
        raise typer.BadParameter("an identity applies to a single file", param_hint="--id")
    fields = header_fields(header_field)
    carried = {} if mapping is None else carrying(read_mapping(mapping, as_json=as_json))
    header = Header(
        publisher=publisher if publisher is not None else login_name(),
        schema=schema,
        id=id_,
        fields={**fields, **carried},
    )
    new = known = 0
    with Workspace.open(workspace) as opened:
        receipts = opened.inbox.publish_each(_documents(inputs, header))
        for each, receipt in zip(progress(inputs, "publishing"), receipts, strict=True):
            new += receipt.new
            known += not receipt.new
            (_print_json if as_json else _print_text)(each.path, receipt)
        refusal = _refusal(opened, header)
    if as_json:
        refused = {} if refusal is None else {"refusal": refusal}
        print_json({"type": "summary", "published": new, "known": known, **refused})
        return
    already = f", {known:,} already known" if known else ""
    note(f"{plural(new, 'document')} published{already}")
    if refusal is not None:
        note(f"note: {refusal}; by default `penstock run` refuses such documents")


def _refusal(workspace: Workspace, header: Header) -> str | None:
    """Why documents with this header would currently be refused, if they would."""
    from penstock.mediation import MappingChooser

    try:
        MappingChooser(workspace.mediation.read().table()).choose(header)
    except DocumentError as reason:
        return reason.message
    return None


def login_name() -> str:
    """The default publisher."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the user id of a container may have no name
        return "anonymous"


def _documents(inputs: Sequence[DocumentInput], header: Header) -> Iterator[Document]:
    from penstock.documents import Document
    from penstock.workspace.dead_letters import FILE_FIELD

    for each in inputs:
        # Dead letters name the file. A header holds text, a name on disk any bytes.
        name = os.fsencode(each.path).decode("utf-8", "replace")
        fields = {FILE_FIELD: name, **header.fields}
        yield Document(each.content(), replace(header, fields=fields))


def _print_text(path: Path, receipt: Receipt) -> None:
    known = "" if receipt.new else " (already known)"
    print_line(f"{receipt.sequence:>8}  {path}{known}")


def _print_json(path: Path, receipt: Receipt) -> None:
    print_json(
        {
            "type": "document",
            "file": str(path),
            "document": receipt.identity,
            "sequence": receipt.sequence,
            "new": receipt.new,
        }
    )
