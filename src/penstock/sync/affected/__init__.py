"""Which subscriptions a change of a document may affect."""

from penstock.sync.affected.affected_index import Affected, AffectedIndex, SearchWork
from penstock.sync.affected.change import (
    Change,
    Content,
    ContentNode,
    LabelPath,
    Touch,
    TouchedNode,
)

__all__ = [
    "Affected",
    "AffectedIndex",
    "Change",
    "Content",
    "ContentNode",
    "LabelPath",
    "SearchWork",
    "Touch",
    "TouchedNode",
]
