"""Every error code of the reader is raised at the correct position."""

from __future__ import annotations

import pickle

import pytest

from penstock.documents import Limits, read_events
from penstock.documents.reference import reader as reference
from penstock.errors import ERRORS, DocumentError
from penstock.native import native

LAUGHS = (
    b"<!DOCTYPE a [<!ENTITY a0 'ha'>"
    + b"".join(b"<!ENTITY a%d '%s'>" % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 10))
    + b"]><a>&a9;</a>"
)
QUADRATIC = b"<!DOCTYPE a [<!ENTITY e '" + b"x" * 100_000 + b"'>]><a>" + b"&e;" * 2_000 + b"</a>"
STANDALONE = (
    b"<?xml version='1.0' standalone='%s'?>"
    b"<!DOCTYPE a [<!ENTITY %% p \"<!ENTITY e 'x'>\">%%p;]><a>&e;</a>"
)

# A document, the code, and the text before the error, or several alternatives.
REFUSED = [
    (b"<a>\x01</a>", "xml.character", b"<a>"),
    (b"<a b='\xef\xbf\xbf'/>", "xml.character", b"<a b='"),
    (b"<a>&#0;</a>", "xml.character", b"<a>"),
    (b"<a>&#xD800;</a>", "xml.character", b"<a>"),
    (b"<1/>", "xml.name", b"<"),
    (b"<a><!-x></a>", "xml.tag", b"<a>"),
    (b"<a><!DOCTYPE a></a>", "xml.tag", b"<a>"),
    (b"<a b=1/>", "xml.attribute", b"<a "),
    (b"<a b/>", "xml.attribute", b"<a "),
    (b"<a b='1'c='2'/>", "xml.attribute", b"<a b='1'"),
    (b"<a b='<'/>", "xml.attribute", b"<a b='"),
    (b"<a b='1' c='' b='2'/>", "xml.attribute-twice", b"<a b='1' c='' "),
    (b"<a><b></a></b>", "xml.end-tag", b"<a><b>"),
    (b"<a><b></b", "xml.unclosed", b"<a><b>"),
    (b"<a>text", "xml.unclosed", b"<a>text"),
    (b"<a><![CDATA[x]]", "xml.unclosed", b"<a><![CDATA[x]]"),
    (b"", "xml.root", b""),
    (b"<a/><b/>", "xml.root", b"<a/>"),
    (b"<a/>text", "xml.root", b"<a/>"),
    (b"</a>", "xml.root", b""),
    (b"<![CDATA[x]]><a/>", "xml.root", b""),
    (b"<a>x]]></a>", "xml.text", b"<a>x"),
    (b"<a><!-- - -- --></a>", "xml.comment", b"<a><!-- - "),
    (b"<a><!-- ---></a>", "xml.comment", b"<a><!-- "),
    (b"<a><?XML x?></a>", "xml.instruction", b"<a><?"),
    (b"<a><?xml version='1.0'?></a>", "xml.declaration", b"<a><?"),
    (b" <?xml version='1.0'?><a/>", "xml.declaration", b" <?"),
    (b"<?xml version='2.0'?><a/>", "xml.declaration", None),
    (b"<a>x & y</a>", "xml.reference", b"<a>x "),
    (b"<a>&b</a>", "xml.reference", b"<a>"),
    (b"<!DOCTYPE a [<!ELEMENT b>]><a/>", "xml.doctype", None),
    (b"<!DOCTYPE a [<![INCLUDE[]]>]><a/>", "xml.doctype", b"<!DOCTYPE a ["),
    (b"<?xml version='1.0' encoding='klingon'?><a/>", "encoding.unknown", b""),
    (b"\0\0\0<\0\0\0a", "encoding.unknown", b""),
    (b"<a>\xff</a>", "encoding.bytes", b"<a>"),
    (b"<?xml version='1.0' encoding='us-ascii'?><a>\xe9</a>", "encoding.bytes", None),
    (b"\xff\xfe<\0a\0/\0>", "encoding.bytes", None),
    (b"\xef\xbb\xbf<?xml version='1.0' encoding='iso-8859-1'?><a/>", "encoding.mismatch", None),
    (b"<?xml version='1.0' encoding='utf-16'?><a/>", "encoding.mismatch", None),
    (b"<a>&b;</a>", "entity.undeclared", b"<a>"),
    (b"<!DOCTYPE a SYSTEM 'a.dtd'><a>&b;</a>", "entity.undeclared", None),
    (STANDALONE % b"yes", "entity.undeclared", STANDALONE[: -len(b"&e;</a>")] % b"yes"),
    (b"<!DOCTYPE a [<!ENTITY b SYSTEM 'b'>]><a>&b;</a>", "entity.external", None),
    (b"<!DOCTYPE a [<!ENTITY b SYSTEM 'b'>]><a c='&b;'/>", "entity.external", None),
    (b"<!DOCTYPE a [<!ENTITY b SYSTEM 'b' NDATA n>]><a>&b;</a>", "entity.unparsed", None),
    (b"<!DOCTYPE a [<!ENTITY b '&c;'><!ENTITY c '&b;'>]><a>&b;</a>", "entity.recursive", None),
    (b"<!DOCTYPE a [<!ENTITY b '<c>'>]><a>&b;</c></a>", "entity.unbalanced", None),
    (b"<!DOCTYPE a [<!ENTITY b '</a><a>'>]><a>&b;</a>", "entity.unbalanced", None),
    (b"<p:a/>", "namespace.prefix", b"<"),
    (b"<a p:b=''/>", "namespace.prefix", b"<a "),
    (b"<a xmlns:xml='urn:x'/>", "namespace.reserved", b"<a "),
    (b"<a xmlns:x='http://www.w3.org/2000/xmlns/'/>", "namespace.reserved", b"<a "),
    (b"<xmlns:a/>", "namespace.reserved", b"<"),
    (b"<a:b:c/>", "namespace.colon", b"<"),
    (b"<:a/>", "namespace.colon", b"<"),
    (b"<a><?p:q?></a>", "namespace.colon", None),
    (b"<a xmlns:p=''/>", "namespace.empty", b"<a "),
    (b"<a xmlns:p='u' xmlns:q='u' p:b='' q:b=''/>", "namespace.attribute-twice", None),
    (LAUGHS, "limit.entity-amplification", None),
    (QUADRATIC, "limit.entity-bytes", None),
]

LIMITED = [
    (b"<a>123</a>", Limits(document_bytes=9), "limit.document-bytes"),
    (b"<a><b><c/></b></a>", Limits(depth=2), "limit.depth"),
    (b"<a b='' c=''/>", Limits(attributes=1), "limit.attributes"),
    (b"<abc/>", Limits(name_bytes=2), "limit.name-bytes"),
    (b"<a b='123'/>", Limits(value_bytes=2), "limit.value-bytes"),
    (b"<a b='123'/>", Limits(tag_bytes=11), "limit.tag-bytes"),
    (
        b"<?xml version='1.0' ?><a/>",
        Limits(xml_declaration_bytes=21),
        "limit.xml-declaration-bytes",
    ),
    (b"<!DOCTYPE a []><a/>", Limits(doctype_bytes=14), "limit.doctype-bytes"),
    *(
        (b"<!DOCTYPE a [%s]><a/>" % twice, Limits(declarations=1), "limit.declarations")
        for twice in (
            b"<!ATTLIST a b ID #IMPLIED c ID #IMPLIED>",
            b"<!ATTLIST a b ID #IMPLIED><!ENTITY e ''>",
            b"<!ELEMENT a ANY><!NOTATION n SYSTEM ''>",
            b"<!ENTITY % p '<!ELEMENT a ANY>'>%p;",
        )
    ),
    (
        b"<!DOCTYPE a [<!ATTLIST a b CDATA '' c CDATA ''>]><a c=''/>",
        Limits(attributes=1),
        "limit.attributes",
    ),
    (
        b"<!DOCTYPE a [<!ATTLIST b c CDATA ''>]><a>" + b"<b/>" * 10_000 + b"</a>",
        Limits(entity_bytes=49_999),
        "limit.entity-bytes",
    ),
    (
        b"<!DOCTYPE a [<!ATTLIST b c CDATA '' d CDATA ''>]><a>" + b"<b/>" * 60_000 + b"</a>",
        Limits(entity_amplification=1),
        "limit.entity-amplification",
    ),
    (b"<!DOCTYPE a [<!ENTITY e '123'>]><a>&e;</a>", Limits(entity_bytes=2), "limit.entity-bytes"),
    (
        b"<!DOCTYPE a [<!ENTITY e '&f;'><!ENTITY f ''>]><a>&e;</a>",
        Limits(entity_depth=1),
        "limit.entity-depth",
    ),
    (
        b"<!DOCTYPE a [<!ENTITY e '" + b"x" * 60_000 + b"'>]><a>&e;&e;&e;</a>",
        Limits(entity_amplification=1),
        "limit.entity-amplification",
    ),
    (b"<a><b1/><b2/></a>", Limits(names_bytes=500), "limit.names-bytes"),
    (
        b"<a xmlns='u'><b xmlns='v' xmlns:p='u'><c xmlns:q='u'/></b></a>",
        Limits(namespaces=2),
        "limit.namespaces",
    ),
]


def refusal(document: bytes, limits: Limits | None = None) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        read_events(document, limits=limits)
    return caught.value


@pytest.mark.skipif(native is None, reason="the reference has fewer codes")
@pytest.mark.parametrize(("document", "code", "before"), REFUSED)
def test_errors_have_codes_and_positions(document: bytes, code: str, before: bytes | None) -> None:
    refused = refusal(document)
    assert refused.code == code, refused
    assert refused.where is not None
    if before is not None:
        assert refused.where.offset == len(before)


@pytest.mark.skipif(native is None, reason="the reference has fewer codes")
@pytest.mark.parametrize(("document", "limits", "code"), LIMITED)
def test_every_limit_is_enforced(document: bytes, limits: Limits, code: str) -> None:
    assert refusal(document, limits).code == code
    read_events(document)


def test_declarations_are_refused_on_request() -> None:
    document = b"<!DOCTYPE a><a/>"
    assert read_events(document)
    with pytest.raises(DocumentError) as caught:
        read_events(document, declarations="refuse")
    assert caught.value.code == "entity.doctype-refused"


@pytest.mark.skipif(native is None, reason="there is no native core")
def test_every_reader_code_is_in_the_table_and_raised_here() -> None:
    raised = {code for _, code, _ in REFUSED} | {code for _, _, code in LIMITED}
    assert set(native.reader_codes()) == raised | {"entity.doctype-refused"}
    assert all(ERRORS[code].cls is DocumentError for code in native.reader_codes())


def test_lines_and_columns_count_characters_and_offsets_bytes() -> None:
    refused = refusal("<a>é\r\né\ré\n日é&x;</a>".encode("utf-16"))
    assert refused.where is not None
    assert (refused.where.line, refused.where.column) == (4, 3)
    assert refused.where.offset == 2 + 2 * len("<a>é\r\né\ré\n日é")
    assert refused.hint


DEEP = [f"e{number}" for number in range(40)]
PATHS = [
    (b"<a><b>text", "/a/b"),
    (b"<a><b/><p:c xmlns:p='u'><d></p:c></a>", "/a/p:c/d"),
    (b"<a><b></b><c><d x='1' x='2'/></c></a>", "/a/c"),  # its start tag is not complete
    (b"<a><b/>&missing;</a>", "/a"),
    (b"<a><b><p:c/></b></a>", "/a/b"),
    (b"<!DOCTYPE a [<!ENTITY e '<b><c></b>'>]><a>&e;</a>", "/a/b/c"),
    (b"<1/>", None),
    (b"<a/><b/>", None),
    (
        "".join(f"<{name}>" for name in DEEP).encode(),
        f"/{'/'.join([*DEEP[:16], '…', *DEEP[-16:]])}",
    ),
]


@pytest.mark.parametrize(("document", "path"), PATHS)
def test_an_error_names_the_open_elements(document: bytes, path: str | None) -> None:
    for read in (read_events, lambda content: reference.read(content, Limits(), {}, False)):
        with pytest.raises(DocumentError) as refused:
            read(document)
        assert refused.value.path == path
    with pytest.raises(DocumentError) as refused:
        read_events([bytes([byte]) for byte in document], limits=Limits(window_bytes=1))
    assert refused.value.path == path
    assert pickle.loads(pickle.dumps(refused.value)).path == path
