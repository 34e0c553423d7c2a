"""The Typer application: options and help; each command's work lives in a module of its own.

Those modules are imported when their command runs, so that ``penstock --help`` is quick.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from penstock import __version__
from penstock.cli.console import ExitCode, json_wanted, show_error, show_failure, show_warning
from penstock.cli.domain_commands import domain_app
from penstock.cli.generate_commands import generate_app
from penstock.cli.lab_commands import lab_app
from penstock.cli.leaving import leaving
from penstock.cli.mapping_commands import mapping_app
from penstock.cli.options import (
    A_FILE,
    Bench,
    DefaultNamespaceOption,
    DocumentsArgument,
    Engine,
    Form,
    JsonOption,
    KeywordsOption,
    NamespaceOption,
    QueryArgument,
    bindings,
    existing_file,
    refuse_options,
)
from penstock.cli.run_command import run_app
from penstock.cli.schema_commands import schema_app
from penstock.cli.subscription_commands import subscriber_app
from penstock.cli.workspace_commands import workspace_app
from penstock.errors import PenstockError


class ReportingGroup(TyperGroup):
    """Shows errors instead of tracebacks, with one exit code for refused input."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Runs the command; what it refuses is shown on stderr."""
        try:
            return super().invoke(ctx)
        except PenstockError as error:
            show_error(error, as_json=json_wanted(ctx))
        except OSError as failure:
            if failure.filename is None:
                raise  # a closed pipe, say: no file of the user's
            message = f"{failure.filename}: {failure.strerror}"
            show_failure(message, as_json=json_wanted(ctx))
        raise typer.Exit(ExitCode.REFUSED)


app = typer.Typer(
    name="penstock",
    cls=ReportingGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Penstock delivers XML to those who asked for it.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"penstock {__version__}")
        raise typer.Exit


@app.callback()
def _penstock(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    pass


@app.command("match")
def _match(
    subscriptions: Annotated[Path, typer.Argument(help="A file of subscriptions.", **A_FILE)],
    documents: DocumentsArgument,
    *,
    fragments: Annotated[
        bool, typer.Option("--fragments", help="Also show what each query selected.")
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Also say why this subscription matches, or does not."),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            help="A mapping file: an XPath meets what it makes of the documents.", **A_FILE
        ),
    ] = None,
    engine: Annotated[
        Engine | None, typer.Option(help="Match with another engine than the default one.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 where anything was refused.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Match documents against the subscriptions of a file.

    One row a document: its name, the number of matches, the ids in the order of the file. A
    document or a subscription that is refused is told on stderr and does not stop the rest. With a
    mapping, fragments are still those of the documents as they are.
    """
    from penstock.cli import match

    raise typer.Exit(
        match.run(
            subscriptions,
            documents,
            fragments=fragments,
            explain=explain,
            mapping=mapping,
            engine=engine,
            strict=strict,
            as_json=as_json,
        )
    )


@app.command("try")
def _try(
    query: Annotated[
        str,
        typer.Argument(
            help="An XPath; with --keywords there is none, and the files begin here.",
            show_default=False,
        ),
    ],
    documents: Annotated[
        list[Path] | None, typer.Argument(help="XML files.", show_default=False, **A_FILE)
    ] = None,
    *,
    keywords: KeywordsOption = None,
    namespace: NamespaceOption = None,
    default_namespace: DefaultNamespaceOption = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            help="A mapping file: the XPath is tried on what it makes of the documents.", **A_FILE
        ),
    ] = None,
    form: Annotated[
        Form | None,
        typer.Option(
            help="What to show of an answer to keywords: the ways down to them (as is usual), the"
            " whole element, or only which it is.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Only the best so many answers to keywords, of each document."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a subscription would have matched, before subscribing.

    For each document that the query matches, the fragments it selects, or the answers to
    keywords, the best first; at the end the rate.
    """
    from penstock.cli import trial
    from penstock.cli.mappings import read_mapping

    wanted: trial.Trial
    for_keywords = {"--form": form, "--limit": limit}
    for_xpath = {
        "--namespace": namespace,
        "--default-namespace": default_namespace,
        "--mapping": mapping,
    }
    if keywords is not None:
        refuse_options(for_xpath, "this is for an XPath, not for keywords")
        documents = [existing_file(query), *(documents or ())]
        wanted = trial.KeywordTrial(keywords, (form or Form.PATHS).value, limit)
    else:
        refuse_options(for_keywords, "this is for keywords, not for an XPath")
        wanted = trial.PathTrial(
            query,
            bindings(namespace),
            default_namespace,
            None if mapping is None else read_mapping(mapping, as_json=as_json),
        )
    if not documents:
        raise typer.BadParameter("give at least one file", param_hint="DOCUMENTS...")
    raise typer.Exit(trial.run(wanted, documents, as_json=as_json))


@app.command("relate")
def _relate(
    first: QueryArgument,
    second: QueryArgument,
    *,
    dtd: Annotated[
        Path | None, typer.Option(help="Count only documents valid to this DTD.", **A_FILE)
    ] = None,
    root: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ELEMENT",
            help="A root of the DTD's documents; repeatable. By default whatever nothing contains.",
        ),
    ] = None,
    namespace: NamespaceOption = None,
    default_namespace: DefaultNamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how two queries relate: contains, covers, overlaps, disjoint.

    What is said is proved. What cannot be proved is taken as overlapping.
    """
    from penstock.cli import relate

    raise typer.Exit(
        relate.run(
            first,
            second,
            dtd=dtd,
            roots=root,
            namespaces=bindings(namespace),
            default_namespace=default_namespace,
            as_json=as_json,
        )
    )


app.add_typer(workspace_app)
app.add_typer(run_app)
app.add_typer(subscriber_app)
app.add_typer(schema_app)
app.add_typer(domain_app)
app.add_typer(mapping_app)
app.add_typer(generate_app)
app.add_typer(lab_app)


@app.command("bench")
def _bench(
    name: Annotated[Bench, typer.Argument(help="Which budgets to measure.", show_default=False)],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 where a budget is missed.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small numbers: shows only that the bench works.")
    ] = False,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Also write NAME.txt and NAME.json here."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure speed and size against their budgets.

    Budgets are ratios within one run: what is compared is measured in turn, and medians count.
    """
    from penstock.cli import bench

    raise typer.Exit(bench.run(name, check=check, quick=quick, write=write, as_json=as_json))


@app.command("doctor")
def _doctor(*, as_json: JsonOption = False) -> None:
    """Show what is there, what is missing, and what to do about it.

    Fails only where something required is missing; with PENSTOCK_REQUIRE_NATIVE=1 the native
    core is required.
    """
    from penstock.cli import doctor

    raise typer.Exit(doctor.run(as_json=as_json))


def main() -> None:
    """The entry point of the ``penstock`` command."""
    warnings.showwarning = show_warning
    with leaving():
        app()
