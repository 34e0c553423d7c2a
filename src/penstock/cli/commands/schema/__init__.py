"""``penstock schema``: infers, prints, matches and integrates schemas."""

from __future__ import annotations

import typer

from penstock.cli.commands.schema.infer import infer_schema
from penstock.cli.commands.schema.integrate import integrate_schemas
from penstock.cli.commands.schema.match import match_schemas
from penstock.cli.commands.schema.show import show_schema

schema_app = typer.Typer(
    name="schema",
    no_args_is_help=True,
    help="Print schemas, infer them from documents, match them, and integrate them.",
)
schema_app.command("infer")(infer_schema)
schema_app.command("show")(show_schema)
schema_app.command("match")(match_schemas)
schema_app.command("integrate")(integrate_schemas)
