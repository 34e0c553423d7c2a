"""The reference implementation of records: reads the document and cuts each record as a fragment.

If the document is refused, Expat determines the elements open before the fault; the document is
closed there and read again. It is the oracle of the tests, and the fallback where the native core
is missing.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias
from xml.parsers import expat

from penstock.documents.events import EndElement, Event, Name, Span, StartElement
from penstock.documents.fragment import Context, Fragment, decoded
from penstock.documents.limits import Limits
from penstock.documents.reference import reader as reference
from penstock.documents.used_prefixes import used_prefixes
from penstock.documents.writing import write
from penstock.errors import PenstockError, Where, error

__all__ = ["Cut", "RecordCutter", "cut"]

Range: TypeAlias = tuple[int, int]
Batch: TypeAlias = tuple[
    bytes, bytes, bytes, bytes, list[tuple[int, list[Range]]], list[tuple[int, str, str]]
]
End: TypeAlias = tuple[tuple[str, str, int, int, int, str] | None, bytes, int]

NAMED_REFERENCE = re.compile(r"&(?!#|(?:amp|lt|gt|quot|apos);)")
SHOWN_BYTES = 64 << 10
UNLIMITED = 1 << 62
# Python raises LookupError for an unknown encoding.
_EXPAT_REFUSES = (expat.ExpatError, LookupError)


@dataclass(frozen=True, slots=True)
class Cut:
    """One record."""

    span: Span
    content: bytes
    ancestors: tuple[Span, ...]
    """The start tags of its ancestors."""

    fault: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class _Element:
    events: list[Event]
    """From its start tag to its end tag."""
    inherited: tuple[tuple[str, str], ...]
    """The namespaces in scope around it."""
    span: Span
    ancestors: tuple[Span, ...]


def cut(
    content: bytes,
    steps: Iterable[tuple[str | None, str | None]],
    limits: Limits,
    entities: Mapping[str, str],
    record_bytes: int,
) -> tuple[list[Cut], PenstockError | None, bytes, int]:
    """The records; for a refused document also the error, the rest, and the offset of the rest."""
    good, good_end, refusal = content, len(content), None
    while True:
        try:
            reading = reference.read(good, limits, entities, False)
            break
        except PenstockError as problem:
            # Expat checks the document before namespaces are resolved: an earlier fault may follow.
            refusal = problem
            closed = _closed_before(content, problem)
            if closed is None:
                return [], refusal, content, 0
            good, good_end = closed
    doctype = reading.doctype
    written = decoded(content[doctype.start : doctype.end], reading.encoding) if doctype else ""
    subset = Context(doctype=written).internal_subset()
    cuts: list[Cut] = []
    inherited_bytes = 0
    for element in _on_path(reading.events, list(steps)):
        if element.span.end > good_end:
            break
        if element.span.from_entity:
            where = Where(element.span.start, 1, 1)
            refusal = error("records.from-entity", "a record comes from an entity", where)
            break
        record = _record(
            content, element, encoding=reading.encoding, subset=subset, record_bytes=record_bytes
        )
        if record.fault is None:
            size = inherited_bytes + max(
                0, len(record.content) - len(raw := _raw(content, element))
            )
            counted = size - reference.AMPLIFICATION_FREE_BYTES
            times = limits.entity_amplification
            if counted > element.span.end * times:
                message = (
                    f"the records inherit more than {times} times the size of the document so far"
                )
                fault = ("limit.entity-amplification", message)
                record = replace(record, content=raw[:-1][:SHOWN_BYTES], fault=fault)
            else:
                inherited_bytes = size
        cuts.append(record)
    if refusal is None or not cuts:
        return cuts, refusal, content, 0
    last = cuts[-1]
    root = last.ancestors[0].start if last.ancestors else last.span.start
    prolog = content[: doctype.end if doctype else root]
    tags = b"".join(content[span.start : span.end] for span in last.ancestors)
    return cuts, refusal, prolog + tags + content[last.span.end :], last.span.end


def _on_path(events: list[Event], steps: list[tuple[str | None, str | None]]) -> Iterable[_Element]:
    """The elements on the path, in document order."""
    open_: list[tuple[int, StartElement]] = []
    for at, event in enumerate(events):
        if isinstance(event, StartElement):
            open_.append((at, event))
        elif isinstance(event, EndElement):
            if len(open_) == len(steps) and all(
                _accepts(step, element.name)
                for step, (_, element) in zip(steps, open_, strict=True)
            ):
                around = tuple(element.span for _, element in open_[:-1])
                inherited = open_[-2][1].namespaces if len(open_) > 1 else ()
                yield _Element(events[open_[-1][0] : at + 1], inherited, event.span, around)
            open_.pop()


def _accepts(step: tuple[str | None, str | None], name: Name) -> bool:
    return all(wanted is None or wanted == has for wanted, has in zip(step, name, strict=True))


def _raw(content: bytes, element: _Element) -> bytes:
    return content[element.span.start : element.span.end]


def _record(
    content: bytes, element: _Element, *, encoding: str, subset: str, record_bytes: int
) -> Cut:
    span = element.span
    raw = _raw(content, element)
    if len(raw) > record_bytes:
        fault = ("limit.record-bytes", f"the record is longer than {record_bytes} bytes")
        return Cut(span, raw[: min(record_bytes, SHOWN_BYTES)], element.ancestors, fault)
    text = decoded(raw, encoding)
    if "ATTLIST" in subset or "%" in subset or NAMED_REFERENCE.search(text):
        # Written from the events: the declarations are not read again for each record.
        used = used_prefixes(text) | used_prefixes(subset)
        unused = {
            (prefix, uri) for prefix, uri in element.inherited if prefix and prefix not in used
        }
        xml = write(_without(unused, event) for event in element.events)
    else:
        namespaces = dict(element.inherited)
        cut_out = Fragment.cut(
            content, "element", [span], namespaces=namespaces, context=Context(encoding)
        )
        xml = cut_out.to_xml()
    return Cut(span, xml.encode(), element.ancestors)


def _without(bindings: set[tuple[str, str]], event: Event) -> Event:
    """The event without these namespaces."""
    if not isinstance(event, StartElement) or not bindings:
        return event
    kept = tuple(binding for binding in event.namespaces if binding not in bindings)
    return replace(event, namespaces=kept)


def _closed_before(content: bytes, refusal: PenstockError) -> tuple[bytes, int] | None:
    """The part before the fault with its open elements closed, and the length of the part.

    ``None`` if no element ends before the fault.
    """
    fault = refusal.where.offset if refusal.where else 0
    ends = [(at, open_) for at, open_ in _end_tags(content) if at < fault]
    if not ends:
        return None
    start, still_open = ends[-1]
    encoding = _python_encoding(content)
    closing = "".join(f"</{name}>" for name in reversed(still_open)).encode(encoding)
    for found in re.finditer(re.escape(">".encode(encoding)), content[start:]):
        # The first `>` that completes it; earlier ones may be in attribute values.
        at = start + found.end()
        if _is_well_formed(content[:at] + closing):
            return content[:at] + closing, at
    return None


def _end_tags(content: bytes) -> list[tuple[int, list[str]]]:
    """Starts of end tags and empty-element tags, with the elements open after them."""
    parser = _parser()
    open_: list[str] = []
    ends: list[tuple[int, list[str]]] = []

    def end(_: str) -> None:
        open_.pop()
        ends.append((parser.CurrentByteIndex, list(open_)))

    parser.StartElementHandler = lambda name, _: open_.append(name)
    parser.EndElementHandler = end
    with suppress(*_EXPAT_REFUSES):
        parser.Parse(content, True)
    return ends


def _is_well_formed(content: bytes) -> bool:
    try:
        _parser().Parse(content, True)
    except _EXPAT_REFUSES:
        return False
    return True


def _parser() -> expat.XMLParserType:
    parser = expat.ParserCreate()
    # Undeclared entities may be supplied by the caller.
    parser.UseForeignDTD(True)
    parser.ExternalEntityRefHandler = lambda *_: 1
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_UNLESS_STANDALONE)
    return parser


def _python_encoding(content: bytes) -> str:
    if content.startswith((b"\xfe\xff", b"\x00<")):
        return "utf-16-be"
    if content.startswith((b"\xff\xfe", b"<\x00")):
        return "utf-16-le"
    declared = re.match(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([\w.-]+)", content)
    return declared[1].decode() if declared else "utf-8"


class RecordCutter:
    """The interface of the native class."""

    def __init__(  # noqa: PLR0917 - the native signature
        self,
        chunks: Iterable[bytes],
        steps: list[tuple[str | None, str | None]],
        limits: Mapping[str, int],
        entities: list[tuple[str, str]],
        record_bytes: int,
        contents: bool,
        prefix: list[Range],
        position: int,
    ) -> None:
        content = b"".join(chunks)
        lifted = {**limits, "document_bytes": UNLIMITED, "entity_bytes": UNLIMITED}
        result = cut(content, steps, Limits(**lifted), dict(entities), record_bytes)
        self._cuts, self._refusal, self._rest, self._rest_start = result
        self._contents = contents
        self._prefix = prefix
        self._position = position
        self._ended = False

    def next_batch(self, bytes_wanted: int) -> Batch | None:
        """All records in one batch, then ``None``."""
        if self._ended:
            return None
        self._ended = True
        offsets, starts, ends = array("i", [0]), array("q"), array("q")
        parts: list[bytes] = []
        faults: list[tuple[int, str, str]] = []
        for number, record in enumerate(self._cuts):
            parts.append(record.content if self._contents else b"")
            offsets.append(offsets[-1] + len(parts[-1]))
            start, end = self._original((record.span.start, record.span.end))
            starts.append(start)
            ends.append(end)
            if record.fault:
                faults.append((number, *record.fault))
        grouped = groupby(enumerate(self._cuts), key=lambda pair: pair[1].ancestors)
        ancestors = [
            (next(pairs)[0], [self._original((span.start, span.end)) for span in around])
            for around, pairs in grouped
        ]
        return (
            b"".join(parts),
            offsets.tobytes(),
            starts.tobytes(),
            ends.tobytes(),
            ancestors,
            faults,
        )

    def end(self) -> End | None:
        """The error of the rest, its content and its offset."""
        if not self._ended:
            return None
        if self._refusal is None:
            return None, b"", 0
        where = self._refusal.where
        assert where is not None, "refusals have a position"
        at = self._original((where.offset, where.offset))[0]
        path = getattr(self._refusal, "path", None) or ""
        refusal = (self._refusal.code, self._refusal.message, at, where.line, where.column, path)
        return refusal, self._rest, self._original((self._rest_start, self._rest_start))[0]

    def prolog(self) -> list[Range]:
        """The declarations."""
        if self._prefix or not self._cuts:
            return self._prefix[:1]
        first = self._cuts[0]
        return [(0, first.ancestors[0].start if first.ancestors else first.span.start)]

    def _original(self, of: Range) -> Range:
        """Maps a range of the stream to a range of the original."""
        before = 0
        for start, end in self._prefix:
            if of[0] < before + end - start:
                return start + of[0] - before, start + of[1] - before
            before += end - start
        return self._position + of[0] - before, self._position + of[1] - before
