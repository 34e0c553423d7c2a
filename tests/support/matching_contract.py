"""What every matching engine does: one suite, which each passes by naming itself."""

from __future__ import annotations

from case_contract import CaseContract
from index_contract import IndexContract
from result_contract import ResultContract


class MatchingContract(CaseContract, IndexContract, ResultContract):
    """The suite; a subclass sets :attr:`engine`."""
