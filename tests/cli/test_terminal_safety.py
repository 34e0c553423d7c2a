"""Text from outside reaches the terminal without control characters, whatever the command."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from penstock.cli import console
from penstock.cli.terminal_text import visible, visible_json
from penstock.errors import error
from support.fixtures.commands import penstock
from support.fixtures.repository import SOURCE, modules

HOSTILE = "h\x1b[31m\x9b2J\u202e\u2066\x7f"
"""For names of files: ESC, C1, bidirectional controls and DEL."""

IN_XML = "t\x9b2J\u202e\x7f"
"""The same as far as XML 1.0 allows it in text."""

UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

MAY_WRITE = {"penstock.cli.console"}
"""The only module of the command line that writes to the standard streams."""


@pytest.fixture
def hostile_folder(process_inbox: Callable[[], None], tmp_path: Path) -> Path:
    """A workspace in which every name that a command may print is hostile where that is allowed."""
    good, broken = tmp_path / f"{HOSTILE}.xml", tmp_path / f"broken{HOSTILE}.xml"
    good.write_text(f"<news><item a='{IN_XML}'>{IN_XML} word</item></news>", "utf-8")
    broken.write_text(f"<news>{IN_XML}</{IN_XML}>", "utf-8")
    (tmp_path / f"{HOSTILE}.txt").write_text(
        f"odd{IN_XML}\t//item[@a='{IN_XML}']\nnever\t/a[b > '{IN_XML}']\nbad\t//${IN_XML}\n",
        "utf-8",
    )
    penstock("subscribe", "anna", f"//item[@a='{IN_XML}']", "--returns", "fragments")
    penstock("subscribe", "anna", "--keywords", "word")
    fields = ("--header", f"from={HOSTILE}", "--publisher", "me")
    penstock("publish", str(good), str(broken), *fields)
    process_inbox()
    return tmp_path


COMMANDS = [
    ["match", f"{HOSTILE}.txt", f"{HOSTILE}.xml", f"broken{HOSTILE}.xml"],
    ["match", "--fragments", f"{HOSTILE}.txt", f"{HOSTILE}.xml"],
    ["match", "--explain", f"odd{IN_XML}", f"{HOSTILE}.txt", f"{HOSTILE}.xml", "c.xml"],
    ["match", f"{HOSTILE}.txt", f"missing{HOSTILE}.xml"],
    ["match", f"missing{HOSTILE}.txt", "a.xml"],
    ["match", "--engine", HOSTILE, f"{HOSTILE}.txt", "a.xml"],
    ["try", "//item", f"{HOSTILE}.xml", f"broken{HOSTILE}.xml"],
    ["try", "--keywords", "word", f"{HOSTILE}.xml"],
    ["try", f"//${HOSTILE}", "a.xml"],
    ["publish", f"{HOSTILE}.xml"],
    ["publish", "--schema", HOSTILE, "a.xml"],
    ["publish", "--from-file", f"missing{HOSTILE}"],
    ["relate", f"/a[b='{IN_XML}']", f"/a[b='{IN_XML}']/c"],
    ["relate", f"/{HOSTILE}", "/a"],
    ["subscribe", HOSTILE, "//item"],
    ["subscribe", "anna", f"/a[b > '{IN_XML}']"],
    ["subscriptions", "list"],
    ["subscriptions", "export"],
    ["subscriptions", "import", f"{HOSTILE}.txt"],
    ["unsubscribe", HOSTILE],
    ["pause", HOSTILE],
    ["mailbox", "anna"],
    ["mailbox", HOSTILE],
    ["mailbox", "anna", "--export", f"export{HOSTILE}"],
    ["explain", "anna-1", f"{HOSTILE}.xml"],
    ["explain", "anna-1", "a.xml"],
    ["explain", "anna-2", "1"],
    ["explain", HOSTILE, HOSTILE],
    ["status"],
    ["dead-letters", "list"],
    ["dead-letters", "show", "2"],
    ["dead-letters", "show", HOSTILE],
    ["schema", "infer", f"broken{HOSTILE}.xml", f"{HOSTILE}.xml"],
    ["schema", "show", f"{HOSTILE}.xml"],
    ["mapping", "apply", f"{HOSTILE}.txt", "a.xml"],
    ["mapping", "register", HOSTILE, f"{HOSTILE}.txt"],
    ["mapping", "show", HOSTILE],
    ["mapping", "remove", HOSTILE],
    ["domain", "show", HOSTILE],
    ["domain", "remove", HOSTILE],
    ["generate", "queries", HOSTILE],
    ["init", f"new{HOSTILE}"],
    ["run", "--workspace", f"missing{HOSTILE}"],
    ["clean", "--workspace", f"missing{HOSTILE}"],
    [HOSTILE],
]


def test_no_command_prints_control_characters(hostile_folder: Path) -> None:
    shown = ""
    for command in COMMANDS:
        for flags in ([], ["--json"]):
            done = penstock(*command, *flags)
            for stream in (done.out, done.err):
                assert not UNSAFE.search(stream), (command, flags, stream)
                shown += stream
    assert "h\\x1b[31m\\x9b2J\\u202e\\u2066\\x7f" in shown
    assert "t\\u009b2J\\u202e\\u007f" in shown


@given(st.text())
def test_escapes_are_visible_and_json_keeps_its_value(text: str) -> None:
    assert not UNSAFE.search(visible(text))
    assert visible(visible(text)) == visible(text)
    line = visible_json(json.dumps({"text": text}, ensure_ascii=False))
    assert not UNSAFE.search(line)
    assert json.loads(line) == {"text": text}


@pytest.mark.parametrize("text", ["storm warning", "größe 東京 \U0001f600", "a\tb\nc"])
def test_ordinary_text_is_printed_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert visible_json(text) == text


class Terminal(StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_escapes_and_a_pipe_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for stream, expected in ((Terminal(), visible(IN_XML)), (StringIO(), IN_XML)):
        monkeypatch.setattr("sys.stdout", stream)
        console.print_file(IN_XML)
        assert stream.getvalue() == expected


def test_colours_remain_while_text_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    monkeypatch.setattr("sys.stdout", stream)
    console.print_line("a", (HOSTILE, "cyan"))
    table = Table(box=None)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE)
    console.print_table(table)
    monkeypatch.setattr("sys.stderr", stream)
    console.show_error(error("query.variable", HOSTILE), place=HOSTILE)
    text = re.sub("\x1b\\[[0-9;]*m", "", stream.getvalue())
    assert stream.getvalue().startswith("a\x1b[36mh\\x1b")
    assert not UNSAFE.search(text)


def test_only_the_console_writes_to_the_standard_streams() -> None:
    """Elsewhere, text would bypass the escapes."""
    found = []
    for name, path in modules().items():
        if not name.startswith("penstock.cli") or name in MAY_WRITE:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in ("print", "typer.echo", "typer.secho") or called.endswith(
                    ("stdout.write", "stderr.write")
                ):
                    found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert found == []
