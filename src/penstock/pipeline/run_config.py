"""The configuration that a pipeline run passes from its entry point to its tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from penstock.documents import Limits
from penstock.errors import error
from penstock.pipeline.limits import SHARDS_MAX

if TYPE_CHECKING:
    from penstock.mediation import UnknownSchema

Mode: TypeAlias = Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"]
"""How refused documents are handled, in Spark's terms."""

MODES: Final = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """How documents are matched and delivered. Sent to workers, so it holds plain values only.

    Raises
    ------
    PipelineError
        ``pipeline.mode``: unknown mode; ``pipeline.shards``: less than one or too many shards.
    """

    mode: Mode = "PERMISSIVE"
    """``PERMISSIVE`` stores refused documents as dead letters, ``DROPMALFORMED`` only counts them,
    ``FAILFAST`` fails the batch and commits nothing of it."""

    limits: Limits | None = None
    """The limits of documents; the defaults if ``None``."""

    unknown_schema: UnknownSchema = "refuse"
    """How to handle a document whose header names a schema that is not registered: ``refuse`` makes
    it a dead letter, ``as-is`` matches it without a mapping. For streams of a workspace."""

    follow: bool = False
    """Whether to wait for new documents until stopped; otherwise a run ends when the inbox is
    empty. For streams of a workspace."""

    poll_seconds: float = 1
    """How often to look for new documents when following."""

    documents_per_batch: int | None = None
    """Documents in a micro-batch; :data:`~penstock.pipeline.limits.INBOX_BATCH_DOCUMENTS` if
    ``None``. For streams of a workspace."""

    shards: int = 1
    """Parts that the subscriptions are divided into. Every document is matched against each of
    them, and a worker opens only one at a time. For streams of a workspace."""

    def __post_init__(self) -> None:
        """Check the mode and the number of shards."""
        if not 1 <= self.shards <= SHARDS_MAX:
            raise error(
                "pipeline.shards", f"{self.shards} shards; there can be 1 to {SHARDS_MAX:,}"
            )
        if self.mode not in MODES:
            raise error(
                "pipeline.mode", f"unknown mode {self.mode!r}; known are {', '.join(MODES)}"
            )
