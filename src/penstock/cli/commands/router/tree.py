"""``penstock router tree``: routes documents through a whole tree of routers on Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.commands.publish import login_name
from penstock.cli.console import note, print_json, print_line
from penstock.cli.options import EXISTING_FILE, JsonOption
from penstock.cli.spark_options import (
    ConfOption,
    MasterOption,
    RemoteOption,
    check_java,
    spark_options,
)
from penstock.errors import error

if TYPE_CHECKING:
    from penstock.pipeline.delivery import BatchCounts
    from penstock.workspace.pipeline_tables import Tables

STREAM = "router-tree"
"""The stream whose batches the runs of this command are."""

SUFFIXES = (".txt", ".jsonl", ".csv")
"""Of subscription files."""

SHOWN = ("document", "router", "hop", "source", "reading", "forwards", "matches", "error")
"""Columns of the routes that are shown."""

COLUMNS = (
    "router string, subscription string, subscriber string, kind string, query string,"
    " namespaces map<string,string>, default_namespace string, where map<string,string>,"
    " returns string, fragments_max int, starts_at timestamp, expires_at timestamp"
)
"""The table of subscriptions, as a Spark schema."""


def tree(
    documents: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH", help="XML files, folders or glob patterns that Spark can read."
        ),
    ],
    *,
    links: Annotated[
        Path,
        typer.Option(
            help="The links between routers, which form a tree: two names on each line.",
            show_default=False,
            **EXISTING_FILE,
        ),
    ],
    subscriptions: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="A subscription file for each router that has subscribers, such as paris.jsonl.",
            exists=True,
            file_okay=False,
            show_default=False,
        ),
    ],
    router: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The router that documents are published at.", show_default=False
        ),
    ],
    publisher: Annotated[
        str | None, typer.Option(help="Publisher of the documents (default: your login name).")
    ] = None,
    files: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Keep the tables of the routers here, a path or URI that every worker can read and"
            " write; those that do not change are reused (default: a temporary folder).",
        ),
    ] = None,
    deliver: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Show the deliveries, and add them, the documents, dead letters and counts to"
            " Delta tables in this folder, a path or URI that every worker can write. A run is one"
            " commit to each table.",
        ),
    ] = None,
    master: MasterOption = None,
    remote: RemoteOption = None,
    conf: ConfOption = None,
    as_json: JsonOption = False,
) -> None:
    """Route documents through a tree of routers on Spark, hop by hop, in one job.

    For networks with more routers than you want to run as processes. Shows what every router does
    with every document that it receives, or writes the deliveries to tables. They are those of
    routers that run.
    """
    from penstock.pipeline import deliver_routed, read_directory, route_documents, write_router_tree
    from penstock.pipeline.session import session
    from penstock.workspace.pipeline_tables import Tables

    for_spark = spark_options(master, remote, conf)
    pairs = _links(links)
    wanted_rows = list(_subscription_rows(subscriptions))
    check_java(for_spark)
    with tempfile.TemporaryDirectory() as scratch:
        started = session(
            master=for_spark.master,
            remote=for_spark.remote,
            settings=for_spark.settings,
            log=Path(scratch) / "spark.log",
        )
        with started as spark:
            wanted = spark.createDataFrame(wanted_rows, COLUMNS)
            written = write_router_tree(wanted, pairs, files or f"{scratch}/tree", routers=[router])
            read = read_directory(spark, documents, publisher=publisher or login_name())
            if deliver is None:
                routed = route_documents(read, written, router=router)
                shown = routed.select(*SHOWN).orderBy("document", "hop", "router")
                rows = (row.asDict(recursive=True) for row in shown.toLocalIterator())
                summary = {"deliveries": _show_routes(rows, as_json=as_json)}
            else:
                tables = Tables(deliver)
                tables.create()
                commit = partial(deliver_routed, read, written, tables, router=router)
                batch, summary = _next_batch(tables, commit)
                _show_deliveries(tables, batch, as_json=as_json)
    if files is not None:
        note(f"tables of the routers: {written}")
    if as_json:
        print_json({"type": "summary", **summary})
    else:
        note(", ".join(f"{name}: {count:,}" for name, count in summary.items()))


def _next_batch(
    tables: Tables, commit: Callable[..., BatchCounts | None]
) -> tuple[int, dict[str, int]]:
    """Commits the next batch of the stream; returns its number and its counts."""
    from penstock.workspace.delta import last_committed_batch

    last = last_committed_batch(tables.counts, STREAM)
    batch = 0 if last is None else last + 1
    counts = commit(stream=STREAM, batch=batch, at=datetime.now(UTC))
    if counts is None:
        raise error("routing.tree", f"another command delivers to {tables.root} at the same time")
    names = ("documents", "matched", "unmatched", "dead", "deliveries")
    return batch, {name: getattr(counts, name) for name in names}


def _show_deliveries(tables: Tables, batch: int, *, as_json: bool) -> None:
    import pyarrow as pa

    from penstock.workspace.table_scan import OneOf, scan
    from penstock.workspace.table_schemas import DELIVERIES

    names = ("document", "subscriber", "subscription", "batch")
    columns = pa.schema([DELIVERIES.field(name) for name in names])
    for part in scan(tables.deliveries, columns, [OneOf("batch", [batch])]):
        for row in part.drop_columns(["batch"]).to_pylist():
            if as_json:
                print_json({"type": "delivery", **row})
            else:
                to = f"delivered to {row['subscriber']} ({row['subscription']})"
                print_line(f"{row['document']}  {to}")


def _links(path: Path) -> list[tuple[str, str]]:
    pairs = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match line.split():
            case []:
                pass
            case [one, other]:
                pairs.append((one, other))
            case _:
                raise error("routing.tree", f"{path}:{number}: a link is two names of routers")
    return pairs


def _subscription_rows(folder: Path) -> Iterator[tuple[Any, ...]]:
    """Rows of :data:`COLUMNS`. The name of a file is that of the router."""
    from penstock.cli import subscription_rows
    from penstock.cli.subscription_file import raise_error

    for path in sorted(folder.iterdir()):
        if path.suffix not in SUFFIXES:
            continue
        for row in subscription_rows.read(path, None, raise_error):
            each = row.wanted
            if not each.paused:
                yield (
                    path.stem,
                    each.id or f"{path.stem}/{row.line}",
                    each.subscriber or f"{path.stem}/{row.line}",
                    each.kind,
                    each.query,
                    dict(each.namespaces),
                    each.default_namespace,
                    dict(each.where),
                    each.returns,
                    each.fragments_max,
                    each.starts_at,
                    each.expires_at,
                )


def _show_routes(rows: Iterable[dict[str, Any]], *, as_json: bool) -> int:
    """Shows what routers did, and counts the deliveries."""
    deliveries = 0
    for row in rows:
        deliveries += len(row["matches"] or ())
        _show_route(row, as_json=as_json)
    return deliveries


def _show_route(row: dict[str, Any], *, as_json: bool) -> None:
    matches = [
        {key: each[key] for key in ("subscription", "subscriber")} for each in row["matches"] or ()
    ]
    forwards = row["forwards"] or []
    refusal = None if row["error"] is None else row["error"]["code"]
    if as_json:
        found = {"forwards": forwards, "matches": matches, "error": refusal}
        print_json({"type": "routed", **row, **found})
        return
    parts = [f"read: {row['reading']}" if refusal is None else f"refused: {refusal}"]
    parts += [f"forwarded to {name}" for name in forwards]
    parts += [f"delivered to {each['subscriber']} ({each['subscription']})" for each in matches]
    print_line(f"{row['document']}  {row['router']}  " + ", ".join(parts))
