"""The reader alone: what every other engine is measured against."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.documents import Limits
from penstock.errors import error
from penstock.native import native


def reading_of(documents: Sequence[bytes]) -> Callable[[], None]:
    """Work that reads the documents with all checks, through one reader, and hears nothing."""
    if native is None:
        raise error("native.missing", "benches measure the native core")
    reader = native.DocumentReader(Limits().by_name(), [], False)

    def read() -> None:
        for document in documents:
            _, refusal = reader.read(document)
            assert refusal is None

    return read
