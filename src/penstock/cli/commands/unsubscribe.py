"""``penstock unsubscribe``: removes subscriptions."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.confirmation import ForceRemovalOption, confirm_removal
from penstock.cli.console import plural
from penstock.cli.options import JsonOption, SubscriptionsArgument, WorkspaceOption
from penstock.cli.subscription_changes import print_change


def unsubscribe(
    ids: SubscriptionsArgument,
    *,
    force: ForceRemovalOption = False,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Remove subscriptions, after asking: all of those named, or none if one is unknown.

    Earlier deliveries stay in the mailbox.
    """
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        for each in ids:
            opened.subscriptions.get(each)  # unknown ids are refused before asking
        what = f"`{ids[0]}`" if len(ids) == 1 else plural(len(ids), "subscription")
        confirm_removal(what, force=force, as_json=as_json)
        opened.subscriptions.remove(ids)
    print_change(ids, "removed", as_json=as_json)
