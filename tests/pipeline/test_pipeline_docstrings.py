"""The examples in the pipeline's docstrings run; ``spark`` is the session."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest
from pyspark.sql import SparkSession

import penstock.pipeline

MODULES = [
    module.name
    for module in pkgutil.walk_packages(penstock.pipeline.__path__, "penstock.pipeline.")
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name: str, spark: SparkSession) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, extraglobs={"spark": spark}, optionflags=doctest.ELLIPSIS)
    assert failed == 0
