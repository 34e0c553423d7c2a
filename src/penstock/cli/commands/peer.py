"""``penstock peer``: a peer of the overlay, as source, as subscriber, or both."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.commands.publish import login_name
from penstock.cli.console import note, print_json, print_line, show_error
from penstock.cli.document_inputs import document_inputs
from penstock.cli.document_text import decode_for_display
from penstock.cli.link_options import AuthoritiesOption, MetricsOption, TlsKeyOption
from penstock.cli.options import DOCUMENTS_HELP, EXISTING_FILE, JsonOption
from penstock.cli.peer_options import (
    AdvertiseOption,
    ChildChoiceOption,
    DeltaThresholdOption,
    GroupTokenOption,
    InsecureOption,
    ListenOption,
    MoveWaitOption,
    OverheadThresholdOption,
    PeerCertificateOption,
    PlacementOption,
    reorganisation_options,
    service_options,
)
from penstock.cli.result_format import FRAGMENT_CHARACTERS_MAX, one_line

if TYPE_CHECKING:
    from penstock.overlay import Deliver, PatternInterest
    from penstock.service.peer.process import Report
    from penstock.service.peer.publication import GivenDocument


def peer(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DOCUMENT", help=f"Published first, with --source. {DOCUMENTS_HELP}"
        ),
    ] = None,
    *,
    source: Annotated[
        bool, typer.Option("--source", help="Be a source: the root of a tree.")
    ] = False,
    watch: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="Publish the files of a folder, and those that are moved into it later.",
        ),
    ] = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="Publish each line of standard input as a document.")
    ] = False,
    children: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Publish nothing until the source has N children."),
    ] = 0,
    join: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="Join the trees of the peer at this address: HOST:PORT or unix:PATH (repeatable).",
            show_default=False,
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Where the system agent listens, if there is one: see `penstock overlay agent`.",
            show_default=False,
        ),
    ] = None,
    subscribe: Annotated[
        list[str] | None,
        typer.Option(metavar="QUERY", help="An XPath query (repeatable).", show_default=False),
    ] = None,
    keywords: Annotated[
        list[str] | None,
        typer.Option(metavar="WORDS", help="A keyword query (repeatable).", show_default=False),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file of XPath queries, one a line, which is read again at SIGHUP.",
            **EXISTING_FILE,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Write each delivery to a file of this folder, instead of printing it.",
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="Leave and end after N deliveries.", show_default=False
        ),
    ] = None,
    listen: ListenOption = "127.0.0.1:0",
    advertise: AdvertiseOption = None,
    name: Annotated[
        str, typer.Option(help="What the peer's name begins with (default: your login name).")
    ] = "",
    token_file: GroupTokenOption = None,
    insecure: InsecureOption = False,
    tls_certificate: PeerCertificateOption = None,
    tls_key: TlsKeyOption = None,
    tls_authorities: AuthoritiesOption = None,
    fan_out: Annotated[
        int, typer.Option(min=0, help="Children that this peer takes, in all its trees together.")
    ] = 6,
    heartbeat_seconds: Annotated[
        float, typer.Option(metavar="S", help="Interval of heartbeats to parents and children.")
    ] = 5.0,
    silence_seconds: Annotated[
        float,
        typer.Option(metavar="S", help="Silence after which a parent or child counts as dead."),
    ] = 16.0,
    reorganise_seconds: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Interval at which overhead is examined; without it, nobody is asked to move.",
            show_default=False,
        ),
    ] = None,
    overhead_threshold: OverheadThresholdOption = None,
    delta_threshold: DeltaThresholdOption = None,
    move_wait_seconds: MoveWaitOption = None,
    placement: PlacementOption = None,
    child_choice: ChildChoiceOption = None,
    metrics: MetricsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a peer of the overlay in the foreground, until SIGTERM or Ctrl-C.

    Peers form a tree for each source among themselves, without a server. A peer with --subscribe
    and --join or --agent receives every document that matches from then on, once and in order,
    whichever peers leave or crash. At the end it leaves its trees; a second signal ends it at once.
    """
    from penstock.links import run
    from penstock.overlay import PeerOptions
    from penstock.service.peer.process import PeerTask, run_peer
    from penstock.service.router import parse_address

    _check_arguments(
        source=source,
        publishes={"DOCUMENT": files, "--watch": watch, "--lines": lines, "--children": children},
        joins=bool(join or agent),
        must_subscribe=bool(join or not source),
        subscribes={
            "--subscribe": subscribe,
            "--keywords": keywords,
            "--queries": queries,
            "--count": count,
        },
    )
    options = service_options(
        label=name or login_name(),
        listen=listen,
        advertise=advertise,
        agent=agent,
        token_file=token_file,
        insecure=insecure,
        certificate=tls_certificate,
        key=tls_key,
        authorities=tls_authorities,
        metrics=metrics,
        peer=PeerOptions(
            fan_out=fan_out,
            heartbeat_seconds=heartbeat_seconds,
            silence_seconds=silence_seconds,
            **reorganisation_options(
                reorganise_seconds=reorganise_seconds,
                overhead_threshold=overhead_threshold,
                delta_threshold=delta_threshold,
                move_wait_seconds=move_wait_seconds,
                placement=placement,
                child_choice=child_choice,
            ),
        ),
    )

    def interest() -> PatternInterest:
        return _interest([*(subscribe or []), *_queries_in(queries)], keywords or [])

    task_of = partial(
        PeerTask,
        children=children,
        join=[parse_address(each) for each in join or []],
        interest=interest() if subscribe or keywords or queries else None,
        read_interest=None if queries is None else interest,
        count=count,
    )
    inputs = document_inputs(files) if files else []
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)

    async def main() -> None:
        from penstock.service.peer.publication import documents_of_files

        published = None
        if source:
            given = [(str(each), each.content) for each in inputs]
            published = documents_of_files(given, then=_further(watch, lines=lines))
        printer = _Printer(as_json=as_json, folder=output)
        await run_peer(options, task_of(documents=published), printer)

    run(main())
    note("left and stopped")


def _check_arguments(
    *,
    source: bool,
    publishes: dict[str, object],
    joins: bool,
    must_subscribe: bool,
    subscribes: dict[str, object],
) -> None:
    if not source and not joins:
        raise typer.BadParameter(
            "give --source to publish, or --join or --agent to subscribe",
            param_hint="--source, --join",
        )
    for option, value in publishes.items():
        if value and not source:
            raise typer.BadParameter("only a source publishes: give --source", param_hint=option)
    for option, value in subscribes.items():
        if value is not None and not joins:
            raise typer.BadParameter("give the address to --join, or --agent", param_hint=option)
    if must_subscribe and not any(value for name, value in subscribes.items() if name != "--count"):
        raise typer.BadParameter("give a query", param_hint="--subscribe, --keywords, --queries")


def _queries_in(file: Path | None) -> list[str]:
    """The queries of a file: its lines without those that are empty."""
    from penstock.errors import error

    if file is None:
        return []
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise error("overlay.option", f"{file} cannot be read: {problem}") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def _interest(queries: list[str], keywords: list[str]) -> PatternInterest:
    from penstock.overlay import PatternModel

    return PatternModel().interest(xpath=queries, keywords=keywords)


def _further(watch: Path | None, *, lines: bool) -> list[AsyncIterator[GivenDocument]]:
    from penstock.service.peer.publication import documents_in, documents_of_lines

    found = []
    if lines:
        found.append(documents_of_lines(sys.stdin.buffer))
    if watch is not None:
        found.append(documents_in(watch))
    return found


class _Printer:
    """Prints what a peer reports, or writes its deliveries to files."""

    def __init__(self, *, as_json: bool, folder: Path | None) -> None:
        self._as_json = as_json
        self._folder = folder

    def __call__(self, report: Report) -> None:
        from penstock.overlay import Deliver
        from penstock.service.peer.process import Refused, SubscriptionRefused

        if isinstance(report, Refused):
            show_error(report.problem, place=report.origin, as_json=self._as_json)
        elif isinstance(report, SubscriptionRefused):
            show_error(report.problem, place="--queries", as_json=self._as_json)
        elif isinstance(report, Deliver) and self._folder is not None:
            self._store(report, self._folder)
        elif self._as_json:
            row = _row(report)
            if row:
                print_json(row)
        else:
            _print(report)
        sys.stdout.flush()

    def _store(self, delivery: Deliver, folder: Path) -> None:
        label, _, where = delivery.source.partition("@")
        origin = f"{label}-{where}".replace(":", "-").replace("/", "-")
        path = folder / f"{origin}-{delivery.epoch}-{delivery.sequence:09}.xml"
        temporary = folder / f".{path.name}"
        temporary.write_bytes(delivery.document.content)
        temporary.replace(path)


def _row(report: Report) -> dict[str, Any]:
    from penstock.overlay import (
        Connected,
        Deliver,
        Disconnected,
        EpochChanged,
        GapReported,
        Left,
    )
    from penstock.service.peer.process import Listening, Published, SubscriptionChanged

    match report:
        case Deliver():
            document = report.document
            return {
                "type": "delivery",
                "source": report.source,
                "epoch": report.epoch,
                "sequence": report.sequence,
                "document": document.identity,
                "publisher": document.header.publisher,
                "content": decode_for_display(document.content),
            }
        case Listening():
            metrics = None if report.metrics is None else str(report.metrics)
            return {
                "type": "listening",
                "peer": report.name,
                "address": str(report.address),
                "metrics": metrics,
            }
        case Published():
            return {"type": "published", "file": report.origin, "sequence": report.sequence}
        case SubscriptionChanged():
            return {"type": "subscription", "queries": report.queries}
        case Connected():
            return {
                "type": "connected",
                "source": report.source,
                "parent": report.parent,
                "epoch": report.epoch,
                "sequence": report.sequence,
            }
        case Disconnected():
            return {"type": "disconnected", "source": report.source, "parent": report.parent}
        case GapReported():
            return {
                "type": "gap",
                "source": report.source,
                "epoch": report.epoch,
                "first": report.first,
                "last": report.last,
            }
        case EpochChanged():
            return {
                "type": "epoch",
                "source": report.source,
                "epoch": report.epoch,
                "last_sequence": report.last_sequence,
            }
        case Left():
            return {"type": "left", "source": report.source}
        case _:
            return {}


def _print(report: Report) -> None:
    from penstock.overlay import Connected, Deliver, Disconnected, EpochChanged, GapReported
    from penstock.service.peer.process import Listening, Published, SubscriptionChanged

    match report:
        case Deliver():
            content = report.document.content[: FRAGMENT_CHARACTERS_MAX * 8]
            print_line(f"{report.sequence:>8}  {one_line(decode_for_display(content))}")
        case Listening():
            print_line(f"peer {report.name} listens on {report.address}")
            if report.metrics is not None:
                print_line(f"metrics: http://{report.metrics}/metrics")
        case Published():
            print_line(f"{report.sequence:>8}  {report.origin}")
        case SubscriptionChanged():
            note(f"subscribed to {report.queries} queries")
        case Connected():
            note(f"connected to {report.parent}")
        case Disconnected():
            note(f"lost {report.parent}, joining again")
        case GapReported():
            note(f"documents {report.first} to {report.last} of {report.source} are lost")
        case EpochChanged():
            note(f"{report.source} has begun a new epoch")
        case _:
            pass
