"""Generates one document of any size as a stream of chunks, in bounded memory.

The frame is generated like any document. Its shallowest slot is filled with repetitions from a
stock that is generated beforehand; only their identifiers differ. The cost is close to copying.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from penstock.errors import error
from penstock.lab.workload.document_draft import DocumentDraft, Pieces, RepeatSlot
from penstock.lab.workload.document_generator import DocumentGenerator, finish, flat
from penstock.lab.workload.parameters import DocumentParameters
from penstock.lab.workload.weighted_choice import Rnd
from penstock.schema import SchemaGraph

STOCK_SIZE = 256
"""Repetitions generated beforehand."""

REPETITION_SIZE_MAX = 16 * 1024
"""Size limit of one repetition in bytes; required content may exceed it."""

CHUNK_SIZE_MIN = 64 * 1024
"""Minimum chunk size in bytes; the last two chunks may be shorter."""

_TRIALS = 8
_MARK = "\0"
"""Marks the positions of identifiers; it cannot occur in XML."""


def huge_document(
    schema: SchemaGraph,
    size_bytes: int,
    *,
    seed: int = 0,
    parameters: DocumentParameters | None = None,
) -> Iterator[bytes]:
    """Generate the chunks of one document, at most one repetition larger than ``size_bytes``.

    Ignores the sizes and repeats of the parameters. Raises ``lab.exhausted`` for a schema in which
    nothing can repeat.
    """
    rnd = Random(seed).random
    draft = DocumentGenerator(schema, parameters).draft(rnd)
    slot = _record_slot(draft)
    slot.pieces.append(_MARK)
    identifiers = len(draft.identifiers)
    head, _, tail = finish(draft, rnd).partition(_MARK)
    stock = [_repetition(draft, slot) for _ in range(STOCK_SIZE)]
    end = tail.encode()
    yield from _chunks(head.encode(), stock, size_bytes - len(end), identifiers, rnd)
    yield end


def _record_slot(draft: DocumentDraft) -> RepeatSlot:
    """The shallowest slot with the largest repetitions."""
    if not draft.slots:
        raise error(
            "lab.exhausted", "nothing repeats in this schema, so its documents cannot be huge"
        )
    level = min(slot.position.level for slot in draft.slots)
    shallowest = [slot for slot in draft.slots if slot.position.level == level]

    def size(slot: RepeatSlot) -> int:
        return sum(len(part) for _ in range(_TRIALS) for part in _repetition(draft, slot))

    return max(shallowest, key=size)


def _repetition(draft: DocumentDraft, slot: RepeatSlot) -> tuple[bytes, ...]:
    """Generate a repetition; identifiers go between its parts."""
    saved = draft.identifiers, draft.references, draft.slots
    draft.identifiers, draft.references, draft.slots = [], [], []
    draft.size_wanted = draft.size + REPETITION_SIZE_MAX
    pieces: Pieces = []
    draft.repeat(slot, pieces)
    for deferred in draft.identifiers:
        deferred.fill(_MARK)
    for deferred in draft.references:
        # Only the first identifier of the document is certain to exist.
        deferred.fill("n0")
    draft.identifiers, draft.references, draft.slots = saved
    return tuple(part.encode() for part in "".join(flat(pieces)).split(_MARK))


def _chunks(
    head: bytes, stock: list[tuple[bytes, ...]], left: int, identifiers: int, rnd: Rnd
) -> Iterator[bytes]:
    chunk = bytearray(head)
    while len(chunk) < left:
        first, *rest = stock[int(rnd() * len(stock))]
        chunk += first
        for part in rest:
            chunk += b"n%d" % identifiers
            chunk += part
            identifiers += 1
        if len(chunk) >= CHUNK_SIZE_MIN:
            left -= len(chunk)
            yield bytes(chunk)
            chunk.clear()
    yield bytes(chunk)
