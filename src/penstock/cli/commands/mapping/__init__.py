"""``penstock mapping``: derives, checks, applies and registers mappings."""

from __future__ import annotations

import typer

from penstock.cli.commands.mapping.apply import apply_mapping
from penstock.cli.commands.mapping.check import check_mapping
from penstock.cli.commands.mapping.derive import derive_mapping
from penstock.cli.commands.mapping.list import list_mappings
from penstock.cli.commands.mapping.register import register_mapping
from penstock.cli.commands.mapping.remove import remove_mapping
from penstock.cli.commands.mapping.show import show_mapping

mapping_app = typer.Typer(
    name="mapping",
    no_args_is_help=True,
    help="Derive, check, try and register mappings from publishers' schemas to a global schema.",
)
mapping_app.command("derive")(derive_mapping)
mapping_app.command("check")(check_mapping)
mapping_app.command("apply")(apply_mapping)
mapping_app.command("register")(register_mapping)
mapping_app.command("list")(list_mappings)
mapping_app.command("show")(show_mapping)
mapping_app.command("remove")(remove_mapping)
