"""``penstock sync``: serves documents, and keeps clones of them in step."""

from __future__ import annotations

import typer

from penstock.cli.commands.sync.clone import clone
from penstock.cli.commands.sync.clones import clones, forget
from penstock.cli.commands.sync.diff import diff
from penstock.cli.commands.sync.edit import edit
from penstock.cli.commands.sync.log import log
from penstock.cli.commands.sync.pull import pull
from penstock.cli.commands.sync.push import push
from penstock.cli.commands.sync.serve import serve
from penstock.cli.commands.sync.status import status
from penstock.cli.commands.sync.subscribe import subscribe
from penstock.cli.commands.sync.token import token_app
from penstock.cli.commands.sync.undo import redo, undo

sync_app = typer.Typer(
    name="sync",
    no_args_is_help=True,
    help="""Serve XML documents, and edit clones of them, or of parts of them, offline.

    A clone is a folder with an ordinary XML file. Edit it with any editor, then `push`.
    """,
)
sync_app.command("serve")(serve)
sync_app.add_typer(token_app, name="token")
sync_app.command("clone")(clone)
sync_app.command("status")(status)
sync_app.command("diff")(diff)
sync_app.command("edit")(edit)
sync_app.command("undo")(undo)
sync_app.command("redo")(redo)
sync_app.command("push")(push)
sync_app.command("pull")(pull)
sync_app.command("subscribe")(subscribe)
sync_app.command("log")(log)
sync_app.command("clones")(clones)
sync_app.command("forget")(forget)
