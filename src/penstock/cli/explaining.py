"""``penstock explain``: why a document meets a subscription of the workspace, or does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rich.text import Text

from penstock.cli.console import ExitCode, error_as_dict, out, print_json
from penstock.cli.results import explanation_as_dict, one_line
from penstock.matching import Explanation, KeywordIndex, SubscriptionIndex
from penstock.workspace import StoredSubscription, Workspace
from penstock.workspace.lookup import find_document


def run(folder: Path, subscription: str, document: str, *, as_json: bool) -> ExitCode:
    """Explains one pair."""
    with Workspace.open(folder) as workspace:
        wanted = workspace.subscriptions.get(subscription)
        path = Path(document)
        content = path.read_bytes() if path.is_file() else find_document(workspace, document)
    explanation = _explanation(wanted, content)
    if as_json:
        row = explanation_as_dict(explanation)
        if explanation.error is not None:
            row["error"] = error_as_dict(explanation.error)
        print_json(row)
    else:
        console = out()
        console.print(str(explanation), soft_wrap=True)
        for answer in explanation.answers:
            if answer.fragment is not None:
                line = Text.assemble("  returns ", (one_line(answer.fragment), "cyan"))
                console.print(line, soft_wrap=True)
    return ExitCode.DONE


def _explanation(wanted: StoredSubscription, content: bytes) -> Explanation:
    if wanted.kind == "keywords":
        return _of_keywords(wanted, content)
    paths = SubscriptionIndex()
    paths.add(
        wanted.id,
        wanted.query,
        namespaces=wanted.namespaces,
        default_namespace=wanted.default_namespace,
    )
    return paths.matcher().explain(content, wanted.id)


def _of_keywords(wanted: StoredSubscription, content: bytes) -> Explanation:
    """With what each answer returns."""
    keywords = KeywordIndex()
    keywords.add(wanted.id, wanted.query)
    matcher = keywords.matcher()
    explanation = matcher.explain(content, wanted.id)
    if not explanation.answers:
        return explanation
    answers = matcher.answers(content, [wanted.id], limit=len(explanation.answers))
    return replace(explanation, answers=answers[wanted.id])
