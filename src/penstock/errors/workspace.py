"""The errors of workspaces and what they keep."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, WorkspaceError

ERRORS: dict[str, ErrorSpec] = {
    "workspace.missing": ErrorSpec(
        WorkspaceError,
        "the folder is not a workspace",
        "Make one with `penstock init DIR`, or name another with `--workspace DIR`.",
    ),
    "workspace.exists": ErrorSpec(
        WorkspaceError,
        "the folder is a workspace already",
        "Use it as it is, or make the new one in another folder.",
    ),
    "workspace.too-new": ErrorSpec(
        WorkspaceError,
        "the workspace was made or upgraded by a newer version",
        "Use that version of Penstock, or a newer one.",
    ),
    "workspace.damaged": ErrorSpec(
        WorkspaceError,
        "the file of subscriptions is damaged, or no file of SQLite's",
        "Restore `penstock.sqlite` from a backup; the other folders are whole without it.",
    ),
    "workspace.busy": ErrorSpec(
        WorkspaceError,
        "another process has been writing to the workspace for too long",
        "Try again; if it lasts, look for a process that hangs.",
    ),
    "workspace.running": ErrorSpec(
        WorkspaceError,
        "another process runs the pipeline of this workspace",
        "Let that one go on, or stop it first: two would do the same work twice.",
    ),
    "workspace.full": ErrorSpec(
        WorkspaceError,
        "the disk has no room",
        "Make room, with `penstock clean` for instance, and do the same again: nothing is lost.",
    ),
    "workspace.name": ErrorSpec(
        WorkspaceError,
        "a name of a subscriber or subscription cannot be used",
        "Use up to 200 visible characters, with spaces only inside.",
    ),
    "subscriber.unknown": ErrorSpec(
        WorkspaceError,
        "nobody of that name has subscribed",
        "`penstock subscriptions list` shows who has.",
    ),
    "dead-letter.unknown": ErrorSpec(
        WorkspaceError,
        "there is no such dead letter",
        "`penstock dead-letters list --all` shows them, by number.",
    ),
    "document.unknown": ErrorSpec(
        WorkspaceError,
        "no file and no published document is called so",
        "Give a file, or an identity as `penstock mailbox` shows it.",
    ),
    "subscription.times": ErrorSpec(
        WorkspaceError,
        "a subscription expires before it starts",
        "Let it start earlier, or expire later.",
    ),
    "subscription.kind": ErrorSpec(
        WorkspaceError,
        "a subscription is neither XPath nor keywords, or keywords with namespaces",
        "Write `xpath` or `keywords`; namespaces are for XPath alone.",
    ),
    "subscription.returns": ErrorSpec(
        WorkspaceError,
        "a subscription returns neither documents nor fragments",
        "Write `document` or `fragments`.",
    ),
}
