"""Maintenance of a workspace while a stream runs.

Removes what the retention policy allows, and compacts the tables.
"""

from __future__ import annotations

import logging
from datetime import datetime

from penstock.errors import WorkspaceError
from penstock.workspace.compaction import compact
from penstock.workspace.delta_rs import DeltaError, DeltaTable
from penstock.workspace.retention import Removal, removals
from penstock.workspace.workspace import Workspace

logger = logging.getLogger(__name__)


def maintain(workspace: Workspace, *, now: datetime) -> list[Removal]:
    """Remove what the stored retention policy and the pipeline allow; returns what was removed.

    Then compacts the tables, which needs free space. Does nothing while a backfill or another
    maintenance is in progress, because a backfill reads files that may be obsolete by now. What
    cannot be removed is logged and tried again the next time: maintenance never stops a stream.
    """
    try:
        with workspace.lock("backfill", wait=False):
            found = removals(workspace, policy=workspace.retention.read(), now=now)
            removed = [removal for removal in found if _removed(removal)]
            _compact(workspace)
            return removed
    except WorkspaceError as failure:
        if failure.code != "workspace.running":
            logger.warning("maintenance failed: %s", failure)
        return []
    except (DeltaError, OSError) as failure:
        logger.warning("maintenance failed: %s", failure)
        return []


def _compact(workspace: Workspace) -> None:
    if not DeltaTable.is_deltatable(workspace.tables.counts):
        return
    try:
        compact(workspace.tables)
    except (DeltaError, OSError) as failure:
        logger.warning("the tables cannot be compacted: %s", failure)


def _removed(removal: Removal) -> bool:
    try:
        removal.remove()
    except (DeltaError, OSError, WorkspaceError) as failure:
        logger.warning("%s cannot be removed: %s", removal.what, failure)
        return False
    logger.info("removed %d %s", removal.count, removal.what)
    return True
