"""Errors in workspaces and their contents."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, WorkspaceError

ERRORS: dict[str, ErrorSpec] = {
    "workspace.missing": ErrorSpec(
        WorkspaceError,
        "the folder is not a workspace",
        "Create one with `penstock init DIR`, or select another with `--workspace DIR`.",
    ),
    "workspace.exists": ErrorSpec(
        WorkspaceError,
        "the folder is already a workspace",
        "Use it, or create the new workspace in another folder.",
    ),
    "workspace.too-new": ErrorSpec(
        WorkspaceError,
        "the workspace was created or upgraded by a newer version of Penstock",
        "Use that version or a newer one.",
    ),
    "workspace.damaged": ErrorSpec(
        WorkspaceError,
        "a database of the workspace is missing, damaged or not an SQLite file",
        "Restore the file from a backup; the folders of the workspace do not depend on it.",
    ),
    "journal.damaged": ErrorSpec(
        WorkspaceError,
        "a file of the inbox is damaged",
        "Run the pipeline again: it sets the damaged documents aside and continues with the others;"
        " `penstock inbox restore FILE` publishes them from an undamaged copy of the file.",
    ),
    "workspace.busy": ErrorSpec(
        WorkspaceError,
        "another process has been writing to the workspace for too long",
        "Try again; if the problem persists, look for a hanging process.",
    ),
    "workspace.running": ErrorSpec(
        WorkspaceError,
        "another process is running the pipeline or the router of this workspace",
        "Let it continue, or stop it first: two would do the same work twice.",
    ),
    "workspace.router-name": ErrorSpec(
        WorkspaceError,
        "the workspace has the state of a router with another name",
        "Start the router with its name, or use another workspace: neighbours know it by its name.",
    ),
    "workspace.no-router": ErrorSpec(
        WorkspaceError,
        "the workspace has no router",
        "Start one with `penstock router --listen ADDRESS --workspace DIR`.",
    ),
    "workspace.full": ErrorSpec(
        WorkspaceError,
        "the disk is full",
        "Free some space, for example with `penstock clean`, and repeat the command: nothing is"
        " lost.",
    ),
    "workspace.retention": ErrorSpec(
        WorkspaceError,
        "an age in a retention policy is out of range",
        "Use for example `30d`; to keep rows forever, use `forever`.",
    ),
    "workspace.name": ErrorSpec(
        WorkspaceError,
        "the name of a subscriber or subscription is invalid",
        "Use up to 200 visible characters; spaces are allowed only between them.",
    ),
    "subscriber.unknown": ErrorSpec(
        WorkspaceError,
        "there is no subscriber with that name",
        "`penstock subscriptions list` shows the subscribers.",
    ),
    "dead-letter.unknown": ErrorSpec(
        WorkspaceError,
        "there is no such dead letter",
        "`penstock dead-letters list --all` shows them by number, `penstock router dead-letters`"
        " those of a router.",
    ),
    "dead-letter.report": ErrorSpec(
        WorkspaceError,
        "the dead letter has no report, because it is not due to an internal error",
        "`penstock dead-letters show NUMBER` explains why the document was refused.",
    ),
    "document.unknown": ErrorSpec(
        WorkspaceError,
        "there is no file or published document with that name",
        "Give a file, or the identity that `penstock mailbox` shows.",
    ),
    "document.ambiguous": ErrorSpec(
        WorkspaceError,
        "several documents have the same number, or the same identity and number",
        "Give the document's identity. Earlier versions gave documents that were read with"
        " `read_column` or `read_directory` the same number; deliver those again.",
    ),
    "document.damaged": ErrorSpec(
        WorkspaceError,
        "the stored bytes of a document are not those that were delivered",
        "Restore the documents table from a backup, or publish the document again.",
    ),
    "subscription.times": ErrorSpec(
        WorkspaceError,
        "a subscription expires before it starts",
        "Let it start earlier or expire later.",
    ),
    "subscription.kind": ErrorSpec(
        WorkspaceError,
        "a subscription is neither XPath nor keywords, or it has keywords with namespaces",
        "Use `xpath` or `keywords`; only XPath queries have namespaces.",
    ),
    "subscription.fragments-max": ErrorSpec(
        WorkspaceError,
        "a subscription's limit on the fragments in a delivery is out of range",
        "Use a whole number from 1 to `SUBSCRIPTION_FRAGMENTS_MAX`.",
    ),
    "subscription.returns": ErrorSpec(
        WorkspaceError,
        "a subscription returns neither documents nor fragments",
        "Use `document` or `fragments`.",
    ),
}
