"""Files and folders of a workspace that only its owner can access.

Subscriptions and documents are confidential. Everything at the top of a workspace is created with
these functions; what Spark and Delta write lies in folders that nobody else can enter. Permissions
are set when something is created, so that an administrator can extend them afterwards.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700


def open_private(path: str, flags: int) -> int:
    """An opener for :func:`open`: a new file is private."""
    return os.open(path, flags, FILE_MODE)


def create_private(path: Path) -> None:
    """Create an empty private file unless the file exists."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, FILE_MODE))


def make_private_folder(path: Path) -> None:
    """Create a private folder unless the folder exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=FOLDER_MODE, exist_ok=True)


def make_private(folder: Path, names: frozenset[str]) -> None:
    """Withdraw others' access to files and folders, those with these names, if they are ours."""
    for path in folder.iterdir():
        if path.name in names and not path.is_symlink():
            with contextlib.suppress(PermissionError):  # the owner will do it
                path.chmod(FOLDER_MODE if path.is_dir() else FILE_MODE)
