"""The SQLite tables of a router's state."""

from __future__ import annotations

from typing import Final

FORMAT: Final = 2
"""Version of the tables."""

REPORTS_SINCE: Final = 2
"""The format since which dead letters have reports."""

APPLICATION_ID: Final = 0x50454E52
"""``PENR``: marks a SQLite file as the state of a router."""

TABLES: Final = """
CREATE TABLE router (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    name TEXT NOT NULL,
    store_id TEXT NOT NULL,  -- random: numbers of deliveries are those of this store
    counters TEXT NOT NULL,  -- a JSON object
    journal_position INTEGER  -- null until the inbox has been followed
) STRICT;

-- Documents that wait for neighbours or subscribers, once each.
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    publisher TEXT NOT NULL,
    schema TEXT NOT NULL,
    id TEXT NOT NULL,
    fields TEXT NOT NULL,  -- a JSON object
    content BLOB NOT NULL
) STRICT;

CREATE TABLE subscriptions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL
) STRICT;

CREATE TABLE neighbours (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    is_known INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    session_id BLOB NOT NULL,
    base INTEGER NOT NULL,  -- position of the message before the first of the session
    sent INTEGER NOT NULL,  -- position of the last message
    stored INTEGER NOT NULL  -- sequence number of the last message received in the session
) STRICT;

CREATE TABLE patterns (
    neighbour TEXT NOT NULL,
    digest BLOB NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (neighbour, digest)
) STRICT, WITHOUT ROWID;

-- Documents that wait in the router for a link.
CREATE TABLE waiting (
    neighbour TEXT NOT NULL,
    position INTEGER NOT NULL,
    document INTEGER NOT NULL,
    mapping TEXT NOT NULL,
    annotations BLOB NOT NULL,
    PRIMARY KEY (neighbour, position)
) STRICT, WITHOUT ROWID;

-- Messages that a neighbour has not acknowledged: documents, or others as encoded by the driver.
CREATE TABLE outbox (
    neighbour TEXT NOT NULL,
    position INTEGER NOT NULL,
    document INTEGER,
    mapping TEXT NOT NULL,
    annotations BLOB NOT NULL,
    kind INTEGER NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (neighbour, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE publishers (
    name TEXT PRIMARY KEY,
    used INTEGER NOT NULL  -- increases with every document
) STRICT, WITHOUT ROWID;

CREATE TABLE remembered (
    publisher TEXT NOT NULL,
    digest BLOB NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (publisher, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE subscribers (
    name TEXT PRIMARY KEY,
    last INTEGER NOT NULL,  -- number of the last delivery
    acknowledged INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    subscriber TEXT NOT NULL,
    number INTEGER NOT NULL,
    document INTEGER NOT NULL,
    subscription TEXT NOT NULL,
    fragments TEXT,  -- a JSON array; null if the document itself is delivered
    fragments_omitted INTEGER NOT NULL,
    PRIMARY KEY (subscriber, number)
) STRICT, WITHOUT ROWID;

-- The latest refused documents.
CREATE TABLE dead_letters (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    refused_at INTEGER NOT NULL,
    report TEXT  -- a JSON object, if a defect of Penstock is the cause
) STRICT;

-- Documents whose work budget was spent before a subscription was decided.
CREATE TABLE set_aside (
    subscription TEXT PRIMARY KEY,
    documents INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Inputs during which the process ended uncleanly, until they are handled.
CREATE TABLE unclean_ends (
    mark TEXT PRIMARY KEY,  -- names the input
    ends INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Documents of the inbox that this router put there and does not route again.
CREATE TABLE own_documents (
    sequence INTEGER PRIMARY KEY
) STRICT;
"""

MIGRATIONS: Final = {
    1: """
ALTER TABLE dead_letters ADD COLUMN report TEXT;
CREATE TABLE set_aside (
    subscription TEXT PRIMARY KEY,
    documents INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE unclean_ends (mark TEXT PRIMARY KEY, ends INTEGER NOT NULL) STRICT, WITHOUT ROWID;
""",
}
"""Statements that change the tables of a format into those of the next."""
