"""Documents given as pipes, standard input, folders, glob patterns and lists of paths."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path

import pytest

from penstock import SubscriptionIndex
from support.contracts.native_engines import native_engines
from support.fixtures.commands import Done, penstock

GOOD = b"<news><item lang='en'>one</item><item lang='fr'/></news>"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # `last()` and keywords need a second reading.
    (tmp_path / "subs.txt").write_text(
        "last\t//item[last()]\nnone\t/sport\n@kind keywords\nwords\tone OR two\n", "utf-8"
    )
    for name in ("good.xml", "inside/a.xml", "inside/deep/b.xml", "inside/.hidden/c.xml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(GOOD)
    return tmp_path


def fifo(path: Path, content: bytes = GOOD) -> str:
    """A pipe that a thread writes the content to, once."""
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=[content], daemon=True).start()
    return str(path)


def with_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes, *arguments: str) -> Done:
    # Typer's runner replaces sys.stdin, so the module's own reference is patched.
    stream = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
    fake = type("Streams", (), {"stdin": stream, "getfilesystemencoding": lambda: "utf-8"})
    monkeypatch.setattr("penstock.cli.document_inputs.sys", fake)
    return penstock(*arguments)


@pytest.mark.parametrize("options", [[], ["--fragments"], ["--explain", "last"]])
def test_match_reads_a_pipe_once(folder: Path, options: list[str]) -> None:
    done = penstock("match", *options, "subs.txt", fifo(folder / "pipe"))
    assert done.out.splitlines()[0].split()[1:] == ["2", "last,", "words"]
    assert "1 matched, 0 unmatched, 0 refused" in done.err


@pytest.mark.parametrize("arguments", [["//item[last()]"], ["--keywords", "one"]])
def test_try_reads_a_pipe_once(folder: Path, arguments: list[str]) -> None:
    done = penstock("try", *arguments, fifo(folder / "pipe"))
    assert done.code == 0
    assert "matched 1 of 1 document" in done.err


def test_publish_reads_a_pipe_and_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    penstock("init")
    piped = penstock("publish", "--publisher", "p", fifo(folder / "pipe"))
    assert "1 document published" in piped.err
    same = with_stdin(monkeypatch, GOOD, "publish", "--publisher", "p", "-")
    assert same.out == "       1  - (already known)\n"


@pytest.mark.parametrize("command", [["match", "subs.txt"], ["try", "//item[last()]"]])
def test_a_dash_is_a_document_on_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    done = with_stdin(monkeypatch, GOOD, *command, "-")
    assert done.code == 0
    assert done.out.startswith("-")
    twice = penstock(*command, "-", "-")
    assert (twice.code, "only once" in twice.err) == (2, True)


def test_folders_and_patterns_are_expanded_without_hidden_files(folder: Path) -> None:
    done = penstock("match", "subs.txt", "inside", "*.xml", "inside/**/b.*")
    assert [line.split()[0] for line in done.out.splitlines()] == [
        "inside/a.xml",
        "inside/deep/b.xml",
        "good.xml",
        "inside/deep/b.xml",
    ]
    penstock("init", "w")
    published = penstock("publish", "-w", "w", "inside", "--json")
    assert [row["file"] for row in published.rows[:-1]] == ["inside/a.xml", "inside/deep/b.xml"]
    tried = penstock("try", "//item", "inside")
    assert "matched 2 of 2 documents" in tried.err


@pytest.mark.parametrize("argument", ["missing.xml", "no*.xml", "empty"])
def test_what_does_not_exist_is_a_usage_error(folder: Path, argument: str) -> None:
    (folder / "empty").mkdir()
    for command in (["match", "subs.txt"], ["try", "/a"], ["publish"]):
        done = penstock(*command, "good.xml", argument)
        assert (done.code, done.out) == (2, "")
        assert argument in done.err


def test_publish_reads_paths_from_a_file_or_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    penstock("init")
    (folder / "list").write_text("good.xml\n\ninside\r\n", "utf-8")
    done = penstock("publish", "--publisher", "p", "--from", "list", "--json")
    assert [row["file"] for row in done.rows[:-1]] == [
        "good.xml",
        "inside/a.xml",
        "inside/deep/b.xml",
    ]
    arguments = ("publish", "--publisher", "p", "--from", "-")
    assert with_stdin(monkeypatch, b"good.xml\n", *arguments).out == (
        "       1  good.xml (already known)\n"
    )
    odd = folder / "line\nfeed.xml"
    odd.write_bytes(GOOD + b"<!-- -->")
    terminated = with_stdin(monkeypatch, b"good.xml\0line\nfeed.xml\0", *arguments, "--json")
    assert [row["file"] for row in terminated.rows[:-1]] == ["good.xml", "line\nfeed.xml"]
    both = with_stdin(monkeypatch, GOOD, *arguments, "-")
    assert (both.code, "input is either" in both.err) == (2, True)
    assert penstock("publish", "--from-file", "missing").code == 2
    assert penstock("publish").code == 2


@pytest.mark.parametrize("engine", [*native_engines, "reference"])
@pytest.mark.parametrize("fragments", [False, True])
def test_match_file_reads_a_pipe_once(tmp_path: Path, engine: str, fragments: bool) -> None:
    if sys.platform == "win32":
        pytest.skip("no named pipes in the file system")
    index = SubscriptionIndex(engine=engine)
    index.add("last", "//item[last()]")
    matches = index.matcher().match_file(fifo(tmp_path / "pipe"), fragments=fragments)
    assert matches.errors == ()
    assert list(matches) == ["last"]
