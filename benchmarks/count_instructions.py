"""Counts the instructions that Penstock executes for each workload, with Valgrind's Callgrind.

Times on a shared machine vary by a third from minute to minute; instruction counts hardly vary, so
they show whether a change made a version slower or faster. ``benchmarks/README.md`` has examples.

Inputs are generated once and reused (``instruction_inputs.py``). The version under test builds
indexes of them in a normal process. Then a single-threaded process runs under Callgrind, opens the
indexes and makes several passes over the inputs of each workload (``instruction_workloads.py``).
Callgrind writes its counters to a new file at each boundary between passes, so starting Python,
importing modules and opening indexes are not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, TypedDict

FOLDER: Final = Path(__file__).resolve().parent
ROOT: Final = FOLDER.parent

RATIO_MAX: Final = 1.03
"""The largest ratio of instructions after to before that ``--compare`` accepts."""

MARK: Final = "ctermid"
"""The function at whose calls Callgrind writes its counters: see ``instruction_workloads.mark``."""

EXTENSION: Final = "penstock/_native"
"""Part of the path of the native extension."""

WORKLOADS: Final = {
    "read": "the reader alone",
    "records": "cutting two documents of 1 MB into records",
    "paths-sparse": "50,000 XPath subscriptions, 46 matches per document",
    "paths-dense": "50,000 XPath subscriptions, 2,700 matches per document",
    "paths-hard": "50,000 XPath subscriptions with many // and *",
    "paths-deep": "50,000 XPath subscriptions, documents of up to 36 levels",
    "paths-single": "paths-sparse, one call per document",
    "paths-fragments": "paths-sparse with fragments",
    "keywords-words": "50,000 keyword subscriptions, words of documents",
    "keywords-paths": "50,000 keyword subscriptions, terms of paths",
    "keywords-fragments": "keywords-words with fragments",
    "keywords-answers": "detailed answers to 100 subscriptions of keywords-paths",
    "combined": "paths-sparse and keywords-words in one reading",
    "mediation": "4,000 XPath subscriptions through 40 mappings (NDDR)",
    "mediation-combined": "mediation and keywords-words in one reading",
    "mediation-fragments": "fragments for 30 subscriptions through a mapping",
    "build-paths": "add_many of 20,000 XPath subscriptions, and the first matcher",
    "build-keywords": "add_many of 20,000 keyword subscriptions, and the first matcher",
}
"""All workloads, in the order in which they run."""

FIRST_PASS: Final = ("paths-sparse", "paths-dense", "paths-hard", "paths-deep", "keywords-words")
"""Workloads whose first pass, which builds automata and reorganizes indexes, counts too."""

EXTENSION_ALONE: Final = (
    "paths-fragments",
    "keywords-fragments",
    "keywords-answers",
    "mediation-fragments",
)
"""Workloads that mostly create Python objects: the extension's own share counts separately."""


@dataclass(frozen=True)
class Count:
    """The instructions of one pass."""

    instructions: int
    units: int
    """Documents, records or subscriptions in a pass."""
    result: int
    """Size of the result: two versions that did the same work have the same."""

    @property
    def per_unit(self) -> float:
        """Instructions per document, record or subscription."""
        return self.instructions / self.units


class Finished(TypedDict):
    """Reported by a workload after its last pass."""

    workload: str
    pid: int
    units: int
    result: int


def main() -> int:
    """Count, or compare two counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--source", type=Path, default=ROOT, help="the checkout to count (default: this one)"
    )
    parser.add_argument(
        "--inputs",
        type=Path,
        default=ROOT / "build" / "instructions",
        help="folder of inputs, which are generated where missing (default: build/instructions)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the counts here")
    parser.add_argument(
        "--workload",
        action="append",
        choices=list(WORKLOADS),
        help="count only this workload (may be repeated)",
    )
    parser.add_argument(
        "--compare",
        nargs=2,
        type=Path,
        metavar=("BEFORE", "AFTER"),
        help=f"compare two JSON files; exit with 1 where a ratio is above {RATIO_MAX}",
    )
    arguments = parser.parse_args()
    if arguments.compare:
        before, after = map(loaded, arguments.compare)
        return compare(before, after)
    names = arguments.workload or list(WORKLOADS)
    counts = count(arguments.source.resolve(), arguments.inputs.resolve(), names)
    if arguments.json:
        content = {name: asdict(each) for name, each in counts.items()}
        arguments.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    for line in table(counts):
        print(line)
    return 0


def count(source: Path, inputs: Path, names: Sequence[str]) -> dict[str, Count]:
    """Count workloads of a checkout, whose extension is built."""
    python(ROOT, "instruction_inputs.py", inputs)
    with tempfile.TemporaryDirectory(prefix="penstock-instructions-") as folder:
        progress("building indexes")
        python(source, "instruction_workloads.py", "build", inputs, folder)
        progress("starting Python under Callgrind")
        counters = Path(folder, "counters")
        callgrind = (
            "valgrind",
            "--quiet",
            "--tool=callgrind",
            f"--callgrind-out-file={counters}.%p",
            f"--dump-before={MARK}",
            "--compress-strings=no",
        )
        with subprocess.Popen(
            [*callgrind, *command("instruction_workloads.py", "run", inputs, folder, *names)],
            env=environment(source),
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                counts = collect(process, source, counters)
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            sys.exit("the process under Callgrind failed")
    return counts


def collect(process: subprocess.Popen[str], source: Path, counters: Path) -> dict[str, Count]:
    """The counts of the workloads as they finish."""
    assert process.stdout is not None
    imported = json.loads(process.stdout.readline() or "{}").get("penstock", "")
    if not Path(imported).is_relative_to(source):
        sys.exit(f"Python imported {imported or 'nothing'}, which is not in {source}")
    counts: dict[str, Count] = {}
    for line in process.stdout:
        finished: Finished = json.loads(line)
        counts |= rows(finished, Path(f"{counters}.{finished['pid']}"))
        progress(f"counted {finished['workload']}")
    return counts


def python(source: Path, script: str, *arguments: str | Path) -> None:
    """Run a script of this folder with the checkout's modules."""
    subprocess.run(command(script, *arguments), env=environment(source), check=True)


def command(script: str, *arguments: str | Path) -> list[str]:
    """The command that runs a script of this folder."""
    return [sys.executable, str(FOLDER / script), *map(str, arguments)]


def environment(source: Path) -> dict[str, str]:
    """Imports from the checkout, the same hashes in every run, and no fallback to Python."""
    return {
        **os.environ,
        "PYTHONPATH": str(source / "src"),
        "PYTHONHASHSEED": "0",
        "PENSTOCK_REQUIRE_NATIVE": "1",
    }


def rows(finished: Finished, counters: Path) -> dict[str, Count]:
    """The counts of one workload, from the files that Callgrind wrote at its marks."""
    name, units, result = finished["workload"], finished["units"], finished["result"]
    # The first file covers everything up to the first pass, the last what follows the last pass.
    files = [counters.with_name(f"{counters.name}.{part}") for part in parts(counters)][1:]
    if not files:
        sys.exit(f"Callgrind did not recognize the function {MARK}")
    everything, extension = by_object(files[-1])
    found = {name: Count(everything, units, result)}
    if name in FIRST_PASS:
        found[f"{name}, first pass"] = Count(by_object(files[0])[0], units, result)
    if name in EXTENSION_ALONE:
        found[f"{name}, extension alone"] = Count(extension, units, result)
    return found


def parts(counters: Path) -> list[int]:
    """The numbers of the files that a process wrote at marks."""
    written = counters.parent.glob(f"{counters.name}.*")
    return sorted(int(path.suffix[1:]) for path in written)


def by_object(path: Path) -> tuple[int, int]:
    """Instructions in a file of counters: all, and those of the extension."""
    total = extension = 0
    in_extension = is_call = False
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("ob="):
                in_extension = EXTENSION in line
            elif line.startswith("calls="):
                is_call = True
            elif line[0] in "0123456789+-*":
                # The line after "calls=" holds the cost of the callee, which is counted there.
                cost = 0 if is_call else int(line.split()[1])
                total += cost
                extension += cost if in_extension else 0
                is_call = False
    return total, extension


def table(counts: dict[str, Count]) -> Iterator[str]:
    """The counts as Markdown."""
    yield "| workload | what | instructions per document, record or subscription |"
    yield "|---|---|---|"
    for name, each in counts.items():
        yield f"| {name} | {WORKLOADS.get(name, '')} | {each.per_unit:,.0f} |"


def compare(before: dict[str, Count], after: dict[str, Count]) -> int:
    """Print both counts with their ratio as Markdown; 1 if some count grew too much, else 0."""
    failures = [f"{name}: not in both files" for name in sorted(before.keys() ^ after.keys())]
    print("| workload | what | before | after | ratio |")
    print("|---|---|---|---|---|")
    for name in [name for name in before if name in after]:
        old, new = before[name], after[name]
        ratio = new.per_unit / old.per_unit
        what = WORKLOADS.get(name, "")
        print(f"| {name} | {what} | {old.per_unit:,.0f} | {new.per_unit:,.0f} | {ratio:.3f} |")
        if ratio > RATIO_MAX:
            failures.append(f"{name}: {ratio:.3f}, more than {RATIO_MAX}")
        if (old.units, old.result) != (new.units, new.result):
            failures.append(f"{name}: not the same work, so the counts cannot be compared")
    for failure in failures:
        progress(failure)
    return 1 if failures else 0


def loaded(path: Path) -> dict[str, Count]:
    """Counts from a JSON file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return {name: Count(**each) for name, each in content.items()}


def progress(line: str) -> None:
    """Report progress on standard error."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
