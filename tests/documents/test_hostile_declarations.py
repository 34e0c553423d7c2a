"""Declarations cost linear time and count against the limits, in both readers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.documents import Limits, read_summary
from penstock.documents.reference import reader as reference
from penstock.errors import DocumentError
from penstock.native import native
from support.fixtures.bounded_process import run_bounded
from support.fixtures.memory import measures_memory, run_and_measure

Read = Callable[[bytes, Limits], object]

READERS: dict[str, Read] = {
    "reference": lambda document, limits: reference.read(document, limits, {}, False),
}
if native is not None:
    READERS["native"] = lambda document, limits: read_summary(document, limits=limits)


@pytest.fixture(params=READERS)
def read(request: pytest.FixtureRequest) -> Read:
    return READERS[request.param]


def code_of(read: Read, document: bytes, limits: Limits | None = None) -> str | None:
    try:
        read(document, limits or Limits())
    except DocumentError as refusal:
        return refusal.code
    return None


def attributes(count: int, declared: str) -> str:
    return " ".join(f"a{n} {declared}" for n in range(count))


def with_subset(subset: str, content: str = "") -> bytes:
    return f"<!DOCTYPE r [{subset}]><r>{content}</r>".encode()


def test_defaults_count_as_attributes(read: Read) -> None:
    defaults = with_subset(f"<!ATTLIST a {attributes(1_001, 'ID #IMPLIED')}>", "<a/>")
    assert code_of(read, defaults) is None
    defaults = with_subset(f"<!ATTLIST a {attributes(1_001, 'CDATA ' + repr(''))}>", "<a/>")
    assert code_of(read, defaults) == "limit.attributes"
    given = with_subset("<!ATTLIST a b CDATA '' c CDATA ''>", "<a b='' c=''/>")
    assert code_of(read, given, Limits(attributes=2)) is None
    one_more = with_subset("<!ATTLIST a b CDATA '' c CDATA ''>", "<a b='' d=''/>")
    assert code_of(read, one_more, Limits(attributes=2)) == "limit.attributes"


def test_empty_defaults_count_as_expansions(read: Read) -> None:
    declared = f"<!ATTLIST a {attributes(999, 'CDATA ' + repr(''))}>"
    assert code_of(read, with_subset(declared, "<a/>" * 10)) is None
    assert code_of(read, with_subset(declared, "<a/>" * 1_000)) == "limit.entity-amplification"


def test_namespaces_declared_by_default_count_as_expansions(read: Read) -> None:
    declared = " ".join(f"xmlns:p{n} CDATA 'u{n}'" for n in range(900))
    document = with_subset(f"<!ATTLIST a {declared}>", "<a/>" * 1_000)
    assert code_of(read, document) == "limit.entity-amplification"


@pytest.mark.parametrize(
    "subset",
    [
        f"<!ATTLIST a {attributes(20_001, 'ID #IMPLIED')}>",
        "".join(f"<!ATTLIST a b{n} ID #IMPLIED>" for n in range(20_001)),
        "".join(f"<!ENTITY e{n} ''>" for n in range(20_001)),
        "".join(f"<!ELEMENT e{n} ANY>" for n in range(20_001)),
    ],
    ids=["attributes", "lists", "entities", "elements"],
)
def test_the_number_of_declarations_is_limited(read: Read, subset: str) -> None:
    assert code_of(read, with_subset(subset)) == "limit.declarations"


@pytest.mark.skipif(native is None, reason="the reference is not fast")
def test_many_declarations_do_not_slow_down_many_elements() -> None:
    program = """
from penstock.documents import Limits, read_summary

declared = " ".join(f"a{n} ID #IMPLIED" for n in range(50_000))
given = " ".join(f"a{n}=''" for n in range(49_000, 50_000))
document = f"<!DOCTYPE r [<!ATTLIST a {declared}>]><r>" + "<a/>" * 200_000 + f"<a {given}/>" * 200
report(read_summary((document + "</r>").encode(), limits=Limits(declarations=50_000)).attributes)
"""
    assert run_bounded(program) == 200_000


def test_the_reference_looks_up_declarations_by_element() -> None:
    program = """
from penstock.documents import Limits
from penstock.documents.reference import reader

declared = " ".join(f"a{n} ID #IMPLIED" for n in range(10_000))
document = f"<!DOCTYPE r [<!ATTLIST a {declared}>]><r>" + "<a/>" * 50_000 + "</r>"
report(len(reader.read(document.encode(), Limits(), {}, False).events))
"""
    assert run_bounded(program) == 2 * 50_001


def test_redeclared_namespaces_are_stored_once(read: Read) -> None:
    elements = 50_000 if read is READERS["reference"] else 200_000
    document = b"<r>" + b"<a xmlns='urn:a'/>" * elements + b"</r>"
    assert code_of(read, document) is None


def test_a_standalone_document_hides_entities_declared_in_parameter_entities(read: Read) -> None:
    subset = "<!ENTITY % p \"<!ENTITY e 'x'><!ATTLIST b c CDATA '&e;'>\">%p;<!ENTITY f '&e;'>"
    for content in ("&e;", "&f;", "<a c='&e;'/>"):
        document = with_subset(subset, content)
        assert code_of(read, document) is None
        assert code_of(read, b"<?xml version='1.0' standalone='no'?>" + document) is None
        standalone = b"<?xml version='1.0' standalone='yes'?>" + document
        assert code_of(read, standalone) == "entity.undeclared"
    # The reference to the entity inside the parameter entity is allowed.
    standalone = b"<?xml version='1.0' standalone='yes'?>" + with_subset(subset, "<b/>")
    assert code_of(read, standalone) is None


def test_the_length_of_the_xml_declaration_is_limited(read: Read) -> None:
    for spaces in (1_024, 5_000_000):
        for end in ("?><a/>", "", "x"):
            document = f"<?xml version='1.0'{' ' * spaces}{end}".encode()
            with pytest.raises(DocumentError) as caught:
                read(document, Limits())
            assert caught.value.code == "limit.xml-declaration-bytes"
            assert caught.value.where == (0, 1, 1)
    longest = "<?xml version='1.0'" + " " * (1_024 - len("<?xml version='1.0'?>")) + "?><a/>"
    assert code_of(read, longest.encode()) is None
    assert code_of(read, longest.encode("utf-16")) is None


@measures_memory[0]
@measures_memory[1]
def test_a_long_xml_declaration_is_not_buffered() -> None:
    program = """
from penstock.documents import read_summary
from penstock.errors import DocumentError

before = memory_peak()
try:
    read_summary(repeated(**given))
except DocumentError as refusal:
    report(growth=memory_peak() - before, code=refusal.code)
"""
    found = run_and_measure(program, begin="<?xml ", repeat=" ", end="?><a/>", size=100 << 20)
    assert found["code"] == "limit.xml-declaration-bytes"
    assert found["growth"] < 8 << 20
