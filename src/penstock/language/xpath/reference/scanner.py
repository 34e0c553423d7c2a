"""A query's characters, read from left to right, with what has been counted on the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from penstock.language.limits import MAX_NESTING, MAX_PREDICATES, MAX_STEPS
from penstock.language.xpath.lexical import NCNAME, QNAME, WHITE_SPACE
from penstock.language.xpath.reference.operands import Refused


class Scanner:
    """Where the parser is, what stands there, and the limits on what came before."""

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
        """Whether one of ``tokens`` stands here."""
        return self.text.startswith(tokens, self.at)

    def skip(self) -> None:
        """Passes white space."""
        self.at = self._after_space(self.at)

    def take(self, token: str) -> bool:
        """Passes ``token`` if it stands here."""
        taken = self.text.startswith(token, self.at)
        if taken:
            self.at += len(token)
        return taken

    def take_word(self, word: str) -> bool:
        """Passes ``word``, and white space before it, if it stands here and ends here."""
        self.skip()
        name = NCNAME.match(self.text, self.at)
        return name is not None and name.group() == word and self.take(word)

    def expect(self, token: str) -> None:
        """Passes ``token``, and white space before it; refuses anything else."""
        self.skip()
        if not self.take(token):
            self.unexpected()

    def ncname(self) -> str:
        """Passes a name without a colon; refuses anything else."""
        name = NCNAME.match(self.text, self.at)
        if not name:
            self.unexpected()
        self.at = name.end()
        return name.group()

    def name_before(self, token: str) -> str | None:
        """The name that stands here if ``token`` follows it; nothing is passed."""
        name = QNAME.match(self.text, self.at)
        if not name or not self.text.startswith(token, self._after_space(name.end())):
            return None
        return name.group()

    def unexpected(self) -> NoReturn:
        """Refuses what stands here."""
        found = self.peek()
        message = f"unexpected `{found}`" if found else "the query ends too early"
        raise Refused("query.syntax", message, self.at)

    @contextmanager
    def nested(self) -> Iterator[None]:
        """One more level for as long as it is open."""
        if self._nesting == MAX_NESTING:
            raise Refused("query.limit", f"more than {MAX_NESTING} levels", self.at)
        self._nesting += 1
        yield
        self._nesting -= 1

    def count_step(self, at: int) -> None:
        """One more step, which begins at ``at``."""
        if self._steps == MAX_STEPS:
            raise Refused("query.limit", f"more than {MAX_STEPS} steps", at)
        self._steps += 1

    def count_conditions(self, at: int, count: int = 1) -> None:
        """``count`` more conditions, which begin at ``at``."""
        self._conditions += count
        if self._conditions > MAX_PREDICATES:
            raise Refused("query.limit", f"more than {MAX_PREDICATES} conditions", at)

    def _after_space(self, at: int) -> int:
        space = WHITE_SPACE.match(self.text, at)
        assert space is not None, "white space may be empty"
        return space.end()
