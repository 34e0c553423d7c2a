"""Keyword queries."""
