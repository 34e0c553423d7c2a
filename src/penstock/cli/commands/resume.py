"""``penstock resume``: resumes deliveries to paused subscriptions."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.options import JsonOption, SubscriptionsArgument, WorkspaceOption
from penstock.cli.subscription_changes import print_change


def resume(
    ids: SubscriptionsArgument, *, workspace: WorkspaceOption = Path(), as_json: JsonOption = False
) -> None:
    """Resume paused subscriptions."""
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        opened.subscriptions.set_paused(ids, False)
    print_change(ids, "resumed", as_json=as_json)
