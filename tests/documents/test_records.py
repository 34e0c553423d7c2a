"""Records: the native core agrees with the reference, whatever the chunk boundaries."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.documents import (
    CutPoint,
    Limits,
    Record,
    RecordCutter,
    Steps,
    cut_records,
    read_events,
)
from penstock.documents.reference import records as reference
from penstock.errors import DocumentError, PenstockError, error
from penstock.native import native
from support.fixtures.bounded_process import run_bounded
from support.strategies import documents as document_strategies
from support.strategies import xml as xml_strategies

needs_core = pytest.mark.skipif(native is None, reason="there is no native core to compare")

LOCAL_NAMES = ("a", "b", "c", "item")
URIS = ("", "urn:p", "urn:x")


def paths(levels_min: int = 1) -> st.SearchStrategy[Steps]:
    step = st.tuples(
        st.sampled_from((None, None, *URIS)), st.sampled_from((None, None, None, *LOCAL_NAMES))
    )
    return st.lists(step, min_size=levels_min, max_size=3).map(tuple)


anything = st.one_of(
    xml_strategies.documents(),
    xml_strategies.damaged(),
    document_strategies.documents,
    document_strategies.perhaps_broken,
)


def cut(document: bytes, path: str, **options: object) -> list[Record]:
    """The records of a path without namespaces."""
    steps = tuple((None, None if name == "*" else name) for name in path.strip("/").split("/"))
    return list(cut_records(document, steps, **options))  # type: ignore[arg-type]


def good(records: Iterable[Record]) -> list[tuple[int, int, bytes]]:
    return [(r.start, r.end, r.content) for r in records if r.fault is None]


def test_a_self_contained_record_is_copied_verbatim() -> None:
    document = b"<a>\r\n<b x = '1' ><!-- kept --><![CDATA[<]]>&#13;</b  ></a>"
    assert good(cut(document, "/a/b")) == [(5, 54, document[5:54])]


def test_a_record_has_the_namespaces_and_the_encoding_it_inherits() -> None:
    text = '<?xml version="1.0" encoding="UTF-16"?><a xmlns:p="urn:p"><p:b>é</p:b></a>'
    (record,) = cut(text.encode("utf-16"), "/*/*")
    assert record.content.decode() == '<p:b xmlns:p="urn:p">é</p:b>'


@pytest.mark.skipif(native is None, reason="Expat's entities are the external subset's, if any")
def test_entities_supplied_by_the_caller_are_expanded() -> None:
    document = b'<!DOCTYPE dblp SYSTEM "dblp.dtd"><dblp><article>Erd&#337;s, G&ouml;del'
    document += b"</article><article><!-- kept -->none</article></dblp>"
    first, second = cut(document, "/dblp/*", entities={"ouml": "ö"})
    assert first.content.decode() == "<article>Erdős, Gödel</article>"
    assert second.content == b"<article><!-- kept -->none</article>"


def test_entity_references_are_limited_per_record() -> None:
    document = b"<a>" + b"<b>&e;</b>" * 2000 + b"</a>"
    limits = Limits(entity_bytes=100, document_bytes=100)
    records = cut(document, "/a/b", entities={"e": "text"}, limits=limits)
    assert [record.fault for record in records] == [None] * 2000


def test_defaults_of_the_document_type_are_written_out() -> None:
    document = b"<!DOCTYPE a [<!ATTLIST b k CDATA 'v'>]><a><b/></a>"
    assert [record.content for record in cut(document, "/a/b")] == [b'<b k="v"></b>']


def cut_by(implementation: str, document: bytes, path: str, **options: object) -> list[Record]:
    """The records, natively or by the reference."""
    if implementation == "native":
        return cut(document, path, **options)
    steps = tuple((None, name) for name in path.strip("/").split("/"))
    limits = options.get("limits") or Limits()
    cuts, _, _, _ = reference.cut(document, steps, limits, {}, 1 << 20)  # type: ignore[arg-type]
    return [
        Record(c.span.start, c.span.end, c.content, error(*c.fault) if c.fault else None)
        for c in cuts
    ]


implementations = pytest.mark.parametrize(
    "implementation", ["reference", pytest.param("native", marks=needs_core)]
)


@implementations
@pytest.mark.parametrize(
    ("declared", "record", "inherited"),
    [
        ("xmlns='d' xmlns:p='p' xmlns:q='q'", "<b/>", "xmlns='d'"),
        ("xmlns:p='p' xmlns:q='q'", "<p:b/>", "xmlns:p='p'"),
        ("xmlns:p='p' xmlns:q='q'", "<b q:x=''/>", "xmlns:q='q'"),
        # Names in values and text count, since they may be those of types or paths.
        (
            "xmlns:p='p' xmlns:q='q' xmlns:r='r'",
            "<b t='q:int'>//r:x</b>",
            "xmlns:q='q' xmlns:r='r'",
        ),
        ("xmlns:p='p' xmlns:q='q'", "<b><c xmlns:p='other'><p:d/></c></b>", "xmlns:p='p'"),
        ("xmlns:p='p'", "<b xmlns:p='own'><p:c/></b>", ""),
    ],
)
def test_a_record_gets_the_namespaces_that_it_uses(
    implementation: str, declared: str, record: str, inherited: str
) -> None:
    document = f"<a {declared}>{record}</a>".encode()
    (found,) = cut_by(implementation, document, "/a/b")
    expected = record.replace("b", f"b {inherited}".rstrip(), 1)
    assert read_events(found.content) == read_events(expected.encode())
    assert len(found.content) == len(expected)


@implementations
def test_a_rewritten_record_gets_the_namespaces_that_its_entities_use(implementation: str) -> None:
    subset = "<!ENTITY e '<p:c/>'><!ENTITY f '1'>"
    document = f"<!DOCTYPE a [{subset}]><a xmlns:p='p' xmlns:q='q'><b>&e;</b><b>&f;</b></a>"
    found = cut_by(implementation, document.encode(), "/a/b")
    assert [record.content for record in found] == [
        b'<b xmlns:p="p"><p:c></p:c></b>',
        b'<b xmlns:p="p">1</b>',
    ]


@implementations
def test_an_identifier_with_a_bracket_is_not_the_internal_subset(implementation: str) -> None:
    document = b"<!DOCTYPE a SYSTEM 'x[y' [<!ENTITY e '1'>]><a><b>&e;</b></a>"
    assert [r.content for r in cut_by(implementation, document, "/a/b")] == [b"<b>1</b>"]


@implementations
def test_what_records_inherit_is_limited(implementation: str) -> None:
    uri = "u" * 10_000
    document = f"<a xmlns='{uri}'>{'<b/>' * 500}</a>".encode()
    records = cut_by(implementation, document, "/a/b")
    codes = [record.fault and record.fault.code for record in records]
    good_count = codes.count(None)
    # About a hundred times the document, and 64 KiB.
    assert 100 < good_count < 130
    assert codes[:100] == [None] * 100
    assert codes.count("limit.entity-amplification") == 500 - good_count
    faulty = next(record for record in records if record.fault)
    with pytest.raises(DocumentError):
        read_events(faulty.content)
    more = Limits(entity_amplification=1_000)
    records = cut_by(implementation, document, "/a/b", limits=more)
    assert [record.fault for record in records] == [None] * 500


@needs_core
def test_a_batch_ends_within_a_window() -> None:
    document = f"<a xmlns='{'u' * 1000}'>{'<b/>' * 500}</a>".encode()
    cutter = RecordCutter([document], ((None, "a"), (None, "b")))
    batches = list(cutter.batches(10_000))
    assert sum(map(len, batches)) == 500
    assert max(len(batch.contents) for batch in batches) < 12_000
    # Every batch names the ancestors of its first record.
    assert all(batch.ancestors[0][0] == 0 for batch in batches if len(batch))


@needs_core
def test_many_namespaces_and_declarations_do_not_slow_down_records() -> None:
    program = """
from penstock.documents import cut_records

steps = ((None, "r"), (None, "e"))
namespaces = " ".join(f"xmlns:p{n}='urn:{n}'" for n in range(990))
document = f"<r {namespaces}>" + "<e/>" * 100_000 + "</r>"
lengths = [len(record.content) for record in cut_records(document.encode(), steps)]
# Elements that declare a namespace themselves.
document = f"<r {namespaces}>" + "<e xmlns:q='u'/>" * 50_000 + "</r>"
lengths += [len(record.content) for record in cut_records(document.encode(), steps)]
entities = "".join(f"<!ENTITY e{n} '{'x' * 40}'>" for n in range(15_000))
document = f"<!DOCTYPE r [{entities}]><r>" + "<e>&e0;</e>" * 20_000 + "</r>"
lengths += [len(record.content) for record in cut_records(document.encode(), steps)]
report([len(lengths), max(lengths)])
"""
    assert run_bounded(program) == [170_000, 47]


def test_nested_matches_are_not_separate_records() -> None:
    assert len(cut(b"<a><a><a/></a><a/></a>", "/a/a")) == 2
    assert [r.content for r in cut(b"<a><a/></a>", "/a")] == [b"<a><a/></a>"]


def test_valid_records_precede_the_error_and_the_rest() -> None:
    one, two, rest = cut(b"<a><b>1</b>\n<b>2</b><b><c></b></a>", "/a/b")
    assert (one.content, two.content) == (b"<b>1</b>", b"<b>2</b>")
    assert isinstance(rest.fault, DocumentError)
    assert rest.fault.code == "xml.end-tag"
    assert rest.fault.where is not None
    # Expat reports the name in the end tag, the native core the tag.
    assert rest.fault.where[:2] == ((28 if native is None else 26), 2)
    assert rest.content == b"<a><b><c></b></a>"
    assert rest.start == 20


@pytest.mark.parametrize("between", ["<!-- -->", "<?p?>", "<!-- --><?p?><!-- -->"])
def test_separate_texts_stay_separate_in_a_rewritten_record(between: str) -> None:
    document = f"<!DOCTYPE a [<!ENTITY e '1'>]><a><b>&e;{between}2<c/>{between}3{between}</b></a>"
    (record,) = cut(document.encode(), "/a/b")
    assert record.content == b"<b>1<!---->2<c></c>3</b>"


def test_a_record_from_an_entity_is_refused() -> None:
    records = cut(b"<!DOCTYPE a [<!ENTITY e '<b/>'>]><a><b>1</b>&e;</a>", "/a/b")
    assert [record.fault and record.fault.code for record in records] == [
        None,
        "records.from-entity",
    ]


def test_only_the_record_that_is_too_long_is_faulty() -> None:
    long, short = cut(b"<a><b>" + b"x" * 100 + b"</b><b/></a>", "/a/b", record_bytes=50)
    assert long.fault is not None
    assert long.fault.code == "limit.record-bytes"
    with pytest.raises(DocumentError):
        read_events(long.content)
    assert short.content == b"<b/>"


def test_input_that_is_not_xml_is_one_faulty_record() -> None:
    for nothing in (b"", b"plain", b'<?xml version="1.0" encoding="no-such"?><a/>'):
        (rest,) = cut(nothing, "/*")
        assert rest.fault is not None
        assert rest.content == nothing


@needs_core
@given(anything, paths(), st.data())
def test_records_equal_the_reference(document: bytes, steps: Steps, data: st.DataObject) -> None:
    chunks = data.draw(xml_strategies.cut(document))
    window = data.draw(st.sampled_from([1, 2, 7, 64, 1 << 16]))
    made = list(cut_records(chunks, steps, limits=Limits(window_bytes=window)))
    cuts, refusal, _, _ = reference.cut(document, steps, Limits(), {}, 1 << 20)
    assert good(made) == [(c.span.start, c.span.end, c.content) for c in cuts]
    assert ([r.fault.code for r in made if r.fault] == []) == (refusal is None)


@needs_core
@given(anything, paths(), st.sampled_from([1, 3, 64, 1 << 16]))
def test_the_rest_has_the_error_of_the_document(document: bytes, steps: Steps, window: int) -> None:
    records = list(cut_records(document, steps, limits=Limits(window_bytes=window)))
    for record in records:
        if record.fault is None:
            read_events(record.content)
        elif record.fault.code != "records.from-entity":
            with pytest.raises(PenstockError):
                read_events(record.content)


@needs_core
@given(anything, paths(levels_min=2), st.integers(0, 5))
def test_cutting_resumes_between_any_two_records(
    document: bytes, steps: Steps, passed: int
) -> None:
    scanner = RecordCutter([document], steps, contents=False)
    batch = scanner.next_batch(len(document) + 1)
    if not batch:
        return
    whole = list(cut_records(document, steps))
    passed = min(passed, len(batch) - 1)
    around = next(ranges for first, ranges in reversed(batch.ancestors) if first <= passed)
    at = CutPoint(batch.ends[passed], passed + 1, (*scanner.prolog(), *around))
    chunks = [*(document[start:end] for start, end in at.prefix), document[at.position :]]
    cutter = RecordCutter(chunks, steps, at=at)
    part = [(b.starts[n], b.ends[n], b.content(n)) for b in cutter.batches() for n in range(len(b))]
    assert part == [(r.start, r.end, r.content) for r in whole[passed + 1 :] if r.fault is None]
    rest, expected = cutter.rest(), whole[-1].fault
    assert (rest and rest.fault and rest.fault.code) == (expected and expected.code)
