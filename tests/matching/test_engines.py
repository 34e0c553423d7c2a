"""Every engine keeps the contract."""

from __future__ import annotations

from matching_contract import MatchingContract
from native_engines import needs_native


class TestReference(MatchingContract):
    engine = "reference"


@needs_native
class TestShared(MatchingContract):
    engine = "shared"


@needs_native
class TestYFilter(MatchingContract):
    engine = "yfilter"
