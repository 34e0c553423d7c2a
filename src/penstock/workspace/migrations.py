"""The SQLite tables of a workspace, as migrations from each format to the next.

A released migration never changes, because workspaces created with it exist. Timestamps are
microseconds since 1970 in UTC.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final

from penstock.workspace.parquet_inbox import move_identities
from penstock.workspace.subscription_numbers import record_numbers

_TABLES = """
CREATE TABLE subscribers (
    name TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE subscriptions (
    id TEXT PRIMARY KEY,
    subscriber TEXT NOT NULL REFERENCES subscribers (name),
    query TEXT NOT NULL,
    namespaces TEXT NOT NULL,  -- a JSON object, keys sorted
    default_namespace TEXT,
    returns TEXT NOT NULL CHECK (returns IN ('document', 'fragments')),
    paused INTEGER NOT NULL CHECK (paused IN (0, 1)),
    starts_at INTEGER,
    expires_at INTEGER,
    backfill TEXT NOT NULL CHECK (backfill IN ('none', 'wanted', 'done')),
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX subscriptions_of ON subscriptions (subscriber);
CREATE INDEX backfills_wanted ON subscriptions (created_at) WHERE backfill = 'wanted';

-- Changes of subscriptions since the last index version, in order.
CREATE TABLE changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    subscription TEXT NOT NULL
) STRICT;

CREATE TRIGGER subscription_added AFTER INSERT ON subscriptions
BEGIN INSERT INTO changes (subscription) VALUES (new.id); END;

CREATE TRIGGER subscription_removed AFTER DELETE ON subscriptions
BEGIN INSERT INTO changes (subscription) VALUES (old.id); END;

CREATE TRIGGER subscription_changed AFTER UPDATE OF paused, starts_at, expires_at ON subscriptions
BEGIN INSERT INTO changes (subscription) VALUES (new.id); END;

-- The last index version, by its digest, and the last change that it includes.
CREATE TABLE version (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    digest TEXT NOT NULL,
    change INTEGER NOT NULL
) STRICT;

-- Identities of published documents, with their sequence numbers.
CREATE TABLE published (
    identity TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX published_in_order ON published (sequence);

CREATE TABLE sequences (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    next INTEGER NOT NULL
) STRICT;

INSERT INTO sequences VALUES (1, 1);

-- Published files that may not have been moved into the inbox yet.
CREATE TABLE staged (
    name TEXT PRIMARY KEY,
    first_sequence INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Replays of dead letters; `fixed` if other bytes were published.
CREATE TABLE replays (
    sequence INTEGER PRIMARY KEY,
    replay_of INTEGER NOT NULL,
    identity TEXT NOT NULL,
    fixed INTEGER NOT NULL CHECK (fixed IN (0, 1)),
    replayed_at INTEGER NOT NULL
) STRICT;

CREATE INDEX replays_of ON replays (replay_of);
"""


_QUERY_KINDS = """
ALTER TABLE subscriptions
ADD COLUMN kind TEXT NOT NULL DEFAULT 'xpath' CHECK (kind IN ('xpath', 'keywords'));
"""


_MEDIATION = """
-- All versions of each domain's global schema, as the text of a schema file.
CREATE TABLE global_schemas (
    domain TEXT NOT NULL,
    version INTEGER NOT NULL,
    schema TEXT NOT NULL,
    PRIMARY KEY (domain, version)
) STRICT, WITHOUT ROWID;

-- The schemas that document headers name; an empty publisher means any.
CREATE TABLE local_schemas (
    publisher TEXT NOT NULL,
    name TEXT NOT NULL,
    domain TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    earlier TEXT NOT NULL,  -- a JSON array of digests
    PRIMARY KEY (publisher, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE mappings (
    digest TEXT PRIMARY KEY,
    text TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""


_SUBSCRIPTION_NUMBERS = """
-- The largest number that a subscription named `prefix-number` has ever had, so that no name is
-- given twice.
CREATE TABLE subscription_numbers (
    prefix TEXT PRIMARY KEY,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""


_HEADER_TESTS = """
ALTER TABLE subscriptions
ADD COLUMN header_tests TEXT NOT NULL DEFAULT '{}';  -- a JSON object, keys sorted
"""


_RETENTION = """
-- The age in seconds up to which rows are kept; what has no row is kept forever.
CREATE TABLE retention (
    kind TEXT PRIMARY KEY CHECK (kind IN ('documents', 'deliveries', 'dead_letters')),
    seconds INTEGER NOT NULL CHECK (seconds >= 0)
) STRICT, WITHOUT ROWID;
"""


_MAILBOX_CURSORS = """
-- How far the readers of mailboxes have acknowledged the deliveries.
CREATE TABLE mailbox_cursors (
    subscriber TEXT NOT NULL,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    acknowledged_at INTEGER NOT NULL,
    PRIMARY KEY (subscriber, name)
) STRICT, WITHOUT ROWID;
"""


_FRAGMENT_LIMITS = """
ALTER TABLE subscriptions ADD COLUMN fragments_max INTEGER;  -- null for the default
"""


_TOKENIZER = """
-- How keyword queries and documents are tokenized; an option without a row has its default.
CREATE TABLE tokenizer (
    option TEXT PRIMARY KEY,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1))
) STRICT, WITHOUT ROWID;

-- The queries of existing keyword subscriptions keep their meaning: `ete` does not find `été`.
INSERT INTO tokenizer (option, enabled)
SELECT 'fold_diacritics', 0 WHERE EXISTS (SELECT 1 FROM subscriptions WHERE kind = 'keywords');
"""


def _create_tables(connection: sqlite3.Connection) -> None:
    _execute(connection, _TABLES)


def _add_query_kinds(connection: sqlite3.Connection) -> None:
    _execute(connection, _QUERY_KINDS)


def _add_mediation(connection: sqlite3.Connection) -> None:
    _execute(connection, _MEDIATION)


def _add_subscription_numbers(connection: sqlite3.Connection) -> None:
    _execute(connection, _SUBSCRIPTION_NUMBERS)
    # Names of removed subscriptions are only known since the last index version.
    names = connection.execute(
        "SELECT id FROM subscriptions UNION SELECT subscription FROM changes"
    )
    record_numbers(connection, (name for (name,) in names.fetchall()))


def _add_header_tests(connection: sqlite3.Connection) -> None:
    _execute(connection, _HEADER_TESTS)


def _add_retention(connection: sqlite3.Connection) -> None:
    _execute(connection, _RETENTION)


def _add_mailbox_cursors(connection: sqlite3.Connection) -> None:
    _execute(connection, _MAILBOX_CURSORS)


def _add_fragment_limits(connection: sqlite3.Connection) -> None:
    _execute(connection, _FRAGMENT_LIMITS)


def _keep_meaning_of_keywords(connection: sqlite3.Connection) -> None:
    """Rewrites keyword queries from before search syntax had a meaning, so that they keep theirs.

    ``AND`` and ``NOT`` were words; quotation marks, ``*`` and ``-`` were ignored.
    """
    rows = connection.execute("SELECT id, query FROM subscriptions WHERE kind = 'keywords'")
    for name, query in rows.fetchall():
        rewritten = " ".join(filter(None, map(_plain_run, query.split())))
        if rewritten != " ".join(query.split()):
            connection.execute("UPDATE subscriptions SET query = ? WHERE id = ?", (rewritten, name))
            connection.execute("INSERT INTO changes (subscription) VALUES (?)", (name,))


def _plain_run(run: str) -> str:
    """The words of a run of characters without white space, if it has a new meaning."""
    # Only a workspace of an earlier version needs them.
    from penstock.language.keywords.query import words  # noqa: PLC0415
    from penstock.language.keywords.tokenizer_options import (  # noqa: PLC0415
        TOKENIZER_BEFORE_OPTIONS,
    )

    has_syntax = run in ("AND", "NOT") or run.startswith("-") or not set(run).isdisjoint('*"“”')
    return " ".join(words(run, TOKENIZER_BEFORE_OPTIONS)) if has_syntax else run


def _add_tokenizer(connection: sqlite3.Connection) -> None:
    _execute(connection, _TOKENIZER)


def _execute(connection: sqlite3.Connection, script: str) -> None:
    # executescript() would commit, and splitting at semicolons would break triggers.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""


MIGRATIONS: Final[tuple[Callable[[sqlite3.Connection], None], ...]] = (
    _create_tables,
    _add_query_kinds,
    _add_mediation,
    _add_subscription_numbers,
    _add_header_tests,
    _add_retention,
    _add_mailbox_cursors,
    _add_fragment_limits,
    _keep_meaning_of_keywords,
    move_identities,
    _add_tokenizer,
)
"""Migration ``n`` leads from format ``n`` to ``n + 1``; format 0 is an empty file."""
