"""How the keyword queries and documents of a workspace are tokenized."""

from __future__ import annotations

import sqlite3

from penstock.errors import QueryError, error
from penstock.language.keywords.query import parse_keywords
from penstock.language.keywords.tokenizer_options import DEFAULT_TOKENIZER, TokenizerOptions
from penstock.workspace.database import Database


def read_tokenizer(connection: sqlite3.Connection) -> TokenizerOptions:
    """The stored options; those that were never set are the defaults."""
    rows = connection.execute("SELECT option, enabled FROM tokenizer").fetchall()
    stored = {option: bool(enabled) for option, enabled in rows}
    return TokenizerOptions(**{**DEFAULT_TOKENIZER.by_name(), **stored})


class TokenizerStore:
    """The tokenizer options that are stored in a workspace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self) -> TokenizerOptions:
        """The stored options."""
        with self._database.read_transaction() as connection:
            return read_tokenizer(connection)

    def write(self, options: TokenizerOptions) -> None:
        """Replace the stored options. The next index version is built with them.

        Raises
        ------
        QueryError
            ``keywords.too-many``: a stored query has more distinct words with these options than
            the limit. Nothing changes.
        """
        with self._database.write_transaction() as connection:
            _validate_queries(connection, options)
            connection.execute("DELETE FROM tokenizer")
            connection.executemany(
                "INSERT INTO tokenizer (option, enabled) VALUES (?, ?)",
                [(option, int(enabled)) for option, enabled in options.by_name().items()],
            )


def _validate_queries(connection: sqlite3.Connection, options: TokenizerOptions) -> None:
    """Refuses options with which an index version could not be built."""
    rows = connection.execute("SELECT id, query FROM subscriptions WHERE kind = 'keywords'")
    for name, query in rows:
        try:
            parse_keywords(query, options)
        except QueryError as reason:
            raise error(reason.code, f"the subscription `{name}`: {reason.message}") from reason
