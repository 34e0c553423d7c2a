"""Unexpected failures while one document is processed, as errors of that document.

A defect of Penstock must not affect other documents: code that loops over documents converts any
failure with :func:`internal_error`. The error carries a report for the maintainers. It identifies
the document by digest and length; the content is not included, although the message of an exception
may quote a part of it.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import sys
import traceback
from collections.abc import Mapping
from typing import Any, Final

from penstock.errors import DocumentError
from penstock.native import native

PROCESS_EXITS: Final = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""Exceptions that end the process or a generator, and therefore never belong to a document. A panic
of the native core derives from ``BaseException`` too, but belongs to its document."""

MESSAGE_CHARACTERS_MAX: Final = 1_000
"""Characters of an exception's message in a report."""

TRACEBACK_CHARACTERS_MAX: Final = 20_000
"""Characters of a traceback in a report; the end is kept."""


def internal_error(failure: BaseException, content: bytes | None) -> DocumentError:
    """The error of a document whose processing raised ``failure``.

    An error that refuses the document is returned unchanged.

    >>> internal_error(RecursionError("too deep"), b"<a/>").message
    'processing the document raised RecursionError: too deep'
    """
    if isinstance(failure, DocumentError):
        return failure
    kind = type(failure).__name__
    said = str(failure)[:MESSAGE_CHARACTERS_MAX]
    trace = "".join(traceback.format_exception(failure))
    report = failure_report(
        content,
        {"type": kind, "message": said, "traceback": trace[-TRACEBACK_CHARACTERS_MAX:]},
    )
    said = f": {said}" if said else ""
    message = f"processing the document raised {kind}{said}"
    return DocumentError("internal.error", message, report=report)


def failure_report(content: bytes | None, failure: Mapping[str, Any]) -> str:
    """The report of a failure as JSON: what failed, on which document, in which versions."""
    document = None
    if content is not None:
        digest = hashlib.sha256(content).hexdigest()
        document = {"sha256": digest, "bytes": len(content)}
    return json.dumps({**failure, "document": document, "versions": versions()})


def versions() -> dict[str, str]:
    """The versions that a report names."""
    try:
        version = importlib.metadata.version("penstock")
    except importlib.metadata.PackageNotFoundError:
        version = "not installed"
    return {
        "penstock": version,
        "native": "none" if native is None else native.__version__,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
    }
