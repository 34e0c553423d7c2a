"""Mapping files: a mapping is the same after printing, and both rewriters agree on a document.

The input up to the first NUL is the mapping file, the rest is the document.
"""

from __future__ import annotations

from functools import cache

from penstock.documents import EndElement, Event, StartElement, Text, read_events
from penstock.errors import DocumentError, MappingError
from penstock.mediation import Mapping, rewrite
from penstock.mediation.static_rewriting import DocumentWriter

DICTIONARY = "outlines.dict"

_SCHEMA = b"""penstock mapping 1

a
  @k?
%s
  b* text
    @l?
    d
    e?
  c? text
"""

_DOCUMENT = b"<a k='1'><b l='2'>one<d/><e/></b><b/>two<c>three</c><x><b/></x></a>"


def seeds() -> list[bytes]:
    """A mapping with each operator, and a document."""
    operators = [
        b"rename z",
        b"rename @k k2",
        b"to-element @k as n",
        b"insert n/m (b, c)",
        b"insert+ n",
        b"downgrade (b) into c",
        b"exchange b",
        b"downgrade (c) into b\n  => insert n (b)\n  => rename y",
    ]
    notes = [_SCHEMA % (b"  => " + operator) for operator in operators]
    notes.append(_SCHEMA.replace(b"    d\n", b"    => upgrade (d, e)\n    d\n") % b"")
    notes.append(_SCHEMA.replace(b"    d\n", b"    => upgrade+\n    d\n") % b"  => to-element @k")
    return [note + b"\0" + _DOCUMENT for note in notes]


@cache
def _writer() -> DocumentWriter:
    return DocumentWriter()


def run_input(data: bytes) -> None:
    """Parse a mapping, and rewrite a document by it."""
    text, _, document = data.partition(b"\0")
    try:
        mapping = Mapping.from_text(text.decode("utf-8", errors="replace"))
    except MappingError:
        return
    assert Mapping.from_text(mapping.to_text()) == mapping
    try:
        written = _writer().write(document, mapping)
    except DocumentError as refusal:
        _check_refused(document, mapping, refusal.code)
        return
    expected = rewrite(mapping, read_events(document))
    assert written.work.unknown == expected.unknown
    found = [_content(read_events(tree)) for tree in written.trees]
    assert found == [_content(events) for events in expected.events()]


def _check_refused(document: bytes, mapping: Mapping, code: str) -> None:
    """The reader or the reference refuses the document too."""
    found = None
    try:
        rewrite(mapping, read_events(document))
    except DocumentError as refusal:
        found = refusal.code
    # The native rewriter alone limits buffered bytes and the depth of what it writes.
    assert found == code or code in {"mapping.held", "limit.depth"}, (found, code)


def _content(events: list[Event]) -> list[object]:
    """Names, sorted attributes and joined texts; ends as ``None``."""
    content: list[object] = []
    for event in events:
        if isinstance(event, StartElement):
            content.append((event.name, sorted((a.name, a.value) for a in event.attributes)))
        elif isinstance(event, EndElement):
            content.append(None)
        elif isinstance(event, Text):
            last = content[-1] if content else None
            if isinstance(last, str):
                content[-1] = last + event.text
            else:
                content.append(event.text)
    return content
