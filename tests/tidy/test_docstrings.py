"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import penstock
from penstock.native import native

NATIVE_MODULES = {"penstock.mediation.static_rewriting"}
"""Adapters of the native core, which nothing imports without it."""

MODULES = [
    module.name
    for module in pkgutil.walk_packages(penstock.__path__, "penstock.")
    if not module.name.endswith(("._native", ".__main__"))
    # These need a session: see tests/pipeline.
    and not module.name.startswith("penstock.pipeline.")
    and (native is not None or module.name not in NATIVE_MODULES)
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0
