"""``penstock explain``: explains why a document matches a stored subscription or does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from penstock.cli.console import error_as_dict, note, out, print_json
from penstock.cli.input_files import read_mapping
from penstock.cli.mapping_report import EXPLAINS_GLOBAL_DOCUMENT
from penstock.cli.options import EXISTING_FILE, JsonOption, WorkspaceOption, header_fields
from penstock.cli.result_format import explanation_as_dict, one_line

if TYPE_CHECKING:
    from penstock.documents import Header
    from penstock.language import TokenizerOptions
    from penstock.matching import Explanation
    from penstock.mediation import Mapping as SchemaMapping
    from penstock.workspace import StoredSubscription


def explain(
    subscription: Annotated[
        str, typer.Argument(metavar="SUBSCRIPTION", help="A subscription id.", show_default=False)
    ],
    document: Annotated[
        str,
        typer.Argument(
            metavar="DOCUMENT",
            help="A file, or the number or identity of a published document.",
            show_default=False,
        ),
    ],
    *,
    mapping: Annotated[
        Path | None,
        typer.Option(
            help="A mapping file (default: the mapping that the header of a published document"
            " selects).",
            **EXISTING_FILE,
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header",
            metavar="FIELD=VALUE",
            help="A header field of a file (repeatable; a published document has its own header).",
            show_default=False,
        ),
    ] = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Explain why a document matches a subscription, or at which step it fails."""
    from penstock.language import why_never
    from penstock.matching.header_tests import fields_of
    from penstock.mediation import MappingChooser
    from penstock.workspace import Workspace
    from penstock.workspace.document_lookup import find_document

    chosen = None if mapping is None else read_mapping(mapping, as_json=as_json)
    with Workspace.open(workspace) as opened:
        stored = opened.subscriptions.get(subscription)
        tokenizer = opened.tokenizer.read()
        path = Path(document)
        of_document: Header | Mapping[str, str] = header_fields(header)
        if path.is_file():
            content = path.read_bytes()
        else:
            found = find_document(opened, document)
            content, of_document = found.content, found.header
            if chosen is None:
                table = opened.mediation.read().table(unknown_schema="as-is")
                chosen = MappingChooser(table).choose(found.header)
    if stored.kind == "keywords":
        chosen = None  # keywords match the original document
        explanation = _explain_keywords(stored, content, tokenizer)
    else:
        explanation = _explain_xpath(stored, content, chosen)
    explanation = explanation.with_header(stored.where, fields_of(of_document))
    if as_json:
        row = explanation_as_dict(explanation)
        if explanation.error is not None:
            row["error"] = error_as_dict(explanation.error)
        if chosen is not None:
            row["mapping"] = chosen.digest
        print_json(row)
        return
    _print_text(explanation)
    never = None if stored.kind == "keywords" else why_never(stored.subscription.parsed)
    if never is not None:
        note(f"note: this subscription never matches: {never}")
    if chosen is not None:
        note(EXPLAINS_GLOBAL_DOCUMENT)


def _print_text(explanation: Explanation) -> None:
    console = out()
    console.print(str(explanation), soft_wrap=True)
    for answer in () if explanation.header_failures else explanation.answers:
        if answer.fragment is not None:
            line = Text.assemble("  returns ", (one_line(answer.fragment.to_xml()), "cyan"))
            console.print(line, soft_wrap=True)


def _explain_xpath(
    stored: StoredSubscription, content: bytes, mapping: SchemaMapping | None
) -> Explanation:
    from penstock.matching import SubscriptionIndex
    from penstock.mediation import MediatedMatcher

    paths = SubscriptionIndex()
    paths.add(
        stored.id,
        stored.query,
        namespaces=stored.namespaces,
        default_namespace=stored.default_namespace,
    )
    return MediatedMatcher(paths.matcher()).explain(content, mapping, stored.id)


def _explain_keywords(
    stored: StoredSubscription, content: bytes, tokenizer: TokenizerOptions
) -> Explanation:
    """Explains the match, and adds the fragment that each answer returns."""
    from penstock.matching import KeywordIndex

    keywords = KeywordIndex(tokenizer=tokenizer)
    keywords.add(stored.id, stored.query)
    matcher = keywords.matcher()
    explanation = matcher.explain(content, stored.id)
    if not explanation.answers:
        return explanation
    answers = matcher.answers(content, [stored.id], limit=len(explanation.answers))
    return replace(explanation, answers=answers[stored.id])
