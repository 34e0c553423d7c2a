"""``penstock relate``: how two queries relate, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table
from rich.text import Text

from penstock.cli.console import ExitCode, out, print_json, print_table, show_error
from penstock.cli.schema_file import read_schema
from penstock.errors import QueryError
from penstock.language import Query, Relation, Verdict, parse, relate
from penstock.language.relations.verdicts import Finding

FINDINGS = {
    "contains": "the first matches wherever the second does",
    "contained": "the second matches wherever the first does",
    "covers": "what the second selects lies within what the first selects",
    "covered": "what the first selects lies within what the second selects",
    "overlaps": "what the two select can meet",
}
"""The relations in the order shown, and the sentence each stands for."""


def run(
    first: str,
    second: str,
    *,
    dtd: Path | None,
    roots: Sequence[str] | None,
    namespaces: Mapping[str, str],
    default_namespace: str | None,
    as_json: bool,
) -> ExitCode:
    """Prints the verdict, and below it every relation with how sure it is."""
    queries: list[Query] = []
    for text in (first, second):
        try:
            queries.append(parse(text, namespaces=namespaces, default_namespace=default_namespace))
        except QueryError as error:
            show_error(error, source=text, as_json=as_json)
            return ExitCode.REFUSED
    schema = None
    if dtd is not None:
        schema = read_schema(dtd, roots=roots or None, as_json=as_json)
        if schema is None:
            return ExitCode.REFUSED
    relation = relate(queries[0], queries[1], schema)
    if as_json:
        print_json({"first": first, "second": second, **_as_dict(relation)})
    else:
        _print_text(relation)
    return ExitCode.DONE


def _as_dict(relation: Relation) -> dict[str, object]:
    findings = {name: asdict(getattr(relation, name)) for name in FINDINGS}
    return {
        "verdict": relation.verdict.value,
        "sure": relation.sure,
        "explanation": relation.explanation,
        **findings,
    }


def _print_text(relation: Relation) -> None:
    style = "bold yellow" if relation.verdict is Verdict.OVERLAPS else "bold green"
    out().print(
        Text.assemble((relation.verdict.value, style), f": {relation.explanation}"), soft_wrap=True
    )
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, sentence in FINDINGS.items():
        finding: Finding = getattr(relation, name)
        example = "as" if finding.holds else "not"
        shown = f" ({example} in {finding.witness})" if finding.witness is not None else ""
        table.add_row(f"  {name}", _answer(name, finding), f"{sentence}{shown}")
    print_table(table)


def _answer(name: str, finding: Finding) -> str:
    if finding.sure:
        return "yes" if finding.holds else "no"
    # What is not proved is taken for the side on which nothing is lost.
    return "perhaps" if name == "overlaps" else "not proved"
