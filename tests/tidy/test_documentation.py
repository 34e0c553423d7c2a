"""Tests the documentation: examples run, links resolve, generated pages are up to date."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from build_docs import SPHINX_OPTIONS
from markdown_pages import CodeBlock, broken_links, code_blocks, links, local_target, pages
from reference_pages import PAGES, every_command

import penstock
from penstock.lab.bench import BENCHES
from penstock.lab.experiments import EXPERIMENTS
from penstock.mediation import Mapping, SchemaMatching
from penstock.mediation.schema_matching.name_words import Abbreviations
from penstock.native import native
from penstock.schema.outline import read_tree
from support.fixtures.repository import DOCS, NATIVE, ROOT, SOURCE, files_under, relative

LANGUAGES = {"python", "console", "sh", "text", "json", "xml", "rust", "toml", "mermaid"}
"""Languages of code blocks; ``python`` and ``console`` run, commands in ``sh`` are checked."""

DIRECTIVES = {"{eval-rst}"}
"""Blocks that the site generator evaluates: the Python reference, from docstrings."""

needs_native_core = pytest.mark.skipif(
    native is None, reason="pages show error messages of the native core"
)

DOCTEST_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.REPORT_NDIFF


@pytest.fixture
def playground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples, and ``penstock`` on the path, as for a reader of the page."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    command = tmp_path / "bin" / "penstock"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m penstock "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands_with_output(block: CodeBlock) -> Iterator[tuple[str, str]]:
    """Yields the commands of a console block, each with the output shown below it."""
    command, shown = "", list[str]()
    for line in block.text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, "\n".join(shown)
            command, shown = line[2:], []
        elif command.endswith("\\"):
            command = command[:-1] + line.strip()
        else:
            shown.append(line)
    yield command, "\n".join(shown)


def output_equals(shown: str, printed: str) -> bool:
    """Compares output with what a page shows, line by line; ``...`` matches anything."""
    shown, printed = (
        "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"
        for text in (shown, printed)
    )
    return doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS)


def without_progress(printed: str) -> str:
    """The output without the lines that a slow machine prints about a batch in progress."""
    return re.sub(r"(?m)^batch in progress: .*\n", "", printed)


def pages_with(language: str) -> list[str]:
    return [
        relative(page)
        for page in pages()
        if any(block.language == language for block in code_blocks(page))
    ]


@needs_native_core
@pytest.mark.parametrize("page", pages_with("console"))
def test_commands_print_what_the_page_shows(page: str, playground: Path) -> None:
    for block in code_blocks(ROOT / page):
        if block.language != "console":
            continue
        for command, shown in commands_with_output(block):
            assert command.startswith("penstock "), f"{page}:{block.line}: not run by any test"
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=playground,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert output_equals(shown, without_progress(done.stdout)), (
                f"{page}:{block.line}: {command} prints\n{done.stdout}"
            )


def commands_shown() -> Iterator[tuple[str, list[str]]]:
    """Yields every ``penstock`` command that a page shows without output, with its position."""
    for page in pages():
        for block in code_blocks(page):
            for line in block.text.replace("\\\n", " ").splitlines():
                if block.language == "sh" and line.lstrip().startswith("penstock "):
                    place = f"{relative(page)}:{block.line}"
                    yield place, shlex.split(line.split("  #")[0])[1:]


def test_commands_without_output_exist_with_their_options() -> None:
    commands = {path[1:]: command for path, command in every_command()}
    unknown = []
    for place, words in commands_shown():
        found = (commands.get(tuple(words[:count])) for count in (3, 2, 1))
        command = next(filter(None, found), None)
        options = {name for each in command.params for name in each.opts} if command else set()
        if not command or not {word for word in words if word.startswith("-")} <= options:
            unknown.append(f"{place}: penstock {' '.join(words)}")
    assert unknown == []


READERS: dict[str, Callable[[str], object]] = {
    "schema": read_tree,
    "matching": SchemaMatching.from_text,
    "abbreviations": Abbreviations.from_text,
    "mapping": Mapping.from_text,
}
"""Maps KIND to the parser of files that begin with ``penstock KIND 1``."""


def test_files_shown_can_be_parsed() -> None:
    for page in pages():
        for block in code_blocks(page):
            kind = re.match(r"penstock (\w+) 1$", block.text, re.MULTILINE)
            if block.language == "text" and kind:
                READERS[kind[1]](block.text)


def uses_spark(page: str) -> bool:
    blocks = code_blocks(ROOT / page)
    return any("(spark" in block.text for block in blocks if block.language == "python")


@needs_native_core
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.spark if uses_spark(page) else ())
        for page in pages_with("python")
    ],
)
def test_python_examples_run(page: str, playground: Path, request: pytest.FixtureRequest) -> None:
    """Runs all blocks of a page in one namespace, as doctests or as plain code.

    Pages that use a Spark session find it under the name ``spark``.
    """
    names: dict[str, object] = {"__name__": "__main__"}
    blocks = [block for block in code_blocks(ROOT / page) if block.language == "python"]
    if uses_spark(page):
        names["spark"] = request.getfixturevalue("spark")
    for block in blocks:
        where = f"{page}:{block.line}"
        if not block.text.lstrip().startswith(">>>"):
            exec(compile(block.text, where, "exec"), names)
            continue
        runner = doctest.DocTestRunner(optionflags=DOCTEST_FLAGS)
        test = doctest.DocTestParser().get_doctest(block.text, names, where, page, block.line)
        output: list[str] = []
        runner.run(test, out=output.append, clear_globs=False)
        names = test.globs
        assert runner.failures == 0, "".join(output)


def test_every_block_names_its_language() -> None:
    odd = [
        f"{relative(block.page)}:{block.line}: {block.language!r}"
        for page in pages()
        for block in code_blocks(page)
        if block.language not in LANGUAGES | DIRECTIVES
    ]
    assert odd == []


def test_no_link_is_broken() -> None:
    assert broken_links() == []


def test_every_page_can_be_reached_from_the_index() -> None:
    index = DOCS / "index.md"
    reached = {index}
    waiting = [index]
    while waiting:
        page = waiting.pop()
        targets = (local_target(page, link) for link in links(page))
        for path in {target[0] for target in targets if target is not None} - reached:
            reached.add(path)
            if path.suffix == ".md":
                waiting.append(path)
    unreached = {page for page in pages() if page.is_relative_to(DOCS)} - reached
    assert sorted(relative(page) for page in unreached) == []


def test_architecture_page_links_every_folder_of_the_sources() -> None:
    """Folders that hold nothing but the tests of a Rust module are part of that module."""
    page = ROOT / "ARCHITECTURE.md"
    targets = (local_target(page, link) for link in links(page))
    linked = {path for path, _ in filter(None, targets)}
    sources = files_under(SOURCE / "penstock") + files_under(NATIVE / "src")
    of_tests = re.compile(r"/(tests|testing)(/|$)|/\w+/tests\.rs$")
    folders = {path.parent for path in sources if not of_tests.search(relative(path))}
    assert sorted(relative(folder) for folder in folders - linked) == []


def test_decision_records_have_one_format_and_consecutive_numbers() -> None:
    records = sorted((DOCS / "decisions").glob("0*.md"))
    assert [record.name[:4] for record in records] == [
        f"{n:04}" for n in range(1, len(records) + 1)
    ]
    index = (DOCS / "decisions" / "README.md").read_text("utf-8")
    form = re.compile(
        r"# (?P<title>\d{4}: [^\n]+)\n\n- Status: (Accepted|Superseded)[^\n]*\n"
        r"- Date: \d{4}-\d\d-\d\d[^\n]*\n"
        r"\n## Context\n.+\n## Decision\n.+\n## Consequences\n.+",
        re.DOTALL,
    )
    for record in records:
        found = form.fullmatch(record.read_text("utf-8"))
        assert found, f"{relative(record)}: headings or their order"
        assert f"- [{found['title']}]({record.name})\n" in index


def test_python_reference_lists_every_public_name() -> None:
    """The names of ``penstock`` itself by purpose, the packages by a page each."""
    listed = re.findall(
        r"^   (\w+)$", (DOCS / "reference/python.md").read_text("utf-8"), re.MULTILINE
    )
    assert sorted(listed) == sorted(penstock.__all__)
    documented = {
        module
        for page in (DOCS / "reference" / "python").glob("*.md")
        for module in re.findall(r"automodule:: penstock\.(\w+)", page.read_text("utf-8"))
    }
    assert {module.removeprefix("penstock.") for module in penstock._MODULES.values()} <= documented


def test_the_glossary_defines_each_term_once() -> None:
    text = (DOCS / "glossary.md").read_text("utf-8")
    terms = re.findall(r"^\| ([^|]+?) \| [^|]", text, re.MULTILINE)
    headings = {"term"}
    assert [
        term for term, count in Counter(terms).items() if count > 1 and term not in headings
    ] == []


def test_the_guide_lists_every_benchmark_and_experiment() -> None:
    text = (DOCS / "how-to" / "measure-speed.md").read_text("utf-8")
    assert set(re.findall(r"^penstock bench ([\w-]+)", text, re.MULTILINE)) == set(BENCHES)
    assert set(re.findall(r"^penstock lab run ([\w-]+)", text, re.MULTILINE)) == set(EXPERIMENTS)


def _shown_figures() -> dict[str, list[str]]:
    """The figures in the table of budgets, by benchmark; those without a budget are left out."""
    text = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \| ([\d,.]+).* \|$", text, re.MULTILINE)
    found: dict[str, list[str]] = {}
    for bench, budget, figure in rows:
        if budget != "none":
            found.setdefault(bench, []).append(figure.replace(",", ""))
    return found


@pytest.mark.parametrize("bench", sorted(BENCHES))
def test_the_table_of_budgets_shows_the_last_run(bench: str) -> None:
    report = json.loads((ROOT / "benchmarks" / "results" / f"{bench}.json").read_text("utf-8"))
    shown = _shown_figures()[bench]
    measured = [check["value"] for check in report["checks"]]
    assert len(shown) == len(measured)
    for figure, value in zip(shown, measured, strict=True):
        unit_last_place = 10 ** -len(figure.partition(".")[2])
        assert abs(float(figure) - value) <= 0.51 * unit_last_place


@pytest.mark.skipif(find_spec("sphinx") is None, reason="the extra `docs` is not installed")
def test_site_builds_without_warnings(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "sphinx",
        *SPHINX_OPTIONS,
        # The lists of objects in the navigation take 40% of the time, and cannot be wrong.
        *("-D", "toc_object_entries=0"),
        *("--doctree-dir", str(tmp_path / "d")),
    ]
    built = subprocess.run(
        [*command, str(ROOT), str(tmp_path / "site")], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr


@pytest.mark.parametrize("page", sorted(PAGES))
def test_generated_pages_are_up_to_date(page: str) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == PAGES[page](), "run `make docs`"
