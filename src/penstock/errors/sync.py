"""Errors of synchronisation."""

from __future__ import annotations

from penstock.errors.classes import DocumentError, ErrorSpec, SyncError

ERRORS: dict[str, ErrorSpec] = {
    "limit.tree": ErrorSpec(
        DocumentError,
        "a document tree exceeds a limit",
        "Split the document; put long values of attributes into text.",
    ),
    "sync.node": ErrorSpec(
        SyncError,
        "there is no such node, or not one of the required kind",
        "It was deleted, or is not part of the cache.",
    ),
    "sync.identity": ErrorSpec(
        SyncError,
        "a new node has the identity of another",
        "Create identities with the replica number that the server assigned.",
    ),
    "sync.patch": ErrorSpec(
        SyncError,
        "a patch or snapshot is malformed, or does not fit the tree",
        "Clone again.",
    ),
    "sync.message": ErrorSpec(
        SyncError,
        "a message between client and server is invalid",
        "Compare the versions of both sides.",
    ),
    "sync.clients": ErrorSpec(
        SyncError,
        "a server has more clients than the limit",
        "Remove clients that do not come back, or use several servers.",
    ),
    "sync.not-cloned": ErrorSpec(
        SyncError,
        "a client has no cache yet",
        "Send `clone()` to the server, and give its answer to `receive`.",
    ),
    "sync.pending": ErrorSpec(
        SyncError,
        "a client has more pending statements than the limit",
        "Synchronise with the server first.",
    ),
    "sync.undo": ErrorSpec(
        SyncError,
        "there is nothing to undo, or to do again",
        "Only the client's own statements can be undone, the last one first.",
    ),
    "sync.change": ErrorSpec(
        SyncError,
        "the description of a change is invalid",
        "Name at least one touched node; its label path begins with the name of the root.",
    ),
    "sync.too-many-subscriptions": ErrorSpec(
        SyncError,
        "an index of affected subscriptions has more subscriptions than the limit",
        "Remove subscriptions, or raise `subscriptions_max`.",
    ),
    "sync.account": ErrorSpec(
        SyncError,
        "the name of an account is invalid, unknown, or has a token already",
        "`penstock sync token list` shows the accounts; revoke a token before you create another.",
    ),
    "sync.token-file": ErrorSpec(
        SyncError,
        "the token file of a server is malformed",
        "Change it with `penstock sync token` only.",
    ),
    "sync.token": ErrorSpec(
        SyncError,
        "a request has no token, or one that is wrong or revoked",
        "Give the token of `penstock sync token create` with `--token-file`.",
    ),
    "sync.client-name": ErrorSpec(
        SyncError,
        "the name of a client does not belong to the account of its token",
        "Clone again with the token of this account.",
    ),
    "sync.client-unknown": ErrorSpec(
        SyncError,
        "a server has no clone of this name",
        "List your clones of the document with `penstock sync clones URL`.",
    ),
    "sync.insecure": ErrorSpec(
        SyncError,
        "clients, tokens or documents would not be protected",
        "Create a token with `penstock sync token create NAME`, and use TLS; on addresses of this"
        " machine `--insecure` does without tokens, and `--plaintext` sends tokens without TLS.",
    ),
    "sync.tls": ErrorSpec(
        SyncError,
        "a certificate or key cannot be used",
        "Give PEM files: the server's certificate with its key, or the certificates to trust.",
    ),
    "sync.document": ErrorSpec(
        SyncError,
        "a server has no such document, or nothing to serve",
        "Name an XML file, such as `catalogue.xml` or `name=file.xml`; the URL ends with its name.",
    ),
    "sync.listen": ErrorSpec(
        SyncError,
        "a server cannot listen on its address",
        "Choose another port; port 0 takes a free one.",
    ),
    "sync.request-bytes": ErrorSpec(
        SyncError,
        "a request is longer than the limit",
        "Make several smaller statements, and push after each.",
    ),
    "sync.request-slow": ErrorSpec(
        SyncError,
        "the bytes of a request did not arrive in time",
        "Nothing was changed. Try again.",
    ),
    "sync.answer-bytes": ErrorSpec(
        SyncError,
        "an answer of a server is longer than the limit",
        "Clone a smaller part of the document, with a query.",
    ),
    "sync.streams": ErrorSpec(
        SyncError,
        "a document has more connected clients than the limit",
        "Try again later, or pull without `--follow`.",
    ),
    "sync.stopping": ErrorSpec(
        SyncError,
        "the server is stopping",
        "Nothing is lost. Try again when it runs.",
    ),
    "sync.url": ErrorSpec(
        SyncError,
        "the URL of a document is invalid",
        "Write it as `http://HOST:PORT/DOCUMENT`, or with `https`.",
    ),
    "sync.unreachable": ErrorSpec(
        SyncError,
        "a server cannot be reached, or gives no usable answer",
        "Your changes are kept. Check that the server runs, and try again.",
    ),
    "sync.stale": ErrorSpec(
        SyncError,
        "a server knows a later state of this clone than the working directory",
        "The directory was copied, or restored from a backup. Keep your file, clone again, and make"
        " your changes in the new clone.",
    ),
    "sync.no-clone": ErrorSpec(
        SyncError,
        "a folder is not the working directory of a clone",
        "Change into it, or make one with `penstock sync clone URL`.",
    ),
    "sync.folder": ErrorSpec(
        SyncError,
        "the folder of a new clone is not empty",
        "Name another folder.",
    ),
    "sync.clone-damaged": ErrorSpec(
        SyncError,
        "the state of a clone cannot be read",
        "Keep your file, and clone again.",
    ),
    "sync.file-changed": ErrorSpec(
        SyncError,
        "the file of a clone was saved while a command changed it",
        "Your file is kept, and the command changed nothing. Repeat it.",
    ),
    "sync.file": ErrorSpec(
        SyncError,
        "the file of a clone is missing, or something else is there, such as a symbolic link",
        "Remove what is there, if anything; `penstock sync pull --discard` writes the file again.",
    ),
    "sync.basex": ErrorSpec(
        SyncError,
        "a BaseX server cannot be reached, or refuses the user or a query",
        "Check that `basexserver` runs at this address, and that the user may create databases."
        " Nothing that was acknowledged is lost.",
    ),
    "sync.basex-changed": ErrorSpec(
        SyncError,
        "another server wrote the state of a document in BaseX",
        "Let one server at a time serve the documents of a BaseX server.",
    ),
    "sync.basex-damaged": ErrorSpec(
        SyncError,
        "no database of a document in BaseX can be read",
        "Restore one of them from a backup of BaseX; the other one is made from it.",
    ),
}
