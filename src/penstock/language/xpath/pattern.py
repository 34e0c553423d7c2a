r"""The regular expressions of XPath 2.0's ``matches()``, evaluated in time linear in the text.

The syntax is that of XML Schema with the additions of XPath 2.0 (``^``, ``$``, reluctant
quantifiers) and ``(?:...)``. Back-references and Unicode blocks are refused. A pattern becomes a
nondeterministic automaton over characters, which is simulated: each character costs at most one
visit per state, whatever the pattern. The native core's ``regex`` module is the same.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, NoReturn, Protocol, TypeAlias

from penstock.language.limits import MAX_NESTING, MAX_PATTERN_STATES

MAX_CACHED_PATTERNS: Final = 256
"""Compiled patterns that are cached."""


class PatternRefused(Exception):  # noqa: N818 - it becomes a QueryError once the position is known
    """A pattern is refused: code, message, whether the flags are at fault, offset."""

    def __init__(self, code: str, message: str, offset: int, *, in_flags: bool = False) -> None:
        super().__init__(code, message, offset)
        self.code = code
        self.message = message
        self.offset = offset
        self.in_flags = in_flags


# Sets of characters


class CharacterSet(Protocol):
    """A set of characters."""

    def __contains__(self, character: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class _Range:
    first: str
    last: str

    def __contains__(self, character: str) -> bool:
        return self.first <= character <= self.last


@dataclass(frozen=True, slots=True)
class _Caseless:
    """A set with the case variants of its members."""

    inner: CharacterSet

    def __contains__(self, character: str) -> bool:
        return any(variant in self.inner for variant in _case_variants(character))


@dataclass(frozen=True, slots=True)
class _Category:
    """The characters of some general categories, given by their first letters."""

    prefixes: tuple[str, ...]

    def __contains__(self, character: str) -> bool:
        return unicodedata.category(character).startswith(self.prefixes)


@dataclass(frozen=True, slots=True)
class _Union:
    parts: tuple[CharacterSet, ...]

    def __contains__(self, character: str) -> bool:
        return any(character in part for part in self.parts)


@dataclass(frozen=True, slots=True)
class _Negated:
    inner: CharacterSet

    def __contains__(self, character: str) -> bool:
        return character not in self.inner


@dataclass(frozen=True, slots=True)
class _Difference:
    whole: CharacterSet
    removed: CharacterSet

    def __contains__(self, character: str) -> bool:
        return character in self.whole and character not in self.removed


@cache
def _case_groups() -> dict[str, frozenset[str]]:
    """For each character with a case, the characters with the same lower or upper case."""
    groups: dict[tuple[str, str], set[str]] = {}
    last_cased = 0x1FFFF  # no character beyond this plane has a case
    for code in range(last_cased + 1):
        character = chr(code)
        lower, upper = character.lower(), character.upper()
        if lower != upper:
            groups.setdefault(("lower", lower), set()).add(character)
            groups.setdefault(("upper", upper), set()).add(character)
    variants: dict[str, set[str]] = {}
    for group in groups.values():
        for character in group:
            variants.setdefault(character, set()).update(group)
    return {character: frozenset(group) for character, group in variants.items()}


def _case_variants(character: str) -> frozenset[str]:
    return _case_groups().get(character, frozenset((character,)))


_WHITE_SPACE: Final = frozenset(" \t\n\r")
_LINE_ENDS: Final = _Negated(frozenset("\n\r"))
_ANY: Final = _Range("\0", "\U0010ffff")
_WORD: Final = _Negated(_Category(("P", "Z", "C")))
_DIGIT: Final = _Category(("Nd",))
_NAME_START: Final = _Union(
    (
        frozenset(":_"),
        _Range("A", "Z"),
        _Range("a", "z"),
        _Range("\xc0", "\xd6"),
        _Range("\xd8", "\xf6"),
        _Range("\xf8", "\u02ff"),
        _Range("\u0370", "\u037d"),
        _Range("\u037f", "\u1fff"),
        _Range("\u200c", "\u200d"),
        _Range("\u2070", "\u218f"),
        _Range("\u2c00", "\u2fef"),
        _Range("\u3001", "\ud7ff"),
        _Range("\uf900", "\ufdcf"),
        _Range("\ufdf0", "\ufffd"),
        _Range("\U00010000", "\U000effff"),
    )
)
_NAME_CHARACTER: Final = _Union(
    (
        _NAME_START,
        frozenset("-.\xb7"),
        _Range("0", "9"),
        _Range("\u0300", "\u036f"),
        _Range("\u203f", "\u2040"),
    )
)
_SETS: Final[dict[str, CharacterSet]] = {
    "s": _WHITE_SPACE,
    "i": _NAME_START,
    "c": _NAME_CHARACTER,
    "d": _DIGIT,
    "w": _WORD,
}
_CHARACTERS: Final = {"n": "\n", "r": "\r", "t": "\t"} | {each: each for each in r"\|.-^?*+{}()[]$"}
_CATEGORIES: Final = frozenset(
    major + minor
    for major, minors in {
        "L": "ultmo",
        "M": "nce",
        "N": "dlo",
        "P": "cdseifo",
        "Z": "slp",
        "S": "mcko",
        "C": "cfon",
    }.items()
    for minor in ("", *minors)
)


# Syntax trees


@dataclass(frozen=True, slots=True)
class _One:
    """One character of a set."""

    characters: CharacterSet


@dataclass(frozen=True, slots=True)
class _Start:
    """``^``"""


@dataclass(frozen=True, slots=True)
class _End:
    """``$``"""


@dataclass(frozen=True, slots=True)
class _Sequence:
    parts: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    branches: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    inner: _Node
    least: int
    most: int | None


_Node: TypeAlias = _One | _Start | _End | _Sequence | _Choice | _Repeat


class _Parser:
    def __init__(self, text: str, flags: str) -> None:
        self.text = text
        self.at = 0
        self.flags = flags
        self.nesting = 0
        self.atoms = 0

    def tree(self) -> _Node:
        tree = self._choice()
        found = self._peek()
        if found:
            self._refuse(f"unexpected `{found}` in the pattern", self.at)
        return tree

    def _peek(self) -> str:
        """The next character, after white space with the flag `x`; empty at the end."""
        if "x" in self.flags:
            while self._peek_raw() in _WHITE_SPACE:
                self.at += 1
        return self._peek_raw()

    def _peek_raw(self) -> str:
        """The next character in brackets, where white space counts."""
        return self.text[self.at : self.at + 1]

    def _take(self, character: str) -> bool:
        taken = self._peek() == character
        self.at += taken
        return taken

    def _take_raw(self, character: str) -> bool:
        taken = self._peek_raw() == character
        self.at += taken
        return taken

    def _refuse(self, message: str, at: int) -> NoReturn:
        raise PatternRefused("query.pattern", message, at)

    def _choice(self) -> _Node:
        branches = [self._sequence()]
        while self._take("|"):
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else _Choice(tuple(branches))

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while (found := self._peek()) and found not in "|)":
            parts.append(self._quantified(self._atom(found)))
        return _Sequence(tuple(parts))

    def _atom(self, found: str) -> _Node:
        start = self.at
        self.atoms += 1
        if self.atoms > MAX_PATTERN_STATES:
            raise _too_many_states(start)
        self.at += 1
        if found == "(":
            return self._group(start)
        if found == "[":
            return _One(self._bracketed(start))
        if found == ".":
            return _One(_ANY if "s" in self.flags else _LINE_ENDS)
        if found == "^":
            return _Start()
        if found == "$":
            return _End()
        if found == "\\":
            escaped = self._escape(self._peek(), start)
            return _One(self._literal(escaped) if isinstance(escaped, str) else escaped)
        if found in "*+?{":
            self._refuse(f"nothing to repeat before `{found}`", start)
        if found in "}]":
            self._refuse(f"unexpected `{found}` in the pattern", start)
        return _One(self._literal(found))

    def _literal(self, character: str) -> CharacterSet:
        return _case_variants(character) if "i" in self.flags else frozenset((character,))

    def _enter(self, start: int) -> None:
        if self.nesting == MAX_NESTING:
            raise PatternRefused("query.limit", f"more than {MAX_NESTING} levels", start)

    def _group(self, start: int) -> _Node:
        self._enter(start)
        if self._take("?") and not self._take(":"):
            self._refuse("only `(?:` can follow a parenthesis", start)
        self.nesting += 1
        inner = self._choice()
        self.nesting -= 1
        if not self._take(")"):
            self._refuse("the parenthesis is not closed", start)
        return inner

    def _quantified(self, atom: _Node) -> _Node:
        match self._peek():
            case "*":
                least, most = 0, None
            case "+":
                least, most = 1, None
            case "?":
                least, most = 0, 1
            case "{":
                return self._counted(atom)
            case _:
                return atom
        self.at += 1
        return self._repeat(atom, least, most)

    def _counted(self, atom: _Node) -> _Node:
        """``{n}``, ``{n,}`` or ``{n,m}``."""
        start = self.at
        self.at += 1
        least = self._count(start)
        if least is None:
            self._refuse("a number must follow `{`", start)
        most = self._count(start) if self._take(",") else least
        if not self._take("}"):
            self._refuse("the brace is not closed", start)
        if most is not None and most < least:
            self._refuse("the maximum is less than the minimum", start)
        return self._repeat(atom, least, most)

    def _repeat(self, atom: _Node, least: int, most: int | None) -> _Node:
        self._take("?")  # a reluctant quantifier matches the same texts
        return _Repeat(atom, least, most)

    def _count(self, start: int) -> int | None:
        value = None
        while (digit := self._peek()) and digit in "0123456789":
            self.at += 1
            value = (value or 0) * 10 + int(digit)
            if value > MAX_PATTERN_STATES:
                message = f"more than {MAX_PATTERN_STATES} repetitions"
                raise PatternRefused("query.limit", message, start)
        return value

    def _bracketed(self, start: int) -> CharacterSet:
        """The rest of ``[...]``."""
        self._enter(start)
        negated = self._take_raw("^")
        # Ranges have case variants; the sets of escapes such as `\p{Lu}` have none.
        characters: list[CharacterSet] = []
        sets: list[CharacterSet] = []
        subtracted: CharacterSet | None = None
        first = True
        while True:
            at = self.at
            found = self._peek_raw()
            if not found:
                self._refuse("the bracket is not closed", start)
            self.at += 1
            if found == "]":
                if first:
                    self._refuse("the brackets are empty", start)
                break
            if found == "[":
                self._refuse("unexpected `[` in the pattern", at)
            if found == "-" and not first and self._peek_raw() == "[":
                inner = self.at
                self.at += 1
                self.nesting += 1
                subtracted = self._bracketed(inner)
                self.nesting -= 1
                if not self._take_raw("]"):
                    self._refuse("a subtraction must end the brackets", inner)
                break
            if found == "-" and not first and self._peek_raw() != "]":
                self._refuse("unexpected `-` in the pattern", at)
            first = False
            if found == "\\":
                escaped = self._escape(self._peek_raw(), at)
                if not isinstance(escaped, str):
                    sets.append(escaped)
                    continue
                found = escaped
            characters.append(_Range(found, self._range_end(found, at)))
        union: CharacterSet = _Union(tuple(characters))
        if "i" in self.flags:
            union = _Caseless(union)
        union = _Union((union, *sets))
        if negated:
            union = _Negated(union)
        return union if subtracted is None else _Difference(union, subtracted)

    def _range_end(self, first: str, at: int) -> str:
        ahead = self.text[self.at : self.at + 2]
        if len(ahead) < 2 or ahead[0] != "-" or ahead[1] in "][":
            return first
        self.at += 1
        end = self.at
        last = self._peek_raw()
        self.at += 1
        if last == "\\":
            escaped = self._escape(self._peek_raw(), end)
            if not isinstance(escaped, str):
                self._refuse("a range must end with a character", end)
            last = escaped
        elif last == "-":
            self._refuse("unexpected `-` in the pattern", end)
        if last < first:
            self._refuse("the range is out of order", at)
        return last

    def _escape(self, letter: str, start: int) -> str | CharacterSet:
        """The rest of an escape whose backslash is at ``start``: a character or a set."""
        if not letter:
            self._refuse("a character must follow `\\`", start)
        self.at += 1
        if letter in _CHARACTERS:
            return _CHARACTERS[letter]
        if letter in _SETS:
            return _SETS[letter]
        if letter.lower() in _SETS:
            return _Negated(_SETS[letter.lower()])
        if letter in "pP":
            category = self._category(start)
            return category if letter == "p" else _Negated(category)
        if letter in "0123456789":
            self._refuse("back-references are not supported", start)
        message = f"the escape `\\{letter}` is not supported"
        raise PatternRefused("query.pattern", message, start)

    def _category(self, start: int) -> CharacterSet:
        end = self.text.find("}", self.at)
        if self._peek_raw() != "{" or end < 0:
            self._refuse("a category in braces must follow `\\p`", start)
        name = self.text[self.at + 1 : end]
        if name not in _CATEGORIES:
            self._refuse(
                f"the Unicode block `{name}` is not supported"
                if name.startswith("Is")
                else f"the category `{name}` does not exist",
                start,
            )
        self.at = end + 1
        return _Category((name,))


def _too_many_states(at: int) -> PatternRefused:
    message = f"a pattern of more than {MAX_PATTERN_STATES} states"
    return PatternRefused("query.limit", message, at)


# Automata

_ACCEPT: Final = 0
"""The state in which the pattern has matched."""


@dataclass(slots=True)
class _Split:
    first: int
    second: int


_State: TypeAlias = tuple[CharacterSet | _Start | _End, int] | _Split | None
"""What a state consumes or asserts, and the next one; ``None`` accepts."""


class _Compiler:
    def __init__(self) -> None:
        self.states: list[_State] = [None]
        self._work = 0  # repeating the empty string adds no state

    def _state(self, state: _State) -> int:
        if len(self.states) > MAX_PATTERN_STATES:
            raise _too_many_states(0)
        self.states.append(state)
        return len(self.states) - 1

    def add(self, node: _Node, following: int) -> int:
        """Adds the states of a node that continues at ``following``; returns the first of them."""
        self._work += 1
        if self._work > 4 * MAX_PATTERN_STATES:
            raise _too_many_states(0)
        match node:
            case _One(characters):
                return self._state((characters, following))
            case _Start() | _End():
                return self._state((node, following))
            case _Sequence(parts):
                for part in reversed(parts):
                    following = self.add(part, following)
                return following
            case _Choice((*others, last)):
                start = self.add(last, following)
                for branch in reversed(others):
                    start = self._state(_Split(self.add(branch, following), start))
                return start
            case _Repeat(inner, least, most):
                return self._repeat(inner, least, most, following)
        raise AssertionError(node)

    def _repeat(self, inner: _Node, least: int, most: int | None, following: int) -> int:
        if most is None:
            loop = _Split(_ACCEPT, following)
            start = self._state(loop)
            loop.first = self.add(inner, start)
        else:
            start = following
            for _ in range(least, most):
                start = self._state(_Split(self.add(inner, start), following))
        for _ in range(least):
            start = self.add(inner, start)
        return start


class Pattern:
    """A compiled pattern."""

    def __init__(self, text: str, flags: str) -> None:
        for offset, letter in enumerate(flags):
            if letter not in "ismx":
                message = f"the flag `{letter}` is not supported"
                raise PatternRefused("query.pattern", message, offset, in_flags=True)
        compiler = _Compiler()
        self._start = compiler.add(_Parser(text, flags).tree(), _ACCEPT)
        self._states = compiler.states
        self._multi_line = "m" in flags

    def matches(self, text: str) -> bool:
        """Whether some part of the text matches."""
        waiting: set[int] = set()
        last = ""
        for following in (*text, ""):
            reached = set(self._reached(waiting, last, following))
            if _ACCEPT in reached:
                return True
            waiting = set()
            for number in reached:
                state = self._states[number]
                if isinstance(state, tuple) and following:
                    consumed, onward = state
                    if not isinstance(consumed, _Start | _End) and following in consumed:
                        waiting.add(onward)
            last = following
        return False

    def _reached(self, waiting: set[int], last: str, following: str) -> Iterator[int]:
        """The states reachable without a character from the waiting ones and the start."""
        starts, ends = self._assertions(last, following)
        visited: set[int] = set()
        stack = [self._start, *waiting]
        while stack:
            number = stack.pop()
            if number in visited:
                continue
            visited.add(number)
            yield number
            match self._states[number]:
                case _Split(first, second):
                    stack += (first, second)
                case (_Start(), onward) if starts:
                    stack.append(onward)
                case (_End(), onward) if ends:
                    stack.append(onward)

    def _assertions(self, last: str, following: str) -> tuple[bool, bool]:
        """Whether ``^`` and ``$`` match between two characters.

        With the flag ``m``, a line feed at the end of the text does not start another line.
        """
        if not self._multi_line:
            return not last, not following
        starts = not last or (last == "\n" and bool(following))
        ends = following == "\n" if following else last != "\n"
        return starts, ends


@lru_cache(maxsize=MAX_CACHED_PATTERNS)
def pattern_of(text: str, flags: str) -> Pattern:
    """Compiles a pattern; raises :class:`PatternRefused`."""
    return Pattern(text, flags)
