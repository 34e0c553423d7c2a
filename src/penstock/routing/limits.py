"""The limits of routing."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from penstock.errors import error

# Aggregation of subscriptions

SET_ASIDE_NAMED_MAX: Final[int] = 10
"""Subscriptions that a message names if the work budget of a document was spent."""

AGGREGATE_NODES_MAX: Final[int] = 1_000_000
"""Pattern nodes of an aggregated set, unless the caller sets another bound: steps, value tests,
words and header tests. At the bound, refinements are omitted. If the other patterns alone exceed
it, they are merged, at the cost of false forwards."""

PATTERN_NODE_CHARACTERS: Final[int] = 32
"""Characters of a pattern's key that count as one pattern node, if it has fewer nodes. So the bound
of an aggregated set also bounds the size of a snapshot: 64 bytes per node."""

MINIMISATION_TRIALS_MAX: Final[int] = 64
"""Parts of a query whose removal is tried to minimise it: a proof may take ten milliseconds, and a
query has up to 512 branches and 512 predicates."""

SYNOPSIS_DOCUMENTS_MAX: Final[int] = 256
"""Documents in a synopsis: half of the current generation, half of the previous one. Of the seen
documents, those with the least digests are kept, which is a uniform sample."""

SYNOPSIS_DOCUMENT_BYTES_MAX: Final[int] = 1 << 16
"""Bytes of a document in a synopsis; larger ones are counted and not sampled."""

SYNOPSIS_GENERATION_DOCUMENTS: Final[int] = 10_000
"""Documents after which a synopsis begins a new generation and forgets the one before last."""

SYNOPSIS_FIRST_DOCUMENTS: Final[int] = 256
"""Documents that a router has read before it first chooses by its synopsis which patterns are
merged; later it does so once in a generation."""

NEIGHBOURS_MAX: Final[int] = 3
"""Patterns before and after a pattern, in each sort order, that are considered for a merge."""

MERGE_CANDIDATES_MAX: Final[int] = 4
"""Merges that are computed for a new pattern: those with its most similar neighbours."""

WEAKER_PATTERNS_MAX: Final[int] = 6
"""Patterns that require one thing less than a pattern and are considered in its place."""

LABEL_SUBSETS_MAX: Final[int] = 8
"""Labels of a query whose subsets are looked up to find the patterns that contain it; with more
labels, posting lists are read instead."""

SEARCHED_TOGETHER_MIN: Final[int] = 64
"""Paths whose containment among each other is searched by an index of subscriptions; fewer are
compared by their labels."""

REQUIRED_LABELS_MAX: Final[int] = 262_144
"""Patterns of a large set whose required labels are cached while containers are searched in it."""

CONTAINER_SETS_MAX: Final[int] = 262_144
"""Patterns of a large set whose containers are cached while its containment order is computed."""

BLOCK_STEPS: Final[int] = 2
"""First steps of a path that determine its block. Blocks are aggregated independently, before
their patterns are aggregated together."""

BLOCK_SHARE: Final[int] = 4
"""How many times its share of the bound a block may keep, as choice for the final merges."""

BLOCK_NODES_MIN: Final[int] = 64
"""Pattern nodes that a block may keep however small its share is."""

NARROWED_PATTERNS_MAX: Final[int] = 16
"""Patterns from which a merged pattern is derived again after one of its patterns was removed. A
merged pattern of more is kept until it has lost half of them, and is then dissolved."""

MERGE_ROUND_SHARE: Final[int] = 8
"""Of the patterns, at most one in this number is merged per round, before the selectivity of the
new candidates is estimated together."""

SPLITS_MAX: Final[int] = 64
"""Merged patterns that are considered for a split after a change, those with the most false
forwards first."""

UNUSED_SHARE: Final[int] = 5
"""Of the bound, at most one in this number of nodes is given up by a merge, while there are others:
a very general pattern covers most of the others at once."""

# Annotations

ANNOTATION_BYTES_MAX: Final[int] = 1 << 16
"""Bytes of the annotations of a document. A sender omits what does not fit; a receiver ignores
larger headers."""

ANNOTATION_BYTES_FREE: Final[int] = 256
"""Bytes of annotations that a document may have however small it is."""

ANNOTATION_SHARE_MAX: Final[float] = 0.05
"""Bytes of annotations relative to the document, beyond the free ones."""

ANNOTATION_REPORT_DOCUMENTS: Final[int] = 64
"""Annotated documents after which a router reports to the sender what their annotations saved."""

ANNOTATION_TRIAL_REPORTS: Final[int] = 2
"""Reports of a neighbour during which all kinds of annotations are tried. The first may refer to
documents that were sent before."""

ANNOTATION_TRIAL_INTERVAL_MAX: Final[int] = 64
"""Reports after which all kinds of annotations are tried again, at most. Their number doubles with
each trial in which no other kind paid off."""

ANNOTATION_READ_SHARE_MAX: Final[float] = 1 / 16
"""Share of annotated documents that a neighbour may read, in bytes, before kinds of annotations
other than those that paid off are tried."""

ANNOTATION_GAIN_MIN: Final[int] = 4
"""Bytes of documents that are not read, for each byte of a kind of annotation, below which the kind
is omitted."""

PREPARED_TARGETS_PER_DOCUMENT: Final[int] = 256
"""After a change, targets below merged patterns are located for match lists at this rate: until
enough documents have arrived, they are read. With steady changes, locating the targets would cost
more than reading."""

PREPARED_PATTERNS_FREE: Final[int] = 1_024
"""Patterns for which annotations that are derived from label paths are made and used at once. It
takes about a tenth of a millisecond for each to prepare that."""

PREPARED_PATTERNS_PER_DOCUMENT: Final[int] = 4
"""Further patterns for which they are prepared, for each document since the last change, where
kinds are chosen by what they save. Fixed kinds are prepared at the rate of match lists."""

BINDINGS_OF_PATTERN_MAX: Final[int] = 4
"""Label paths of a document that instantiate one matched pattern in its bindings."""

BINDINGS_MAX: Final[int] = 256
"""Bindings of a document. Those of the patterns with the highest ranks are left out; a router
refuses more."""

BINDING_PROOFS_MAX: Final[int] = 4_096
"""Proofs by bindings that are tried for a document; the remaining patterns stay undecided."""

# Routers

DELIVERY_FRAGMENTS_MAX: Final[int] = 1_000
"""Fragments in a delivery, unless the subscription sets its own limit. The others are counted."""

SUBSCRIPTION_FRAGMENTS_MAX: Final[int] = 100_000
"""The largest limit of fragments that a subscription can set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterLimits:
    """Upper bounds of a router.

    >>> RouterLimits(waiting_documents=10).waiting_documents
    10
    """

    neighbour_patterns: int = 1_000_000
    """Patterns of a neighbour's interest. A neighbour with the default bound of pattern nodes never
    has more. If a neighbour states more, they are refused with the
    code ``routing.too-many-patterns``, and its interest counts as everything."""

    waiting_documents: int = 10_000
    """Documents that wait for the link to one neighbour. Past it, one is discarded and reported
    with the code ``routing.queue-full``; which one is a setting of the router."""

    waiting_bytes: int = 64 << 20
    """Bytes of documents that wait for the link to one neighbour, likewise. A document that waits
    alone may be longer."""

    remembered_documents: int = 2_000
    """Documents of each publisher by which duplicates are recognised, the latest; at most twice as
    many are remembered. A session sends at most its window again, so this has to be no less than
    ``window_messages`` of the links."""

    remembered_publishers: int = 500
    """Publishers whose documents are remembered; past it, the one that has been silent for the
    longest is forgotten and counted. Its duplicates are not recognised."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise error(
                    "routing.option",
                    f"the limit {field.name} must be a positive integer, not {value!r}",
                )
