"""Every engine of keyword subscriptions keeps the contract of results."""

from __future__ import annotations

from support.contracts.keywords import KeywordResults
from support.contracts.native_engines import needs_native


class TestReference(KeywordResults):
    way = "reference"


@needs_native
class TestPostings(KeywordResults):
    way = "postings"


@needs_native
class TestKale(KeywordResults):
    way = "kale"


@needs_native
class TestKemb(KeywordResults):
    way = "kemb"
