"""The options of commands that run Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from penstock.cli.options import bindings

MasterOption = Annotated[
    str | None,
    typer.Option(help="Where Spark runs; by default on all cores of this machine."),
]
RemoteOption = Annotated[
    str | None, typer.Option(metavar="URL", help="A Spark Connect server, as sc://HOST:PORT.")
]
ConfOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A setting of Spark's; repeatable."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """Where Spark runs."""

    master: str | None
    remote: str | None
    settings: dict[str, str]


def spark_options(master: str | None, remote: str | None, conf: list[str] | None) -> SparkOptions:
    """The options as they were given."""
    if master is not None and remote is not None:
        raise typer.BadParameter("give --master or --remote, not both", param_hint="--remote")
    settings = bindings(conf, "--conf", "NAME=VALUE")
    return SparkOptions(master=master, remote=remote, settings=settings)


def check_java(options: SparkOptions) -> None:
    """Refuse to start where Spark needs a Java here, and there is none that will do."""
    from penstock.cli.doctor import State, java
    from penstock.errors import error

    if options.remote is not None:
        return
    found = java()
    if found.state is not State.OK:
        detail = found.detail if found.version is None else f"{found.version} is {found.detail}"
        raise error("pipeline.java", f"Java: {detail}")
