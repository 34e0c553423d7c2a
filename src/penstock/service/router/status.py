"""The status of a running router: a file in its workspace, which others read."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from penstock.errors import WorkspaceError, error
from penstock.service.router.engine import RouterEngine
from penstock.service.router.limits import STATUS_SECONDS
from penstock.service.router.service import RouterService
from penstock.workspace import Workspace
from penstock.workspace.atomic_files import temporary_path
from penstock.workspace.private_files import open_private
from penstock.workspace.router_store import LOCK

FILE: Final = "router-status.json"


async def collect_status(service: RouterService) -> dict[str, Any]:
    """What a router does, as plain data."""
    report = asdict(await service.commits.read(RouterEngine.report))
    for name, values in report["neighbours"].items():
        neighbour = service.neighbours.get(name)
        link = None if neighbour is None else neighbour.link
        values["connected"] = neighbour is not None and neighbour.is_connected
        values["authenticated"] = neighbour is not None and neighbour.is_authenticated
        values["distrusted"] = neighbour is not None and neighbour.is_distrusted
        values["last_error"] = "" if neighbour is None else neighbour.last_error
        values["round_trip_seconds"] = None if link is None else link.round_trip_seconds
        values["link"] = {} if link is None else asdict(link.counters())
    report["address"] = str(service.address)
    report["clients"] = {
        name: {"connected": each.is_connected, "published": each.published}
        for name, each in service.clients.items()
    }
    report["refused_connections"] = service.refused
    report["at"] = datetime.now(UTC).isoformat()
    return report


async def write_status(service: RouterService, folder: Path) -> None:
    """Writes the status every second, for ever."""
    loop = asyncio.get_running_loop()
    while True:
        status = await collect_status(service)
        await loop.run_in_executor(None, partial(_write, folder / FILE, status))
        await asyncio.sleep(STATUS_SECONDS)


def _write(path: Path, status: dict[str, Any]) -> None:
    temporary = temporary_path(path)
    with open(temporary, "x", encoding="utf-8", opener=open_private) as file:
        json.dump(status, file)
    temporary.replace(path)


def read_status(workspace: Workspace) -> dict[str, Any]:
    """The last status of a workspace's router, with ``running``.

    Raises
    ------
    WorkspaceError
        ``workspace.no-router``
    """
    try:
        status: dict[str, Any] = json.loads((workspace.path / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise error("workspace.no-router", f"{workspace.path} has no router") from None
    try:
        with workspace.lock(LOCK, wait=False):
            status["running"] = False
    except WorkspaceError:
        status["running"] = True
    return status
