"""Every engine of keyword subscriptions keeps the contract of results."""

from __future__ import annotations

from keyword_suite import KeywordResults


class TestReference(KeywordResults):
    way = "reference"
