"""Shared code of the tests of synchronisation."""
