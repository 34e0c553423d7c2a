"""Options of the commands that start Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from penstock.cli.options import bindings

MasterOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Spark master (default: all cores of this machine)."),
]
RemoteOption = Annotated[
    str | None, typer.Option(metavar="URL", help="Spark Connect server, as sc://HOST:PORT.")
]
ConfOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Spark configuration property (repeatable)."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """Where Spark runs, and how it is configured."""

    master: str | None
    remote: str | None
    settings: dict[str, str]


def spark_options(master: str | None, remote: str | None, conf: list[str] | None) -> SparkOptions:
    """Validates and combines the options."""
    if master is not None and remote is not None:
        raise typer.BadParameter("give --master or --remote, not both", param_hint="--remote")
    settings = bindings(conf, "--conf", "NAME=VALUE")
    return SparkOptions(master=master, remote=remote, settings=settings)


def check_java(options: SparkOptions) -> None:
    """Raises an error if Spark would start here and no suitable Java is installed."""
    from penstock.cli.commands.doctor import State, java
    from penstock.errors import error

    if options.remote is not None:
        return
    found = java()
    if found.state is not State.OK:
        detail = found.detail if found.version is None else f"{found.version} is {found.detail}"
        raise error("pipeline.java", f"Java: {detail}")
