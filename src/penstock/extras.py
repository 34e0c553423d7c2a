"""Checks for packages that only an extra installs."""

from __future__ import annotations

from importlib.util import find_spec

from penstock.errors import error


def require_spark_extra(*packages: str) -> None:
    """Raises ``extra.spark`` unless these packages of the extra ``spark`` are installed."""
    _require("extra.spark", packages)


def require_links_extra(*packages: str) -> None:
    """Raises ``extra.links`` unless these packages of the extra ``links`` are installed."""
    _require("extra.links", packages)


def require_sync_extra(*packages: str) -> None:
    """Raises ``extra.sync`` unless these packages of the extra ``sync`` are installed."""
    _require("extra.sync", packages)


def _require(code: str, packages: tuple[str, ...]) -> None:
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise error(code, f"packages that are not installed: {', '.join(missing)}")
