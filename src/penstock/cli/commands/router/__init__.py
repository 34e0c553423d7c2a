"""``penstock router``: runs a router, and speaks to one as publisher or subscriber."""

from __future__ import annotations

import typer

from penstock.cli.commands.router.dead_letters import dead_letters
from penstock.cli.commands.router.forget import forget
from penstock.cli.commands.router.publish import publish
from penstock.cli.commands.router.start import start
from penstock.cli.commands.router.status import status
from penstock.cli.commands.router.subscribe import subscribe
from penstock.cli.commands.router.tree import tree
from penstock.cli.commands.router.unsubscribe import unsubscribe

router_app = typer.Typer(invoke_without_command=True, no_args_is_help=True)
router_app.callback()(start)
router_app.command("status")(status)
router_app.command("tree")(tree)
router_app.command("dead-letters")(dead_letters)
router_app.command("forget")(forget)
router_app.command("publish")(publish)
router_app.command("subscribe")(subscribe)
router_app.command("unsubscribe")(unsubscribe)
