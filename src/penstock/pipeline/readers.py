"""Documents into Spark: the readers, each a function that gives the columns of the documents table.

They differ in where documents come from, and agree in the rest: batch or stream, on a classic
session or on Spark Connect, the header from texts or from expressions over what the source knows.
"""

from penstock.pipeline.archive_reader import read_archives
from penstock.pipeline.file_reader import read_column, read_directory
from penstock.pipeline.record_reader import read_records

__all__ = ["read_archives", "read_column", "read_directory", "read_records"]
