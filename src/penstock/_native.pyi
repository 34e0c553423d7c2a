"""The native core, private: everything public wraps it. A test compares this with the module."""

from typing import Any

__version__: str
BUILD_PROFILE: str

def parse_query(
    text: str, namespaces: list[tuple[str, str]], default_namespace: str, normal: bool
) -> tuple[tuple[Any, ...] | None, tuple[str, str, int | None] | None]: ...
