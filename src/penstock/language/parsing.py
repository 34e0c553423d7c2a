"""From text to tree."""

from __future__ import annotations

from penstock.language.reference import parse

__all__ = ["parse"]
