"""The complete contract suite of XPath engines."""

from __future__ import annotations

from support.contracts.cases import CaseContract
from support.contracts.index import IndexContract
from support.contracts.results import ResultContract


class MatchingContract(CaseContract, IndexContract, ResultContract):
    """The suite; a subclass sets :attr:`engine`."""
