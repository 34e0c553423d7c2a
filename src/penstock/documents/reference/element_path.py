"""The path of open elements that an error names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

PATH_NAMES_MAX: Final = 32
"""Names in the path of an error; those in the middle of a longer path are omitted. The native core
uses the same value."""


def element_path(names: Sequence[str]) -> str | None:
    """The path of elements, given by their names as written; ``None`` outside the root element.

    >>> element_path(["a", "p:b"])
    '/a/p:b'
    """
    half = PATH_NAMES_MAX // 2
    shown = names if len(names) <= PATH_NAMES_MAX else [*names[:half], "…", *names[-half:]]
    return "".join(f"/{name}" for name in shown) or None
