"""Penstock delivers XML to those who asked for it.

The public names stand here. They are imported when they are first used, so that ``import
penstock`` itself costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

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
    from penstock.mediation import Mapping as Mapping
    from penstock.mediation import MediatedMatcher as MediatedMatcher
    from penstock.mediation import Mediator as Mediator
    from penstock.schema import SchemaTree as SchemaTree

__version__ = "0.1.0"
"""The package's own version takes it from here."""

_HOMES = {
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
    "UnknownSubscriptionError": "penstock.errors",
    "Witness": "penstock.matching",
    "Work": "penstock.matching",
    "both": "penstock.matching",
}
"""Where each public name lives."""

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
    "UnknownSubscriptionError",
    "Witness",
    "Work",
    "both",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
