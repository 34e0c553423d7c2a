"""Routes generated documents with annotations and without, 100,000 times: ``make fuzz``.

The tests do the same a few hundred times. Deliveries, forwards and refusals must be identical.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from penstock.lab.bench.machine_description import this_machine  # noqa: E402
from support.routing.annotation_cases import CASES_OF_NETWORK, check_case  # noqa: E402

RESULT = ROOT / "benchmarks" / "results" / "annotation-cases.txt"
CASES_OF_TASK = 25 * CASES_OF_NETWORK


@dataclass
class Progress:
    """What was compared so far. A run that was interrupted continues from it."""

    cases: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def add(self, cases: int, counts: Counter[str], failures: list[str]) -> None:
        """Adds the result of a task."""
        self.cases += cases
        self.counts = dict(Counter(self.counts) + counts)
        self.failures += failures


def main() -> int:
    """Compare the given number of cases; exits with 1 if annotations changed something."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--cases", type=int, required=True)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--progress", type=Path, help="continue from this file, and update it")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after that long")
    given = parser.parse_args()
    progress = Progress()
    if given.progress is not None and given.progress.exists():
        progress = Progress(**json.loads(given.progress.read_text(encoding="utf-8")))
    deadline = time.monotonic() + 60 * given.minutes
    with ProcessPoolExecutor(given.processes) as pool:
        while progress.cases < given.cases and time.monotonic() < deadline:
            ends = range(progress.cases, given.cases, CASES_OF_TASK)[: given.processes]
            tasks = [range(at, min(at + CASES_OF_TASK, given.cases)) for at in ends]
            for task, (counts, failures) in zip(tasks, pool.map(check_cases, tasks), strict=True):
                progress.add(len(task), counts, failures)
            if given.progress is not None:
                given.progress.write_text(json.dumps(asdict(progress)), encoding="utf-8")
            say(f"{progress.cases} cases, {len(progress.failures)} failed")
    text = report(progress, given.cases)
    say(text)
    RESULT.write_text(text, encoding="utf-8")
    return 1 if progress.failures else 0


def check_cases(numbers: Iterable[int]) -> tuple[Counter[str], list[str]]:
    """What the routers of some cases did, and the cases that failed."""
    counts: Counter[str] = Counter()
    failures = []
    for number in numbers:
        try:
            counts += check_case(number)
        except Exception as problem:  # a failed case must not end the others
            failures.append(f"case {number}: {type(problem).__name__}: {problem}"[:300])
    return counts, failures


def report(progress: Progress, wanted: int) -> str:
    """The result as it is committed."""
    counts = Counter(progress.counts)
    lines = [
        "make fuzz: documents routed with annotations and without",
        str(this_machine()),
        "",
        *([f"stopped after {progress.cases} of {wanted} cases"] if progress.cases < wanted else []),
        f"{progress.cases} cases: {progress.cases // CASES_OF_NETWORK} networks of 2 to 7 routers,"
        f" {CASES_OF_NETWORK} sets of annotations each",
        f"{counts['deliveries']} deliveries, {counts['dead']} refusals",
        f"{counts['annotated']} annotated messages, {counts['altered']} replaced or damaged",
        f"{counts['forged']} forged headers under the receiver's current digest, over"
        " unauthenticated links",
        f"{counts['outdated']} forged headers under an earlier digest of the receiver, over"
        " authenticated links",
        f"{counts['not_read']} documents not read, {counts['read_in_part']} read in part,"
        f" {counts['verified_annotations']} verified",
        f"{counts['ignored_annotations']} headers ignored",
        f"{len(progress.failures)} cases in which annotations changed a delivery, a forward or a"
        " refusal",
        *progress.failures,
    ]
    return "\n".join(lines) + "\n"


def say(line: str) -> None:
    """Print a line and flush it, so that it appears through a pipe at once."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
