"""``penstock mailbox``: prints or exports the deliveries to a subscriber."""

from __future__ import annotations

import base64
import contextlib
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer
from rich.text import Text

from penstock.cli.console import note, out, plural, print_json
from penstock.cli.document_text import decode_for_display
from penstock.cli.options import JsonOption, WorkspaceOption
from penstock.cli.result_format import FRAGMENT_CHARACTERS_MAX, one_line
from penstock.errors import error

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.workspace.mailbox import Delivery, Mailbox

SHOWN_MAX = 100
"""How many deliveries the text output prints unless ``--limit`` is given."""

FOLLOW_SECONDS = 1.0
"""How often ``--follow`` looks for new deliveries."""

_NAME_CHARACTERS_MAX = 80


def mailbox(
    subscriber: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the subscriber.", show_default=False)
    ],
    *,
    workspace: WorkspaceOption = Path(),
    follow: Annotated[
        bool, typer.Option("--follow", help="Keep printing new deliveries until interrupted.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Write each delivery to a file in this folder; existing files are left alone.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Show only the newest N, with --cursor the oldest N (default: 100 as text, all as"
            " JSON or files).",
            metavar="N",
        ),
    ] = None,
    cursor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Show only what this cursor has not acknowledged, oldest first."
        ),
    ] = None,
    acknowledge: Annotated[
        bool,
        typer.Option("--acknowledge", help="Acknowledge what was shown; needs --cursor."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the deliveries to a subscriber, in the order in which they were made.

    Exported files contain the published documents byte for byte, or one fragment each.
    """
    from penstock.workspace import Workspace

    if acknowledge and cursor is None:
        raise typer.BadParameter("give the cursor that acknowledges with --cursor")
    with Workspace.open(workspace, read_only=not acknowledge) as opened:
        box = opened.mailbox(subscriber)
        reader = None if cursor is None else box.cursor(cursor)
        after = None if reader is None else reader.position
        sink: _Sink = _TextSink()
        if export is not None:
            sink = _ExportSink(export, as_json=as_json)
        elif as_json:
            sink = _JsonSink()
        else:
            limit = SHOWN_MAX if limit is None else limit
        batches = _batches(box, follow=follow, after=after)
        first = next(batches)
        is_known = first.num_rows or after is not None
        if not is_known and not opened.subscriptions.subscriber_exists(subscriber):
            raise error("subscriber.unknown", f"there is no subscriber `{subscriber}`")
        count = first.num_rows
        if reader is not None and follow:
            limit = None  # acknowledging what arrives later must not skip what was not shown
        shown = count if limit is None else min(limit, count)
        offset = 0 if reader is not None else count - shown

        def handle(deliveries: pa.Table) -> None:
            for delivery in box.opened(deliveries):
                sink.delivery(delivery)
            sink.flush()
            if reader is not None and acknowledge and deliveries.num_rows:
                reader.acknowledge(deliveries.column("position")[-1].as_py())

        with sink:
            handle(first.slice(offset, shown))
            sink.end(shown, count)
            try:
                for batch in batches:
                    handle(batch)
            except KeyboardInterrupt:
                note("stopped")  # the normal end of --follow


def _batches(box: Mailbox, *, follow: bool, after: int | None) -> Iterator[pa.Table]:
    """The deliveries so far and, with ``follow``, endlessly what arrives later."""
    if follow:
        return box.follow(seconds=FOLLOW_SECONDS, after=after)
    return iter([box.deliveries(after=after)])


class _Sink(contextlib.AbstractContextManager["_Sink"]):
    """Receives deliveries."""

    @abstractmethod
    def delivery(self, delivery: Delivery) -> None:
        """Handles a delivery."""

    def flush(self) -> None:
        """Called after all deliveries that are available."""

    def end(self, shown: int, count: int) -> None:
        """Called once, after the deliveries so far: ``shown`` of ``count`` were handled."""

    def __exit__(self, *_: object) -> None:
        pass


class _TextSink(_Sink):
    """Prints one line per delivery and, below it, one line per delivered fragment."""

    def delivery(self, delivery: Delivery) -> None:
        console = out()
        console.print(
            Text.assemble(
                (f"{delivery.sequence:>8}", "bold"),
                f"  {delivery.published_at:%Y-%m-%d %H:%M}  {delivery.subscription}",
                (f"  from {delivery.publisher}", "dim"),
            ),
            soft_wrap=True,
        )
        for text in _texts(delivery):
            console.print(Text(f"          {one_line(text)}", style="cyan"), soft_wrap=True)
        if delivery.fragments_omitted:
            omitted = plural(delivery.fragments_omitted, "more fragment")
            console.print(
                f"          {omitted} omitted: see penstock subscribe --fragments-max",
                soft_wrap=True,
            )

    def end(self, shown: int, count: int) -> None:
        if shown < count:
            note(f"the newest {shown:,} of {plural(count, 'delivery', 'deliveries')}")
        else:
            note(plural(count, "delivery", "deliveries"))


class _JsonSink(_Sink):
    """Prints one object per delivery, with its content."""

    def delivery(self, delivery: Delivery) -> None:
        print_json(_as_dict(delivery))


class _ExportSink(_Sink):
    """Writes one file per delivery, with the published bytes, or one file per fragment."""

    def __init__(self, folder: Path, *, as_json: bool) -> None:
        from penstock.workspace.atomic_files import AtomicFiles
        from penstock.workspace.limits import EXPORTED_FILES_AT_ONCE

        self._files_max = EXPORTED_FILES_AT_ONCE
        self._folder = folder
        self._as_json = as_json
        folder.mkdir(parents=True, exist_ok=True)
        self._written = 0
        self._files = AtomicFiles()
        self._rows: list[dict[str, Any]] = []

    def delivery(self, delivery: Delivery) -> None:
        parts: list[bytes]
        if delivery.fragments is not None:
            parts = [fragment.xml.encode() for fragment in delivery.fragments]
            names = [f"{_stem(delivery)}-{number}.xml" for number in range(1, len(parts) + 1)]
            if delivery.fragments_omitted:
                omitted = plural(delivery.fragments_omitted, "more fragment")
                note(f"{delivery.document}: {omitted} omitted")
        elif delivery.content is not None:
            parts, names = [delivery.content], [f"{_stem(delivery)}.xml"]
        else:
            note(f"{delivery.document} has been removed from the workspace")
            return
        for name, part in zip(names, parts, strict=True):
            path = self._folder / name
            if path.exists():  # exported earlier
                continue
            self._files.write(path, part)
            self._rows.append({**_header(delivery), "file": str(path)})
        if len(self._files) >= self._files_max:
            self.flush()

    def flush(self) -> None:
        self._files.commit()
        self._written += len(self._rows)
        if self._as_json:
            for row in self._rows:
                print_json(row)
        self._rows.clear()

    def __exit__(self, *_: object) -> None:
        self._files.discard()

    def end(self, shown: int, count: int) -> None:
        if not self._as_json:
            deliveries = plural(shown, "delivery", "deliveries")
            note(f"{deliveries}: {plural(self._written, 'new file')} in {self._folder}")


def _texts(delivery: Delivery) -> list[str]:
    if delivery.fragments is not None:
        return [fragment.xml for fragment in delivery.fragments]
    if delivery.content is None:
        return ["(the document has been removed from the workspace)"]
    # Decodes only as much as is printed; a character cut in two becomes U+FFFD.
    return [decode_for_display(delivery.content[: FRAGMENT_CHARACTERS_MAX * 8])]


def _stem(delivery: Delivery) -> str:
    """Prefix of the file names of a delivery: unique, and sorted in publishing order."""
    subscription = quote(delivery.subscription, safe=" ")[:_NAME_CHARACTERS_MAX]
    return f"{delivery.sequence:012}-{subscription}-{delivery.delivery[:8]}"


def _header(delivery: Delivery) -> dict[str, Any]:
    return {
        "delivery": delivery.delivery,
        "subscription": delivery.subscription,
        "document": delivery.document,
        "publisher": delivery.publisher,
        "sequence": delivery.sequence,
        "position": delivery.position,
        "published_at": delivery.published_at.isoformat(),
        "delivered_at": delivery.delivered_at.isoformat(),
    }


def _as_dict(delivery: Delivery) -> dict[str, Any]:
    row = _header(delivery)
    if delivery.fragments is not None:
        row["fragments"] = [
            {"kind": each.kind, "ranges": [list(span) for span in each.spans], "xml": each.xml}
            for each in delivery.fragments
        ]
        row["fragments_omitted"] = delivery.fragments_omitted
    elif delivery.content is not None:
        try:
            row["content"] = delivery.content.decode("utf-8")
        except UnicodeDecodeError:
            row["content_base64"] = base64.b64encode(delivery.content).decode()
    return row
