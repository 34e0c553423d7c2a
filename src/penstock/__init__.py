"""Penstock delivers XML documents to standing XPath and keyword subscriptions.

This module exports the public names. They are imported on first use, so that ``import penstock``
stays cheap.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from penstock.lazy_imports import lazy_names

if TYPE_CHECKING:
    from penstock.documents import Document as Document
    from penstock.documents import Fragment as Fragment
    from penstock.documents import Limits as Limits
    from penstock.documents import Span as Span
    from penstock.errors import DocumentError as DocumentError
    from penstock.errors import EngineError as EngineError
    from penstock.errors import IndexFileError as IndexFileError
    from penstock.errors import NativeMissingError as NativeMissingError
    from penstock.errors import NativeMissingWarning as NativeMissingWarning
    from penstock.errors import PenstockError as PenstockError
    from penstock.errors import QueryError as QueryError
    from penstock.errors import SchemaError as SchemaError
    from penstock.errors import UnknownSubscriptionError as UnknownSubscriptionError
    from penstock.language import TokenizerOptions as TokenizerOptions
    from penstock.matching import Answer as Answer
    from penstock.matching import BatchMatches as BatchMatches
    from penstock.matching import Counters as Counters
    from penstock.matching import Explanation as Explanation
    from penstock.matching import Failure as Failure
    from penstock.matching import IndexStats as IndexStats
    from penstock.matching import KeywordIndex as KeywordIndex
    from penstock.matching import KeywordMatcher as KeywordMatcher
    from penstock.matching import KeywordWitnesses as KeywordWitnesses
    from penstock.matching import Matcher as Matcher
    from penstock.matching import Matches as Matches
    from penstock.matching import StepTaken as StepTaken
    from penstock.matching import SubscriptionIndex as SubscriptionIndex
    from penstock.matching import Witness as Witness
    from penstock.matching import Work as Work
    from penstock.matching import both as both
    from penstock.matching import combine_matchers as combine_matchers
    from penstock.mediation import Mapping as Mapping
    from penstock.mediation import MediatedMatcher as MediatedMatcher
    from penstock.mediation import Mediator as Mediator
    from penstock.schema import SchemaTree as SchemaTree

__version__ = "0.1.0"
"""The single source of the package version."""

_MODULES = {
    "Answer": "penstock.matching",
    "BatchMatches": "penstock.matching",
    "Counters": "penstock.matching",
    "Document": "penstock.documents",
    "DocumentError": "penstock.errors",
    "EngineError": "penstock.errors",
    "Explanation": "penstock.matching",
    "Failure": "penstock.matching",
    "Fragment": "penstock.documents",
    "IndexFileError": "penstock.errors",
    "IndexStats": "penstock.matching",
    "KeywordIndex": "penstock.matching",
    "KeywordMatcher": "penstock.matching",
    "KeywordWitnesses": "penstock.matching",
    "Limits": "penstock.documents",
    "Mapping": "penstock.mediation",
    "Matcher": "penstock.matching",
    "Matches": "penstock.matching",
    "MediatedMatcher": "penstock.mediation",
    "Mediator": "penstock.mediation",
    "NativeMissingError": "penstock.errors",
    "NativeMissingWarning": "penstock.errors",
    "PenstockError": "penstock.errors",
    "QueryError": "penstock.errors",
    "SchemaError": "penstock.errors",
    "SchemaTree": "penstock.schema",
    "Span": "penstock.documents",
    "StepTaken": "penstock.matching",
    "SubscriptionIndex": "penstock.matching",
    "TokenizerOptions": "penstock.language",
    "UnknownSubscriptionError": "penstock.errors",
    "Witness": "penstock.matching",
    "Work": "penstock.matching",
    "both": "penstock.matching",
    "combine_matchers": "penstock.matching",
}
"""The module of each public name."""

__all__ = [
    "Answer",
    "BatchMatches",
    "Counters",
    "Document",
    "DocumentError",
    "EngineError",
    "Explanation",
    "Failure",
    "Fragment",
    "IndexFileError",
    "IndexStats",
    "KeywordIndex",
    "KeywordMatcher",
    "KeywordWitnesses",
    "Limits",
    "Mapping",
    "Matcher",
    "Matches",
    "MediatedMatcher",
    "Mediator",
    "NativeMissingError",
    "NativeMissingWarning",
    "PenstockError",
    "QueryError",
    "SchemaError",
    "SchemaTree",
    "Span",
    "StepTaken",
    "SubscriptionIndex",
    "TokenizerOptions",
    "UnknownSubscriptionError",
    "Witness",
    "Work",
    "both",
    "combine_matchers",
]


# A library leaves the output of log records to the application.
logging.getLogger(__name__).addHandler(logging.NullHandler())


__getattr__, __dir__ = lazy_names(__name__, _MODULES)
