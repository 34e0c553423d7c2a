"""``penstock schema infer``: infers a schema from sample documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli.console import note, plural
from penstock.cli.exit_codes import ExitCode
from penstock.cli.options import JsonOption, refuse_options
from penstock.cli.sample_documents import read_samples, sample_files
from penstock.cli.schema_options import EXISTING_PATH, RootOption
from penstock.cli.schema_printer import print_schema
from penstock.cli.spark_options import (
    ConfOption,
    MasterOption,
    RemoteOption,
    SparkOptions,
    check_java,
    spark_options,
)
from penstock.errors import error

if TYPE_CHECKING:
    from penstock.documents import Name
    from penstock.schema import SampleSummary

SPARK_ADVISED_BYTES: Final = 256 << 20
"""Total size of samples above which a note suggests ``--spark``."""


def infer_schema(
    documents: Annotated[
        list[Path],
        typer.Argument(
            metavar="DOCUMENT",
            help="XML files, or folders of them.",
            show_default=False,
            **EXISTING_PATH,
        ),
    ],
    *,
    root: RootOption = None,
    spark: Annotated[
        bool,
        typer.Option("--spark", help="Read the documents on Spark, for gigabytes of samples."),
    ] = False,
    master: MasterOption = None,
    remote: RemoteOption = None,
    conf: ConfOption = None,
    as_json: JsonOption = False,
) -> None:
    """Infer a schema from sample documents, and print it as a schema file.

    Each element and attribute gets the narrowest cardinality (once, ?, * or +) that fits all
    samples.
    """
    if spark:
        _infer_on_spark(documents, spark_options(master, remote, conf), root=root, as_json=as_json)
        return
    refuse_options(
        {"--master": master, "--remote": remote, "--conf": conf}, "applies only with --spark"
    )
    from penstock.schema import SampleReader

    size = sum(path.stat().st_size for path in sample_files(documents))
    if size > SPARK_ADVISED_BYTES:
        note(f"reading {size >> 20:,} MB on one core; `--spark` uses all cores")
    samples = SampleReader()
    refused = read_samples(documents, samples.add, as_json=as_json)
    summary = samples.summary()
    print_schema(summary.tree(_chosen_root(summary, root)), as_json=as_json)
    if refused:
        raise typer.Exit(ExitCode.INPUT_REFUSED)


def _infer_on_spark(
    documents: Sequence[Path], options: SparkOptions, *, root: str | None, as_json: bool
) -> None:
    """Infers on Spark; refused documents are counted by error code, not reported one by one."""
    check_java(options)
    import tempfile

    from penstock.pipeline import read_directory
    from penstock.pipeline.schema_inference import summarise
    from penstock.pipeline.session import session

    with tempfile.TemporaryDirectory() as folder:
        note("starting Spark")
        with session(
            master=options.master,
            remote=options.remote,
            settings=options.settings,
            log=Path(folder) / "spark.log",
        ) as spark:
            paths = [str(path.resolve()) for path in documents]
            found = summarise(read_directory(spark, paths, publisher="samples", recursive=True))
    print_schema(found.tree(_chosen_root(found.summary, root)), as_json=as_json)
    for code, count in sorted(found.refused.items()):
        note(f"refused: {plural(count, 'document')}, {code}")
    if found.refused:
        raise typer.Exit(ExitCode.INPUT_REFUSED)


def _chosen_root(summary: SampleSummary, root: str | None) -> Name | None:
    if root is None:
        return None
    named = [name for name in summary.roots() if root in (name.local, str(name))]
    if len(named) != 1:
        raise error("schema.samples", f"the samples do not have exactly one root named {root!r}")
    return named[0]
