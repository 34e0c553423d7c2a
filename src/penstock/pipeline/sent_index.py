"""Indexes that are sent to the workers with a task, instead of being opened by URI."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.documents import Limits
from penstock.errors import error
from penstock.matching import KeywordIndex, SubscriptionIndex
from penstock.mediation import MediatedMatcher
from penstock.pipeline.limits import SENT_INDEX_BYTES_MAX
from penstock.workspace.table_schemas import SUBSCRIPTIONS

_DEFAULTS: Final = {"subscriber": "", "returns": "document", "fragments_max": None}
"""The columns of a subscription that an index does not have."""


@dataclass(frozen=True, slots=True)
class SentIndex:
    """An index as bytes, with their digest: a worker unpickles it once for all of its tasks."""

    digest: str
    content: bytes

    @classmethod
    def of(cls, index: SubscriptionIndex | KeywordIndex) -> SentIndex:
        """The current subscriptions of an index; later changes do not affect it.

        Raises
        ------
        PipelineError
            ``pipeline.index-size``: it is larger than
            :data:`~penstock.pipeline.limits.SENT_INDEX_BYTES_MAX`.
        """
        content = pickle.dumps(index)
        if len(content) > SENT_INDEX_BYTES_MAX:
            raise error(
                "pipeline.index-size",
                f"the index has {len(content):,} bytes; {SENT_INDEX_BYTES_MAX:,} can be sent",
            )
        return cls(hashlib.sha256(content).hexdigest(), content)

    def open(self, limits: Limits) -> OpenIndex:
        """The index, ready for matching."""
        return OpenIndex(pickle.loads(self.content), limits)


class OpenIndex:
    """An index with the interface of :class:`~penstock.workspace.index_versions.OpenVersion`.

    Its ids are arbitrary strings. Each gets a number when it is first part of a match.
    """

    def __init__(self, index: SubscriptionIndex | KeywordIndex, limits: Limits) -> None:
        self.matcher = index.matcher(limits=limits)
        self.mediated = MediatedMatcher(self.matcher)
        self._ids: list[str] = []
        self._numbers: dict[str, int] = {}

    @property
    def subscriptions(self) -> pa.Table:
        """None, because none of them starts or expires."""
        return SUBSCRIPTIONS.empty_table()

    def numbers_of(self, ids: pa.Array[Any]) -> npt.NDArray[np.int64]:
        """The numbers of ids."""
        return np.array([self._number(str(id_)) for id_ in ids.to_pylist()], np.int64)

    def _number(self, id_: str) -> int:
        number = self._numbers.setdefault(id_, len(self._ids))
        if number == len(self._ids):
            self._ids.append(id_)
        return number

    def ids_of(self, numbers: npt.NDArray[np.int64]) -> list[str]:
        """The ids with these numbers."""
        return [self._ids[number] for number in numbers]

    def rows(
        self, numbers: pa.Array[pa.Int64Scalar], columns: Sequence[str] = SUBSCRIPTIONS.names
    ) -> pa.Table:
        """The subscriptions with these numbers, in this order."""
        ids = self.ids_of(numbers.to_numpy(zero_copy_only=False))
        arrays = [
            pa.array(ids, pa.string())
            if field.name == "subscription"
            else pa.repeat(pa.scalar(_DEFAULTS.get(field.name), field.type), len(ids))
            for field in map(SUBSCRIPTIONS.field, columns)
        ]
        return pa.Table.from_arrays(arrays, names=list(columns))
