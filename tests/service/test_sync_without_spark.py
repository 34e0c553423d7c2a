"""A synchronisation server and its clients need only the extra ``sync``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.contracts.native_engines import needs_native
from support.fixtures.repository import SOURCE

pytestmark = needs_native

SCRIPT = """
import sys

for name in ("pyspark", "deltalake", "pandas"):
    sys.modules[name] = None

import asyncio, threading
from pathlib import Path
from penstock.links import TcpAddress
from penstock.service.sync import SyncConnection, WorkingDirectory, parse_url, synchronise
from penstock.service.sync.process import ServeOptions, run_server
from penstock.sync import SyncSubscription

folder = Path(sys.argv[1])
document = folder / "menu.xml"
document.write_text("<menu><dish>soup</dish></menu>")
options = ServeOptions(
    folder=folder / "store",
    listen=TcpAddress("127.0.0.1", 0),
    documents={"menu": document},
    insecure=True,
)


def clone(url):
    place = parse_url(url + "/menu")
    with SyncConnection(place) as connection:
        with WorkingDirectory.create(
            folder / "clone", place, "/one", SyncSubscription("/*")
        ) as directory:
            synchronise(directory, connection, submit=False)


async def main():
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    urls = asyncio.Queue()
    serving = asyncio.create_task(run_server(options, lambda it: urls.put_nowait(it.url), stop))
    await loop.run_in_executor(None, clone, await urls.get())
    stop.set()
    await serving


asyncio.run(main())
print((folder / "clone" / "menu.xml").read_text())
"""


def test_a_server_and_a_clone_without_the_extra_spark(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env={"PYTHONPATH": str(SOURCE), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "<dish>soup</dish>" in done.stdout
