"""``penstock unsubscribe``: removes subscriptions."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.options import JsonOption, SubscriptionsArgument, WorkspaceOption
from penstock.cli.subscription_changes import print_change


def unsubscribe(
    ids: SubscriptionsArgument, *, workspace: WorkspaceOption = Path(), as_json: JsonOption = False
) -> None:
    """Remove subscriptions: all of those named, or none if one is unknown.

    Earlier deliveries stay in the mailbox.
    """
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        opened.subscriptions.remove(ids)
    print_change(ids, "removed", as_json=as_json)
