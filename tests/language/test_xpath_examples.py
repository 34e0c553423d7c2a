"""The examples in the docstrings of the language run and print what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import penstock.language

MODULES = [module.name for module in pkgutil.iter_modules(penstock.language.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    module = importlib.import_module(f"penstock.language.{name}")
    assert doctest.testmod(module).failed == 0


def test_some_modules_have_examples() -> None:
    assert doctest.testmod(importlib.import_module("penstock.language.xpath.parsing")).attempted > 0
