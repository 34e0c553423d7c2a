"""Hypothesis strategies and exhaustive generators."""
