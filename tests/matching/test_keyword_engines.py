"""Every engine of keyword subscriptions keeps the contract of results."""

from __future__ import annotations

from keyword_suite import KeywordResults
from native_engines import needs_native


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
