"""Where the data beside the repository is; it is never committed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def shared_data(*parts: str) -> Path:
    """A file or folder of the shared data; the test is skipped where it is absent."""
    folder = Path(os.environ.get("PENSTOCK_SHARED_DATA", ROOT.parent / "shared" / "data"))
    path = folder.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"there is no {Path('shared', 'data', *parts)} beside the repository")
    return path
