"""``penstock router tree``: routes documents through a whole tree of routers on Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

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

SUFFIXES = (".txt", ".jsonl", ".csv")
"""Of subscription files."""

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
            metavar="FOLDER",
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
            metavar="FOLDER",
            help="Keep the tables of the routers here, a path or URI that every worker can read and"
            " write; those that do not change are reused (default: a temporary folder).",
        ),
    ] = None,
    master: MasterOption = None,
    remote: RemoteOption = None,
    conf: ConfOption = None,
    as_json: JsonOption = False,
) -> None:
    """Route documents through a tree of routers on Spark, hop by hop, in one job.

    For networks with more routers than you want to run as processes. Shows what every router does
    with every document that it receives; the deliveries are those of routers that run.
    """
    from penstock.pipeline import read_directory, route_documents, write_router_tree
    from penstock.pipeline.session import session

    for_spark = spark_options(master, remote, conf)
    pairs = _links(links)
    rows = list(_subscription_rows(subscriptions))
    check_java(for_spark)
    with tempfile.TemporaryDirectory() as scratch:
        started = session(
            master=for_spark.master,
            remote=for_spark.remote,
            settings=for_spark.settings,
            log=Path(scratch) / "spark.log",
        )
        with started as spark:
            wanted = spark.createDataFrame(rows, COLUMNS)
            written = write_router_tree(wanted, pairs, files or f"{scratch}/tree", routers=[router])
            read = read_directory(spark, documents, publisher=publisher or login_name())
            routed = route_documents(read, written, router=router)
            shown = routed.select(
                "document", "router", "hop", "source", "reading", "forwards", "matches", "error"
            )
            deliveries = 0
            for row in shown.orderBy("document", "hop", "router").toLocalIterator():
                found = row.asDict(recursive=True)
                deliveries += len(found["matches"] or ())
                _show(found, as_json=as_json)
    if files is not None:
        note(f"tables of the routers: {written}")
    if as_json:
        print_json({"type": "summary", "deliveries": deliveries})
    else:
        note(f"deliveries: {deliveries:,}")


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


def _show(row: dict[str, Any], *, as_json: bool) -> None:
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
