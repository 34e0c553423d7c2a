"""Every keyword engine passes the results contract."""

from __future__ import annotations

from support.contracts.keywords import KeywordResults
from support.contracts.native_engines import needs_native


class TestReference(KeywordResults):
    engine_name = "reference"


@needs_native
class TestPostings(KeywordResults):
    engine_name = "postings"


@needs_native
class TestKale(KeywordResults):
    engine_name = "kale"


@needs_native
class TestKemb(KeywordResults):
    engine_name = "kemb"
