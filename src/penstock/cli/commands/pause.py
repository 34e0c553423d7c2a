"""``penstock pause``: suspends deliveries to subscriptions."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.options import JsonOption, SubscriptionsArgument, WorkspaceOption
from penstock.cli.subscription_changes import print_change


def pause(
    ids: SubscriptionsArgument, *, workspace: WorkspaceOption = Path(), as_json: JsonOption = False
) -> None:
    """Suspend subscriptions until they are resumed.

    Documents processed in the meantime are not delivered later.
    """
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        opened.subscriptions.set_paused(ids, True)
    print_change(ids, "paused", as_json=as_json)
