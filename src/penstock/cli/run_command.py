"""The command that runs the pipeline: options and help."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import JsonOption, WorkspaceOption
from penstock.cli.spark_options import ConfOption, MasterOption, RemoteOption, spark_options

run_app = typer.Typer()


class RunMode(StrEnum):
    """What happens to refused documents (:data:`penstock.pipeline.document_matching.MODES`)."""

    PERMISSIVE = "PERMISSIVE"
    DROPMALFORMED = "DROPMALFORMED"
    FAILFAST = "FAILFAST"


class UnknownSchema(StrEnum):
    """As :data:`penstock.mediation.mapping_table.UNKNOWN_SCHEMA` has it."""

    REFUSE = "refuse"
    AS_IS = "as-is"


@run_app.command("run")
def _run(
    *,
    workspace: WorkspaceOption = Path(),
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for new documents, until stopped.")
    ] = False,
    master: MasterOption = None,
    remote: RemoteOption = None,
    conf: ConfOption = None,
    mode: Annotated[
        RunMode, typer.Option(help="What becomes of documents that are refused.")
    ] = RunMode.PERMISSIVE,
    unknown_schema: Annotated[
        UnknownSchema,
        typer.Option(
            help="What becomes of documents that name a schema which nobody registered: refused,"
            " or matched as they are."
        ),
    ] = UnknownSchema.REFUSE,
    files_per_batch: Annotated[
        int | None, typer.Option(min=1, help="Inbox files that a micro-batch takes at most.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Match what is in the inbox, and fill the mailboxes.

    Stops when the inbox is empty, unless it follows. Whatever interrupts it, the next run goes on
    where it stopped: nothing is lost and nothing is delivered twice.
    """
    from penstock.cli import run
    from penstock.pipeline.run import RunOptions

    raise typer.Exit(
        run.run(
            workspace,
            spark_options(master, remote, conf),
            RunOptions(
                follow=follow,
                unknown_schema=unknown_schema.value,
                mode=mode.value,
                files_per_batch=files_per_batch,
            ),
            as_json=as_json,
        )
    )
