"""Every engine passes the contract suite."""

from __future__ import annotations

from support.contracts.matching import MatchingContract
from support.contracts.native_engines import needs_native


class TestReference(MatchingContract):
    engine = "reference"


@needs_native
class TestShared(MatchingContract):
    engine = "shared"


@needs_native
class TestYFilter(MatchingContract):
    engine = "yfilter"
