"""The readers: functions that load documents into a DataFrame with the documents table's columns.

They differ in the source. All of them support batch and streaming, classic sessions and Spark
Connect, and take header values as constants or expressions over the source's columns.
"""

from penstock.pipeline.archive_reader import read_archives
from penstock.pipeline.column_reader import read_column
from penstock.pipeline.directory_reader import read_directory
from penstock.pipeline.record_reader import read_records

__all__ = ["read_archives", "read_column", "read_directory", "read_records"]
