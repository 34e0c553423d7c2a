"""Output of the commands of ``penstock sync``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.cli.console import plural, print_json, print_line

if TYPE_CHECKING:
    from penstock.service.sync import Synchronisation
    from penstock.service.sync.operation_text import OperationText
    from penstock.service.sync.synchronisation import DescribedReport


def show_synchronisation(
    done: Synchronisation, *, command: str, is_restored: bool = False, as_json: bool
) -> None:
    """Prints what a synchronisation resulted in: each report, then a summary.

    ``is_restored``: the person's edits of the file were discarded before.
    """
    for each in done.reports:
        _show_report(each, as_json=as_json)
    if as_json:
        print_json(
            {
                "type": command,
                "since": done.since,
                "version": done.version,
                "decided": done.decided,
                "pending": done.pending,
                "file_changed": done.is_file_changed or is_restored,
                "cloned_again": done.is_cloned_again,
                "reports": len(done.reports),
            }
        )
        return
    parts = [f"version {done.version}"]
    if done.decided:
        parts.append(f"{plural(done.decided, 'statement')} pushed")
    if done.is_cloned_again:
        parts.append("cloned again")
    changed = "file changed" if command == "subscribe" else "the file has changes of others"
    if is_restored:
        parts.append("file restored")
    if done.is_file_changed:
        parts.append(changed)
    elif not is_restored:
        parts.append("file unchanged")
    if done.pending:
        parts.append(f"{plural(done.pending, 'statement')} to push")
    print_line(", ".join(parts))


def _show_report(described: DescribedReport, *, as_json: bool) -> None:
    report = described.report
    if as_json:
        print_json(
            {
                "type": "report",
                "outcome": report.outcome.value,
                "statement": report.statement,
                "text": described.text,
                "path": described.path,
                "by": report.by,
                "reason": report.reason,
            }
        )
    else:
        print_line((str(described), "yellow"))


def show_operation(text: OperationText, *, as_json: bool) -> None:
    """Prints a change of the file."""
    if as_json:
        print_json(
            {
                "type": "operation",
                "operation": text.operation,
                "path": text.path,
                "before": text.before,
                "after": text.after,
            }
        )
    else:
        print_line(str(text))
