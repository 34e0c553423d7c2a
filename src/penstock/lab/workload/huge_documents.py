"""One document of any size, as a stream of chunks, in bounded memory.

A frame is drawn as any document is. In it, the shallowest place that may repeat is filled with
repetitions from a stock that is drawn beforehand; only their identifiers differ. So it costs hardly
more than copying.
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
"""Repetitions that are drawn beforehand."""

REPETITION_SIZE_MAX = 16 * 1024
"""Bytes of one repetition, but for what the schema requires."""

CHUNK_SIZE_MIN = 64 * 1024
"""Bytes of a chunk; the last two may be shorter."""

_TRIALS = 8
_MARK = "\0"
"""Stands where identifiers go, and cannot occur in XML."""


def huge_document(
    schema: SchemaGraph,
    size_bytes: int,
    *,
    seed: int = 0,
    parameters: DocumentParameters | None = None,
) -> Iterator[bytes]:
    """The chunks of one document of at least ``size_bytes``, by no more than one repetition.

    The sizes and the repeats of the parameters do not count here. A schema in which nothing can
    repeat is refused with ``lab.exhausted``.
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
    """Of the shallowest slots the one whose repetitions are largest."""
    if not draft.slots:
        raise error("lab.exhausted", "nothing repeats in this schema, so no document can be huge")
    level = min(slot.position.level for slot in draft.slots)
    shallowest = [slot for slot in draft.slots if slot.position.level == level]

    def size(slot: RepeatSlot) -> int:
        return sum(len(part) for _ in range(_TRIALS) for part in _repetition(draft, slot))

    return max(shallowest, key=size)


def _repetition(draft: DocumentDraft, slot: RepeatSlot) -> tuple[bytes, ...]:
    """The parts of a new repetition between which identifiers go."""
    saved = draft.identifiers, draft.references, draft.slots
    draft.identifiers, draft.references, draft.slots = [], [], []
    draft.size_wanted = draft.size + REPETITION_SIZE_MAX
    pieces: Pieces = []
    draft.repeat(slot, pieces)
    for deferred in draft.identifiers:
        deferred.fill(_MARK)
    for deferred in draft.references:
        # The first identifier of the document is the one that is sure to be there.
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
