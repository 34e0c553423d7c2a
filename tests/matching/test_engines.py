"""Every engine keeps the contract."""

from __future__ import annotations

from matching_contract import MatchingContract


class TestReference(MatchingContract):
    engine = "reference"
