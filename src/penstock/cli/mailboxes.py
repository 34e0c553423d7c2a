"""``penstock mailbox``: what was delivered to a subscriber, shown or put into a folder."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import pyarrow as pa
from rich.text import Text

from penstock.cli.console import ExitCode, note, out, plural, print_json
from penstock.cli.results import FRAGMENT_CHARACTERS_MAX, decoded
from penstock.errors import error
from penstock.workspace import Workspace
from penstock.workspace.atomic_files import writing
from penstock.workspace.mailbox import Delivery, Mailbox

SHOWN_MAX = 100
"""How many deliveries are shown as text unless ``--limit`` says otherwise."""

FOLLOW_SECONDS = 1.0
"""How often ``--follow`` looks for new deliveries."""

_NAME_CHARACTERS_MAX = 80


def run(
    folder: Path,
    subscriber: str,
    *,
    follow: bool,
    export: Path | None,
    limit: int | None,
    as_json: bool,
) -> ExitCode:
    """Shows or exports deliveries, the oldest first; with ``follow``, for ever."""
    with Workspace.open(folder) as workspace:
        mailbox = workspace.mailbox(subscriber)
        sink: _Sink = _Text()
        if export is not None:
            sink = _Export(export, as_json=as_json)
        elif as_json:
            sink = _Json()
        else:
            limit = SHOWN_MAX if limit is None else limit
        lists = _lists(mailbox, follow=follow)
        first = next(lists)
        if not first.num_rows and not workspace.subscriptions.subscriber_exists(subscriber):
            raise error("subscriber.unknown", f"nobody called `{subscriber}` has subscribed")
        count = first.num_rows
        shown = count if limit is None else min(limit, count)
        for delivery in mailbox.opened(first.slice(count - shown)):
            sink.delivery(delivery)
        sink.end(shown, count)
        try:
            for fresh in lists:
                for delivery in mailbox.opened(fresh):
                    sink.delivery(delivery)
        except KeyboardInterrupt:
            note("stopped")  # how following ends
    return ExitCode.DONE


def _lists(mailbox: Mailbox, *, follow: bool) -> Iterator[pa.Table]:
    if follow:
        return mailbox.follow(seconds=FOLLOW_SECONDS)
    return iter([mailbox.deliveries()])


class _Sink(Protocol):
    """What is done with deliveries."""

    def delivery(self, delivery: Delivery) -> None:
        """A delivery."""

    def end(self, shown: int, count: int) -> None:
        """The end of what was there to begin with: so many of so many were given."""


class _Text:
    """A line a delivery, and below it what was delivered, on a line each."""

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

    def end(self, shown: int, count: int) -> None:
        if shown < count:
            note(f"the newest {shown:,} of {plural(count, 'delivery', 'deliveries')}")
        else:
            note(plural(count, "delivery", "deliveries"))


class _Json:
    """An object a delivery, with its content."""

    def delivery(self, delivery: Delivery) -> None:
        print_json(_as_dict(delivery))

    def end(self, shown: int, count: int) -> None:
        pass


class _Export:
    """A file a delivery: the document's bytes as they were published, or a file a fragment."""

    def __init__(self, folder: Path, *, as_json: bool) -> None:
        self._folder = folder
        self._as_json = as_json
        folder.mkdir(parents=True, exist_ok=True)
        self._written = 0

    def delivery(self, delivery: Delivery) -> None:
        parts: list[bytes]
        if delivery.fragments is not None:
            parts = [fragment.xml.encode() for fragment in delivery.fragments]
            names = [f"{_stem(delivery)}-{number}.xml" for number in range(1, len(parts) + 1)]
        elif delivery.content is not None:
            parts, names = [delivery.content], [f"{_stem(delivery)}.xml"]
        else:
            note(f"{delivery.document} is no longer kept")
            return
        for name, part in zip(names, parts, strict=True):
            path = self._folder / name
            if not path.exists():  # exporting again adds what is new
                with writing(path) as file:
                    file.write(part)
                self._written += 1
                if self._as_json:
                    print_json({**_header(delivery), "file": str(path)})

    def end(self, shown: int, count: int) -> None:
        if not self._as_json:
            told = plural(shown, "delivery", "deliveries")
            note(f"{told}: {plural(self._written, 'new file')} in {self._folder}")


def one_line(text: str) -> str:
    """White space folded, cut at the limit."""
    folded = " ".join(text.split())
    if len(folded) <= FRAGMENT_CHARACTERS_MAX:
        return folded
    return folded[: FRAGMENT_CHARACTERS_MAX - 1] + "…"


def _texts(delivery: Delivery) -> list[str]:
    if delivery.fragments is not None:
        return [fragment.xml for fragment in delivery.fragments]
    if delivery.content is None:
        return ["(the document is no longer kept)"]
    # Only what can be shown is decoded; a letter that is cut in two shows as a mark.
    return [decoded(delivery.content[: FRAGMENT_CHARACTERS_MAX * 8])]


def _stem(delivery: Delivery) -> str:
    """The beginning of a file's name: it sorts by publishing, and is one delivery's alone."""
    subscription = quote(delivery.subscription, safe=" ")[:_NAME_CHARACTERS_MAX]
    return f"{delivery.sequence:012}-{subscription}-{delivery.delivery[:8]}"


def _header(delivery: Delivery) -> dict[str, Any]:
    return {
        "delivery": delivery.delivery,
        "subscription": delivery.subscription,
        "document": delivery.document,
        "publisher": delivery.publisher,
        "sequence": delivery.sequence,
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
    elif delivery.content is not None:
        try:
            row["content"] = delivery.content.decode("utf-8")
        except UnicodeDecodeError:
            row["content_base64"] = base64.b64encode(delivery.content).decode()
    return row
