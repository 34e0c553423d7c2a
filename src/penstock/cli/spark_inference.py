"""``penstock schema infer --spark``: a schema inferred from more documents than one core reads."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from penstock.cli.console import ExitCode, note, plural
from penstock.cli.schemas import chosen_root, print_schema
from penstock.cli.spark_options import SparkOptions, check_java
from penstock.pipeline import read_directory
from penstock.pipeline.schema_inference import summarise
from penstock.pipeline.session import session


def infer(
    documents: Sequence[Path], options: SparkOptions, *, root: str | None, as_json: bool
) -> ExitCode:
    """Prints the schema that all documents meet; of those refused, the number is told."""
    check_java(options)
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
    print_schema(found.tree(chosen_root(found.summary, root)), as_json=as_json)
    for code, number in sorted(found.refused.items()):
        note(f"refused: {plural(number, 'document')}, {code}")
    return ExitCode.REFUSED if found.refused else ExitCode.DONE
