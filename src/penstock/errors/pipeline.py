"""The errors of running on Spark."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, PipelineError, PipelineFailure, RecordsError

ERRORS: dict[str, ErrorSpec] = {
    "records.changed": ErrorSpec(
        RecordsError,
        "a file of records was changed or removed while it was being read",
        "Move files into the folder whole, leave them as they are, and remove them when read.",
    ),
    "records.too-many-files": ErrorSpec(
        RecordsError,
        "a stream of records is asked to remember more files than it may",
        "Move the files that are read out of the folder, or read it by `read_archives`.",
    ),
    "pipeline.versions": ErrorSpec(
        PipelineError,
        "documents are to be matched against no version of the subscriptions",
        "Pass the URI of an index version, or those of its shards.",
    ),
    "pipeline.mode": ErrorSpec(
        PipelineError,
        "there is no such mode for documents that are refused",
        "Use PERMISSIVE, DROPMALFORMED or FAILFAST.",
    ),
    "pipeline.java": ErrorSpec(
        PipelineError,
        "there is no Java of version 17 or newer, which Spark needs",
        "Install a JDK (Debian and Ubuntu: apt install openjdk-17-jre-headless), or name one in"
        " JAVA_HOME.",
    ),
    "pipeline.failed": ErrorSpec(
        PipelineFailure,
        "the pipeline stopped; what was committed is safe, and the rest waits in the inbox",
        "Mend what the message says and run it again; Spark's own messages are in `spark.log`.",
    ),
}
