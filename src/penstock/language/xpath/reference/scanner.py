"""Scans the characters of a query and counts against its limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from penstock.language.limits import MAX_NESTING, MAX_PREDICATES, MAX_STEPS
from penstock.language.xpath.lexical import NCNAME, QNAME, WHITE_SPACE
from penstock.language.xpath.reference.operands import Refused


class Scanner:
    """The current position in the query, and the counters of its limits."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.predicates_open = 0
        self._nesting = 0
        self._steps = 0
        self._conditions = 0

    def peek(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.at : self.at + 1]

    def next_is(self, *tokens: str) -> bool:
        """Whether the input continues with one of ``tokens``."""
        return self.text.startswith(tokens, self.at)

    def skip(self) -> None:
        """Skips white space."""
        self.at = self._after_space(self.at)

    def take(self, token: str) -> bool:
        """Skips ``token`` if it is next; returns whether it was."""
        taken = self.text.startswith(token, self.at)
        if taken:
            self.at += len(token)
        return taken

    def take_word(self, word: str) -> bool:
        """Skips white space and the complete word ``word`` if it is next."""
        self.skip()
        name = NCNAME.match(self.text, self.at)
        return name is not None and name.group() == word and self.take(word)

    def expect(self, token: str) -> None:
        """Skips white space and the required ``token``."""
        self.skip()
        if not self.take(token):
            self.unexpected()

    def ncname(self) -> str:
        """Reads a required name without a colon."""
        name = NCNAME.match(self.text, self.at)
        if not name:
            self.unexpected()
        self.at = name.end()
        return name.group()

    def name_before(self, token: str) -> str | None:
        """The next name if ``token`` follows it; consumes nothing."""
        name = QNAME.match(self.text, self.at)
        if not name or not self.text.startswith(token, self._after_space(name.end())):
            return None
        return name.group()

    def unexpected(self) -> NoReturn:
        """Refuses the current input."""
        found = self.peek()
        message = f"unexpected `{found}`" if found else "unexpected end of the query"
        raise Refused("query.syntax", message, self.at)

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Counts one nesting level while the context is active."""
        if self._nesting == MAX_NESTING:
            raise Refused("query.limit", f"more than {MAX_NESTING} levels", self.at)
        self._nesting += 1
        yield
        self._nesting -= 1

    def count_step(self, at: int) -> None:
        """Counts a step that starts at ``at``."""
        if self._steps == MAX_STEPS:
            raise Refused("query.limit", f"more than {MAX_STEPS} steps", at)
        self._steps += 1

    def count_conditions(self, at: int, count: int = 1) -> None:
        """Counts conditions that start at ``at``."""
        self._conditions += count
        if self._conditions > MAX_PREDICATES:
            raise Refused("query.limit", f"more than {MAX_PREDICATES} conditions", at)

    def _after_space(self, at: int) -> int:
        space = WHITE_SPACE.match(self.text, at)
        assert space is not None, "white space may be empty"
        return space.end()
