"""Fuzz targets of the parsers that are written in Python, one module each.

A module has ``DICTIONARY``, the name of a file in ``fuzz/dictionaries`` or ``None``, ``seeds()``,
valid inputs to start from, and ``run_input(data)``. The latter returns for every input: a
:class:`~penstock.errors.PenstockError` is an expected outcome and is caught there; any other
exception is a finding.
"""
