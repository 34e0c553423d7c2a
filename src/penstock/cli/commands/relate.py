"""``penstock relate``: determines how two queries relate."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from penstock.cli.console import out, print_json, print_table, show_error
from penstock.cli.exit_codes import ExitCode
from penstock.cli.input_files import read_dtd
from penstock.cli.options import (
    EXISTING_FILE,
    DefaultNamespaceOption,
    JsonOption,
    NamespaceOption,
    bindings,
)
from penstock.errors import QueryError

if TYPE_CHECKING:
    from penstock.language import Relation
    from penstock.language.relations.verdicts import Finding

FINDINGS = {
    "contains": "the first matches every document that the second matches",
    "contained": "the second matches every document that the first matches",
    "covers": "nodes selected by the second lie at or below nodes selected by the first",
    "covered": "nodes selected by the first lie at or below nodes selected by the second",
    "overlaps": "nodes selected by the two can coincide or be nested",
}
"""The relations in output order, with their meanings."""


def relate(
    first: Annotated[
        str, typer.Argument(metavar="FIRST", help="An XPath query.", show_default=False)
    ],
    second: Annotated[
        str, typer.Argument(metavar="SECOND", help="Another XPath query.", show_default=False)
    ],
    *,
    dtd: Annotated[
        Path | None,
        typer.Option(help="Consider only documents valid against this DTD.", **EXISTING_FILE),
    ] = None,
    root: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ELEMENT",
            help="A root element of the DTD (repeatable; default: every element that no other"
            " element contains).",
        ),
    ] = None,
    namespace: NamespaceOption = None,
    default_namespace: DefaultNamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Determine how two queries relate: contains, covers, overlaps, disjoint.

    Every verdict is proved; queries for which no proof is found are reported as overlapping.
    """
    from penstock.language import parse
    from penstock.language import relate as relate_queries

    queries = []
    for text in (first, second):
        try:
            queries.append(
                parse(text, namespaces=bindings(namespace), default_namespace=default_namespace)
            )
        except QueryError as error:
            show_error(error, source=text, as_json=as_json)
            raise typer.Exit(ExitCode.INPUT_REFUSED) from error
    schema = None if dtd is None else read_dtd(dtd, roots=root or None, as_json=as_json)
    relation = relate_queries(queries[0], queries[1], schema)
    if as_json:
        print_json({"first": first, "second": second, **_as_dict(relation)})
    else:
        _print_text(relation)


def _as_dict(relation: Relation) -> dict[str, object]:
    findings = {name: asdict(getattr(relation, name)) for name in FINDINGS}
    return {
        "verdict": relation.verdict.value,
        "sure": relation.sure,
        "explanation": relation.explanation,
        **findings,
    }


def _print_text(relation: Relation) -> None:
    from penstock.language import Verdict

    style = "bold yellow" if relation.verdict is Verdict.OVERLAPS else "bold green"
    out().print(
        Text.assemble((relation.verdict.value, style), f": {relation.explanation}"), soft_wrap=True
    )
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, meaning in FINDINGS.items():
        finding: Finding = getattr(relation, name)
        label = "example" if finding.holds else "counterexample"
        witness = f" ({label}: {finding.witness})" if finding.witness is not None else ""
        table.add_row(f"  {name}", _answer(name, finding), f"{meaning}{witness}")
    print_table(table)


def _answer(name: str, finding: Finding) -> str:
    if finding.sure:
        return "yes" if finding.holds else "no"
    # Without a proof, assume the outcome that loses no delivery.
    return "perhaps" if name == "overlaps" else "not proved"
