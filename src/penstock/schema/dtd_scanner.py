"""Scans a DTD, expanding parameter entities and tracking positions.

A parameter entity reference pushes a frame with its replacement text, padded with spaces as XML
requires, so no token spans two frames. An error inside a frame is reported at the outermost
reference.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from penstock.documents.name_characters import NAME_CHAR, NAME_START
from penstock.errors import PenstockError, Where, error
from penstock.schema.limits import DtdLimits

NAME = re.compile(f"[:{NAME_START}][:{NAME_CHAR}]*")
NMTOKEN = re.compile(f"[:{NAME_CHAR}]+")
_SPACE = re.compile("[ \t\r\n]+")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CHARACTER = "&#(?P<digits>[0-9]{1,8}|x[0-9a-fA-F]{1,8});"
_REFERENCE = re.compile(f"%(?P<entity>{NAME.pattern});")
_IN_ENTITY_VALUE = re.compile(f"{_REFERENCE.pattern}|{_CHARACTER}")
_IN_ATTRIBUTE_VALUE = re.compile(f"{_CHARACTER}|&(?P<entity>{NAME.pattern});")
_PREDEFINED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


@dataclass(slots=True)
class _Frame:
    text: str
    position: int
    entity: str


class Scanner:
    """Reads the tokens of a DTD, expanding parameter entities."""

    def __init__(self, text: str, limits: DtdLimits) -> None:
        if len(text) > limits.size_max:
            raise error("schema.limit", f"the DTD is longer than {limits.size_max} characters")
        self._limits = limits
        self._frames = [_Frame(text, 0, "")]
        self._entities: dict[str, str | None] = {}
        self._expanded = 0
        self._counted = (0, 0, 1, 0)
        """An offset in characters and in bytes, with the number and start of its line."""
        if found := _FORBIDDEN.search(text):
            self._frames[0].position = found.start()
            raise self.refuse(f"U+{ord(found[0]):04X} is not a character of XML")

    # Places and refusals

    def where(self) -> Where:
        """The current position in the DTD."""
        outer = self._frames[0]
        # Inside an entity: the reference, just before the position of the outer frame.
        end = outer.position if len(self._frames) == 1 else outer.text.rfind("%", 0, outer.position)
        # Counts from the last position on: counting from the start each time would be quadratic.
        start, offset, line, line_start = self._counted
        passed = outer.text[start:end]
        offset += len(passed.encode())
        if newlines := passed.count("\n"):
            line += newlines
            line_start = start + passed.rfind("\n") + 1
        self._counted = (end, offset, line, line_start)
        return Where(offset, line, end - line_start + 1)

    def refuse(self, message: str, *, code: str = "schema.syntax") -> PenstockError:
        """Creates an error at the current position."""
        names = [frame.entity for frame in self._frames[1:]]
        inside = f" (within {', '.join(f'%{name};' for name in names)})" if names else ""
        return error(code, message + inside, self.where())

    # Parameter entities

    def declare(self, name: str, value: str | None) -> None:
        """Declares a parameter entity (``None`` if external); the first declaration is binding."""
        self._entities.setdefault(name, value)

    def _replacement(self, name: str) -> str:
        if name not in self._entities:
            raise self.refuse(
                f"the parameter entity %{name}; is not declared", code="schema.entity"
            )
        value = self._entities[name]
        if value is None:
            raise self.refuse(
                f"%{name}; is an external entity; external entities are never loaded",
                code="schema.external",
            )
        self._expanded += len(value)
        if self._expanded > self._limits.expansion_max:
            raise self.refuse(
                f"parameter entities add more than {self._limits.expansion_max} characters",
                code="schema.limit",
            )
        return value

    def _open(self, name: str) -> None:
        if any(frame.entity == name for frame in self._frames):
            raise self.refuse(
                f"the parameter entity %{name}; contains itself", code="schema.entity"
            )
        self._require_depth(len(self._frames))
        self._frames.append(_Frame(f" {self._replacement(name)} ", 0, name))

    def _require_depth(self, depth: int) -> None:
        if depth > self._limits.entity_depth_max:
            raise self.refuse(
                f"more than {self._limits.entity_depth_max} nested parameter entities",
                code="schema.limit",
            )

    # Tokens

    def skip_space(self) -> bool:
        """Skips white space and entity boundaries; returns whether there was any."""
        passed = False
        while True:
            frame = self._frames[-1]
            if space := _SPACE.match(frame.text, frame.position):
                frame.position = space.end()
            elif frame.position == len(frame.text) and len(self._frames) > 1:
                self._frames.pop()
            elif reference := _REFERENCE.match(frame.text, frame.position):
                frame.position = reference.end()
                self._open(reference["entity"])
            else:
                return passed
            passed = True

    def require_space(self) -> None:
        """Skips required white space."""
        if not self.skip_space():
            raise self.refuse("expected white space")

    @property
    def at_end(self) -> bool:
        """Whether the input is exhausted."""
        return len(self._frames) == 1 and self._frames[0].position == len(self._frames[0].text)

    def looking_at(self, text: str) -> bool:
        """Whether the input continues with ``text``."""
        frame = self._frames[-1]
        return frame.text.startswith(text, frame.position)

    def take(self, text: str) -> bool:
        """Skips ``text`` if it is next; returns whether it was."""
        if not self.looking_at(text):
            return False
        self._frames[-1].position += len(text)
        return True

    def expect(self, text: str) -> None:
        """Skips ``text``, which must be next."""
        if not self.take(text):
            raise self.refuse(f"expected {text!r}, not {self._next()}")

    def take_until(self, end: str, what: str) -> str:
        """Returns the text up to ``end`` and skips both."""
        frame = self._frames[-1]
        stop = frame.text.find(end, frame.position)
        if stop < 0:
            raise self.refuse(f"{what} is not closed by {end!r}")
        found = frame.text[frame.position : stop]
        frame.position = stop + len(end)
        return found

    def name(self, what: str) -> str:
        """Reads a required name; ``what`` describes it in errors."""
        return self._token(NAME, what)

    def nmtoken(self, what: str) -> str:
        """Reads a required name token."""
        return self._token(NMTOKEN, what)

    def _token(self, pattern: re.Pattern[str], what: str) -> str:
        frame = self._frames[-1]
        found = pattern.match(frame.text, frame.position)
        if found is None:
            raise self.refuse(f"expected {what}, not {self._next()}")
        frame.position = found.end()
        return found[0]

    def literal(self, what: str) -> str:
        """Reads a quoted string without expansion."""
        for quote in ('"', "'"):
            if self.take(quote):
                return self.take_until(quote, what)
        raise self.refuse(f"expected {what} in quotes, not {self._next()}")

    def entity_value(self) -> str:
        """Reads the replacement text of an entity, expanding character and parameter references."""
        literal = self.literal("the entity's value")
        return _IN_ENTITY_VALUE.sub(
            lambda found: self._character(found) if found["digits"] else self._unfold(found, ()),
            literal,
        )

    def _unfold(self, found: re.Match[str], within: tuple[str, ...]) -> str:
        name = found["entity"]
        if name in within:
            raise self.refuse(
                f"the parameter entity %{name}; contains itself", code="schema.entity"
            )
        inner = (*within, name)
        self._require_depth(len(inner))
        return _REFERENCE.sub(lambda nested: self._unfold(nested, inner), self._replacement(name))

    def attribute_value(self) -> str:
        """Reads a default value, expanding character references and predefined entities."""

        def resolve(found: re.Match[str]) -> str:
            if found["digits"]:
                return self._character(found)
            if found["entity"] not in _PREDEFINED:
                raise self.refuse(
                    f"&{found['entity']}; in a default value is not one of the predefined entities",
                    code="schema.entity",
                )
            return _PREDEFINED[found["entity"]]

        return _IN_ATTRIBUTE_VALUE.sub(resolve, self.literal("the default value"))

    def _character(self, found: re.Match[str]) -> str:
        digits = found["digits"]
        code = int(digits[1:], 16) if digits.startswith("x") else int(digits)
        if code > sys.maxunicode or _FORBIDDEN.match(chr(code)):
            raise self.refuse(f"{found[0]} is not a character of XML")
        return chr(code)

    def _next(self) -> str:
        frame = self._frames[-1]
        ahead = frame.text[frame.position : frame.position + 12]
        return repr(ahead) if ahead else "the end"
