"""A publisher that is killed in the middle of its work."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from penstock.documents import Document

_PUBLISHER = """
import pickle, sys
from penstock.workspace import Workspace
documents = pickle.load(sys.stdin.buffer)
with Workspace.open(sys.argv[1]) as workspace:
    print("ready", flush=True)
    workspace.publish(documents)
"""

SECONDS_MAX = 0.02
"""Publishing takes less, most of it in the flush to disk."""


def publish_and_kill(workspace: Path, documents: Sequence[Document], rng: random.Random) -> None:
    """Publish documents in another process, and kill it at a random time."""
    with subprocess.Popen(
        [sys.executable, "-c", _PUBLISHER, str(workspace)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as publisher:
        assert publisher.stdin is not None
        assert publisher.stdout is not None
        publisher.stdin.write(pickle.dumps(list(documents)))
        publisher.stdin.close()
        assert publisher.stdout.readline() == b"ready\n"
        time.sleep(rng.uniform(0, SECONDS_MAX))
        publisher.kill()
