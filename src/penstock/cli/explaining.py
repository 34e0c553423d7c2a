"""``penstock explain``: why a document meets a subscription of the workspace, or does not."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.console import ExitCode, error_as_dict, out, print_json
from penstock.cli.results import explanation_as_dict
from penstock.matching import SubscriptionIndex
from penstock.workspace import Workspace
from penstock.workspace.lookup import find_document


def run(folder: Path, subscription: str, document: str, *, as_json: bool) -> ExitCode:
    """Explains one pair."""
    with Workspace.open(folder) as workspace:
        wanted = workspace.subscriptions.get(subscription)
        path = Path(document)
        content = path.read_bytes() if path.is_file() else find_document(workspace, document)
    index = SubscriptionIndex()
    index.add(
        wanted.id,
        wanted.query,
        namespaces=wanted.namespaces,
        default_namespace=wanted.default_namespace,
    )
    explanation = index.matcher().explain(content, wanted.id)
    if as_json:
        row = explanation_as_dict(explanation)
        if explanation.error is not None:
            row["error"] = error_as_dict(explanation.error)
        print_json(row)
    else:
        out().print(str(explanation), soft_wrap=True)
    return ExitCode.DONE
