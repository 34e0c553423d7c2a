"""The layout of a workspace: the files and folders in it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from penstock.workspace.pipeline_tables import Tables

DATABASE: Final = "penstock.sqlite"

ROUTER_STATE: Final = "router.sqlite"
"""The state of the workspace's router."""

ROUTER_MARK: Final = "router-in-progress"
"""Names the document that the workspace's router is working on."""

FOLDERS: Final = (
    "inbox",
    "indexes",
    "mappings",
    "tables",
    "checkpoints",
    "batches",
)
"""The folders in a workspace; ``tables`` contains the Delta tables."""

LOG: Final = "spark.log"
"""The file that Spark's messages are appended to."""


class WorkspaceLayout:
    """The folders of a workspace, which can be named without opening its database."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def inbox_folder(self) -> Path:
        """The folder of published documents."""
        return self.path / "inbox"

    @property
    def indexes(self) -> Path:
        """The folder of index versions."""
        return self.path / "indexes"

    @property
    def mappings(self) -> Path:
        """The folder of mapping versions."""
        return self.path / "mappings"

    @property
    def checkpoints(self) -> Path:
        """The folder of Spark's checkpoints."""
        return self.path / "checkpoints"

    @property
    def batches(self) -> Path:
        """The folder of batch records."""
        return self.path / "batches"

    @property
    def log(self) -> Path:
        """The file that Spark's messages are appended to."""
        return self.path / LOG

    @property
    def tables(self) -> Tables:
        """The Delta tables that the pipeline writes."""
        return Tables(str(self.path / "tables"))
