"""``penstock explain``: why a document meets a subscription of the workspace, or does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rich.text import Text

from penstock.cli.console import ExitCode, error_as_dict, note, out, print_json
from penstock.cli.mappings import OF_THE_GLOBAL_DOCUMENT, read_mapping
from penstock.cli.results import explanation_as_dict, one_line
from penstock.matching import Explanation, KeywordIndex, SubscriptionIndex
from penstock.mediation import Mapping, MappingChooser, MediatedMatcher
from penstock.workspace import StoredSubscription, Workspace
from penstock.workspace.document_lookup import find_document


def run(
    folder: Path, subscription: str, document: str, *, mapping: Path | None, as_json: bool
) -> ExitCode:
    """Explains one pair."""
    chosen = None if mapping is None else read_mapping(mapping, as_json=as_json)
    with Workspace.open(folder) as workspace:
        wanted = workspace.subscriptions.get(subscription)
        path = Path(document)
        if path.is_file():
            content = path.read_bytes()
        else:
            found = find_document(workspace, document)
            content = found.content
            if chosen is None:
                table = workspace.mediation.read().table(unknown_schema="as-is")
                chosen = MappingChooser(table).choose(found.header)
    if wanted.kind == "keywords":  # they hear what was sent
        chosen = None
    explanation = _explanation(wanted, content, chosen)
    if as_json:
        row = explanation_as_dict(explanation)
        if explanation.error is not None:
            row["error"] = error_as_dict(explanation.error)
        if chosen is not None:
            row["mapping"] = chosen.digest
        print_json(row)
    else:
        _show_text(explanation)
        if chosen is not None:
            note(OF_THE_GLOBAL_DOCUMENT)
    return ExitCode.DONE


def _show_text(explanation: Explanation) -> None:
    console = out()
    console.print(str(explanation), soft_wrap=True)
    for answer in explanation.answers:
        if answer.fragment is not None:
            line = Text.assemble("  returns ", (one_line(answer.fragment), "cyan"))
            console.print(line, soft_wrap=True)


def _explanation(
    wanted: StoredSubscription, content: bytes, mapping: Mapping | None
) -> Explanation:
    if wanted.kind == "keywords":
        return _of_keywords(wanted, content)
    paths = SubscriptionIndex()
    paths.add(
        wanted.id,
        wanted.query,
        namespaces=wanted.namespaces,
        default_namespace=wanted.default_namespace,
    )
    return MediatedMatcher(paths.matcher()).explain(content, mapping, wanted.id)


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
