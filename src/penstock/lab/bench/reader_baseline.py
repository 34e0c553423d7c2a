"""The reader alone, the baseline of every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.documents import Limits
from penstock.errors import error
from penstock.native import native


def reader_pass(documents: Sequence[bytes]) -> Callable[[], None]:
    """A function that reads the documents with all checks and no event handler."""
    if native is None:
        raise error("native.missing", "benchmarks measure the native core")
    reader = native.DocumentReader(Limits().by_name(), [], False)

    def read() -> None:
        for document in documents:
            _, refusal = reader.read(document)
            assert refusal is None

    return read
