"""``penstock publish``: documents into the inbox."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.table import Table

from penstock.cli.console import ExitCode, note, plural, print_json, print_table, progress
from penstock.cli.mappings import read_mapping
from penstock.documents import Document, Header
from penstock.errors import DocumentError
from penstock.mediation import MappingChooser, carrying
from penstock.workspace import Receipt, Workspace


def run(
    folder: Path,
    files: Sequence[Path],
    *,
    publisher: str | None,
    schema: str,
    mapping: Path | None,
    fields: Mapping[str, str],
    id_: str,
    as_json: bool,
) -> ExitCode:
    """Publishes each file as a document; a row tells where it stands in the order."""
    carried = {} if mapping is None else carrying(read_mapping(mapping, as_json=as_json))
    header = Header(
        publisher=publisher if publisher is not None else login_name(),
        schema=schema,
        id=id_,
        fields={**fields, **carried},
    )
    new = known = 0
    with Workspace.open(folder) as workspace:
        receipts = workspace.inbox.publish_each(_documents(files, header))
        for path, receipt in zip(progress(files, "publishing"), receipts, strict=True):
            new += receipt.new
            known += not receipt.new
            (_show_json if as_json else _show_text)(path, receipt)
        refusal = _refusal(workspace, header)
    if as_json:
        refused = {} if refusal is None else {"refusal": refusal}
        print_json({"type": "summary", "published": new, "known": known, **refused})
    else:
        told = f", {known:,} known already" if known else ""
        note(f"{plural(new, 'document')} published{told}")
        if refusal is not None:
            note(f"note: {refusal}; by default `penstock run` refuses such documents")
    return ExitCode.DONE


def _refusal(workspace: Workspace, header: Header) -> str | None:
    """Why documents with this header would be refused now; what they need may come later."""
    try:
        MappingChooser(workspace.mediation.read().table()).choose(header)
    except DocumentError as reason:
        return reason.message
    return None


def login_name() -> str:
    """Who publishes where nobody says."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return "anonymous"


def _documents(files: Sequence[Path], header: Header) -> Iterator[Document]:
    for path in files:
        yield Document(path.read_bytes(), header)


def _show_text(path: Path, receipt: Receipt) -> None:
    row = Table(box=None, show_header=False, pad_edge=False)
    row.add_column(no_wrap=True)
    row.add_column(overflow="fold")
    row.add_row(f"{receipt.sequence:>8}", str(path) + ("" if receipt.new else " (known already)"))
    print_table(row)


def _show_json(path: Path, receipt: Receipt) -> None:
    print_json(
        {
            "type": "document",
            "file": str(path),
            "document": receipt.identity,
            "sequence": receipt.sequence,
            "new": receipt.new,
        }
    )
