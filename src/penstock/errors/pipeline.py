"""Errors of the Spark pipeline."""

from __future__ import annotations

from penstock.errors.classes import (
    DocumentError,
    ErrorSpec,
    PipelineError,
    PipelineFailure,
    RecordsError,
)

ERRORS: dict[str, ErrorSpec] = {
    "records.changed": ErrorSpec(
        RecordsError,
        "a file of records was changed or removed while it was being read",
        "Move complete files into the folder, do not modify them, and remove them only after they"
        " have been read.",
    ),
    "records.too-many-files": ErrorSpec(
        RecordsError,
        "a stream of records would have to track more files than the limit",
        "Move files that have been read out of the folder, or read it with `read_archives`.",
    ),
    "pipeline.versions": ErrorSpec(
        PipelineError,
        "no version of the subscriptions was given to match against",
        "Pass the URI of an index version, or the URIs of its shards, or an index.",
    ),
    "pipeline.index-size": ErrorSpec(
        PipelineError,
        "an index is too large to be sent to the workers with every task",
        "Keep the subscriptions in a workspace, or write them with `write_version`, and pass the"
        " URI of the version.",
    ),
    "document.router": ErrorSpec(
        DocumentError,
        "a document is published at a router that the tree does not have",
        "Name a router of the tree that was written with `write_router_tree`.",
    ),
    "pipeline.columns": ErrorSpec(
        PipelineError,
        "a DataFrame of documents lacks a column, or a column has a wrong type or a reserved name",
        "Use a reader such as `read_column`, or create the columns of"
        " `penstock.pipeline.spark_schemas.DOCUMENTS`; rename a column of your own.",
    ),
    "pipeline.shards": ErrorSpec(
        PipelineError,
        "the number of shards is out of range",
        "Use 1 unless the index exceeds the memory of a worker; few large shards are faster than"
        " many small ones.",
    ),
    "pipeline.mode": ErrorSpec(
        PipelineError,
        "the mode for refused documents is unknown",
        "Use PERMISSIVE, DROPMALFORMED or FAILFAST.",
    ),
    "pipeline.java": ErrorSpec(
        PipelineError,
        "there is no Java 17 or newer, which Spark requires",
        "Install a JDK (Debian and Ubuntu: apt install openjdk-17-jre-headless), or set JAVA_HOME"
        " to one.",
    ),
    "pipeline.unreachable": ErrorSpec(
        PipelineFailure,
        "the Spark Connect server cannot be reached, or does not answer",
        "Check the address given with `--remote` (sc://HOST:PORT), and that the server is running.",
    ),
    "pipeline.failed": ErrorSpec(
        PipelineFailure,
        "the pipeline stopped; committed work is safe, and the remaining documents wait in the"
        " inbox",
        "Fix the cause given in the message and run the pipeline again; Spark's messages are in"
        " `spark.log`.",
    ),
}
