"""Reads the offsets of a micro-batch from Spark's checkpoint.

Spark writes them before it starts the batch: a version, the batch's metadata and one line per
source. Spark does not pass them to ``foreachBatch``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

_VERSION: Final = "v1"


def read_offset(checkpoint: Path, batch: int) -> dict[str, Any] | None:
    """The offset at which a batch ends, of a stream with one source.

    ``None`` if there is no such file, or Spark has written it in another format.
    """
    try:
        version, _, offset = (checkpoint / "offsets" / str(batch)).read_text().splitlines()
        found = json.loads(offset)
    except (OSError, ValueError):
        return None
    return found if version == _VERSION and isinstance(found, dict) else None
