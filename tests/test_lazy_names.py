"""Packages that import their names on first use list them all the same."""

from __future__ import annotations

import importlib

import pytest


@pytest.mark.parametrize("package", ["penstock", "penstock.mediation", "penstock.pipeline"])
def test_dir_lists_the_public_names(package: str) -> None:
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name) is not None
