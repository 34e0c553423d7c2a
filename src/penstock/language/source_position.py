"""Positions in the text of a query."""

from __future__ import annotations

import unicodedata

from penstock.errors import Where


def position_of(text: str, offset: int) -> Where:
    """Line and column of a character offset."""
    before = text[:offset]
    return Where(offset, before.count("\n") + 1, offset - before.rfind("\n"))


def utf8_size(text: str) -> int | None:
    """Bytes of a text in UTF-8; ``None`` if it contains a lone surrogate, which has no encoding.

    Python decodes a byte that is invalid in file names and arguments to a lone surrogate.
    """
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return None


def surrogate_position(text: str) -> Where:
    """The position of the first lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError as reason:
        return position_of(text, reason.start)
    raise AssertionError("the text has no lone surrogate")


def with_caret(text: str, where: Where) -> str:
    """The line of the query that contains the error, with a caret below the position.

    Examples
    --------
    >>> from penstock.errors import QueryError
    >>> from penstock.language import parse, with_caret
    >>> query = "/news/item[price <]"
    >>> try:
    ...     parse(query)
    ... except QueryError as refused:
    ...     print(with_caret(query, refused.where))
    /news/item[price <]
                      ^
    """
    line = text.split("\n")[where.line - 1].replace("\r", " ")
    indent = "".join(_blank_like(character) for character in line[: where.column - 1])
    return f"{line}\n{indent}^"


def _blank_like(character: str) -> str:
    """White space as wide as ``character`` in a terminal."""
    if character == "\t":
        return "\t"
    if unicodedata.combining(character):
        return ""
    return "  " if unicodedata.east_asian_width(character) in "WF" else " "
