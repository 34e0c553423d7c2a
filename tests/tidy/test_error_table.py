"""One error table: every code in it is raised somewhere and tested, and no other code is used."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from penstock.errors import ERRORS, PenstockError, error
from support.fixtures.repository import NATIVE, SOURCE, TESTS, files_under

TABLE = SOURCE / "penstock" / "errors"
RUST_TESTS = "#[cfg(test)]"
AREAS = "|".join(sorted({code.partition(".")[0] for code in ERRORS}))
A_CODE = re.compile(rf"""["']((?:{AREAS})\.[a-z][a-z0-9_-]*)["']""")
FILE_SUFFIXES = {"dtd", "xml", "md", "txt", "json", "jsonl", "log", "py", "svg"}
"""``"document.xml"`` names a file, not an error."""


def codes_in(text: str) -> set[str]:
    """Every string literal that reads as an error code."""
    found = set(A_CODE.findall(text))
    return {code for code in found if code.partition(".")[2] not in FILE_SUFFIXES}


def source_and_tests(path: Path) -> tuple[str, str]:
    """A file's product code and its test code; Rust keeps both in one file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".rs":
        return text, ""
    if "tests" in {path.stem, path.parent.name}:
        return "", text
    before, mark, after = text.partition(RUST_TESTS)
    return before, mark + after


@cache
def codes_used() -> set[str]:
    """Codes that product code names outside the table."""
    sources = files_under(SOURCE, ".py") + files_under(NATIVE / "src", ".rs")
    return {
        code
        for path in sources
        if path.parent != TABLE
        for code in codes_in(source_and_tests(path)[0])
    }


@cache
def text_of_the_tests() -> str:
    """All test code there is, in both languages."""
    texts = [
        path.read_text(encoding="utf-8")
        for path in files_under(TESTS, ".py", ".toml", ".json", ".jsonl", ".txt")
    ]
    texts += [source_and_tests(path)[1] for path in files_under(NATIVE / "src", ".rs")]
    return "\n".join(texts)


def test_every_code_is_in_one_module() -> None:
    # When the tables are merged, the later of two rows would silently win.
    rows = [
        code
        for path in files_under(TABLE, ".py")
        for code in codes_in(path.read_text(encoding="utf-8"))
    ]
    assert sorted(rows) == sorted(ERRORS)


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_every_code_is_raised_somewhere(code: str) -> None:
    assert code in codes_used()


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_every_code_is_named_by_a_test(code: str) -> None:
    # Also inside a longer text, as where a message is compared: "... [code]".
    assert re.search(rf"(?<![\w.-]){re.escape(code)}(?![\w.-])", text_of_the_tests())


def test_every_code_used_is_in_the_table() -> None:
    assert sorted(codes_used() - set(ERRORS)) == []


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_every_row_is_complete(code: str) -> None:
    row = ERRORS[code]
    made = error(code, "a message")
    assert type(made) is row.cls
    assert made.hint == row.hint
    # Derives from a built-in exception other than Exception.
    bases = set(row.cls.__mro__) - {PenstockError, Exception, BaseException, object}
    assert any(base.__module__ == "builtins" for base in bases)
    assert row.meaning
    assert row.meaning[0].islower() or row.meaning.split()[0].isupper()
    assert row.hint.endswith((".", "`"))
