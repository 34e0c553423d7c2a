"""Seed inputs of the native fuzz targets, in the format that each target describes."""

from __future__ import annotations

from typing import Final

from penstock.sync import DocumentTree, SyncSubscription

_SIZES: Final = b"\x06\x10"
"""Chunk and window size of the targets that read documents."""

_DOCUMENTS: Final = (
    b"<a/>",
    b"<r><e x='1'>one</e><e>two<f/></e></r>",
    b"<?xml version='1.0' encoding='ISO-8859-1'?><r>\xe9</r>",
    b"<r xmlns='urn:p' xmlns:q='urn:q'><q:e q:k='v' k='w'/><e xmlns=''/></r>",
    b"<r>a&lt;b&#65;&#x1F600;<![CDATA[<&]]><!-- c --><?p i?>&known;</r>",
    "<r>\u00e9\u4e2d\U0001f600<\u00e9l\u00e9ment/></r>".encode(),
    "<?xml version='1.0' encoding='utf-16'?><r>\u00e9</r>".encode("utf-16"),
    b"<!DOCTYPE r [<!ENTITY a '<e>&b;</e>'><!ENTITY b 'x'>"
    b"<!ATTLIST e k CDATA 'd' l NMTOKENS ' a  b '>]><r>&a;<e/></r>",
    b"<r><a><b><c k='1'>one</c></b></a>\r\n\t<a><b/></a></r>",
)

_SUBSETS: Final = (
    b"<!ENTITY a 'x'><!ENTITY b '&a;&a;'>",
    b"<!ENTITY a '<e k=\"1\">t</e>'><!ATTLIST e k CDATA 'd' m ID #IMPLIED>",
    b"<!ELEMENT r (e*)><!ELEMENT e (#PCDATA|f)*><!ELEMENT f EMPTY>\x00<e/>",
    b"<!ENTITY % p \"<!ENTITY a 'x'>\">%p;\x00&a;",
    b"<!NOTATION n SYSTEM 'n'><!ENTITY b SYSTEM 'b' NDATA n><!ENTITY a 'z'>\x00&a;",
    b"<!ATTLIST e xmlns CDATA #FIXED 'urn:p' xmlns:q CDATA 'urn:q' q:k (a|b) 'a'>\x00<e q:k='b'/>",
    b"<!-- c --><?p i?><!ELEMENT r ANY><!ATTLIST r l NMTOKENS ' a  b '>\x00",
)

_QUERIES: Final = (
    "/a/b[@k='1']",
    "//p:b[c>1]/q:*",
    "//*[.//b[@k=3]]//text()",
    "/a[not(b or c) and contains(d, 'x')]",
    "//a[starts-with(., 'x')][position()<last()]/@*",
    "a/b[2] | //c[last()] | /d//*:e",
    '//a[b="x" and (c or @d)][-1.5 <= e]',
    "//a[. != 'it''s']",
    "//a[count(b) > 1][string-length(.) < 9]",
    "//b[normalize-space(.) = 'one'] | //b[lower-case(c) = 'x']",
    "//a[translate(b, 'ON', 'on') = 'one'][ends-with(., 'x')]",
    "//b[matches(@k, '^[0-9]+$')][matches(., 'o.*e', 'i')]",
    "//a[b = c/d][b/@k < c]",
    "//*[xs:date(@d) >= xs:date('2020-01-31')]",
    "//*[xs:dateTime(.) < xs:dateTime('2020-01-31T10:00:00Z')]",
)

_KEYWORD_QUERIES: Final = (
    "one two",
    "one OR two OR three",
    "Stra\u00dfe \u00c9t\u00e9 \ufb01n",
    "can't e.g. 3.14 \u4e2d\u6587 \u0e44\u0e17\u0e22",
    "news-item a_b \U0001f600 \u0041\u0301",
    '"one two" AND "two\tone"',
    '"x-1" OR \u201c\u4e2d\u6587\u201d OR three',
)

_MATCHED: Final = (
    b"<a k='1'><b k='3'>one</b><b><c>2</c><d>x</d></b></a>",
    b"<a xmlns='urn:p'><b>one<q:c xmlns:q='urn:q' d='two'/>two</b><b/></a>",
    b"<a><a><a><b k='3'/>x</a></a><c>one two</c><c/></a>",
    b"<a><b k='2' d='2020-02-01'> One </b><c><d>2020-01-30T00:00:00+02:00</d></c></a>",
)

_MAPPINGS: Final = (
    bytes([3, 0, 1, 1, 1, 1, 0, 2, 1]) + bytes([2] * 20),
    bytes([5, 0, 1, 1, 1, 0, 2, 1, 1, 3, 1]) + bytes([1, 9, 2, 5, 7] * 6),
    bytes([9, 0, 1, 1, 3, 5, 9, 7] * 8),
)


def _queries_with(documents: tuple[bytes, ...], *queries: str) -> list[bytes]:
    lines = "\n".join(queries).encode()
    return [lines + b"\n\n" + document for document in documents]


def _tree_patches() -> list[bytes]:
    """A snapshot, and patches between two versions, of the document that the target reads."""
    tree = DocumentTree.read(b"<?p d?><a k='v'>x<b xmlns:p='urn:p'><p:c/></b><!--n--></a>")
    found = [tree.snapshot()]
    everything = SyncSubscription("/*").compiled
    before = tree.view(everything)
    tree.set_version(1)
    tree.set_value("0.3", "y")
    tree.delete("0.4")
    found.append(tree.patch(before, tree.view(everything), since=0) or b"")
    found.append(tree.patch(tree.empty_view(), tree.view(everything), since=1) or b"")
    return found


def seed_inputs() -> dict[str, list[bytes]]:
    """The seeds by target."""
    mapped = tuple(mapping + b"\0" + document for mapping in _MAPPINGS for document in _MATCHED)
    # Lists of changes: kind, position, value; the first byte selects the file.
    changes = [bytes([kind, 40 * kind, kind, 0, 0, 1, 0, 0, 0]) for kind in range(6)]
    return {
        "documents": [_SIZES + document for document in _DOCUMENTS],
        "doctypes": [_SIZES + subset for subset in _SUBSETS],
        "records": [
            _SIZES + bytes([path]) + document for document in _DOCUMENTS for path in range(2)
        ],
        "queries": [query.encode() for query in _QUERIES],
        "path_matching": _queries_with((*_MATCHED, *_DOCUMENTS), *_QUERIES),
        "keyword_queries": [query.encode() for query in _KEYWORD_QUERIES],
        "keyword_matching": _queries_with((*_MATCHED, *_DOCUMENTS), *_KEYWORD_QUERIES),
        "mapping": _queries_with(mapped, *_QUERIES),
        "index_files": [
            bytes([kind]) + change
            for change in [*changes, b"".join(changes) * 2]
            for kind in range(2)
        ],
        "tree_patches": _tree_patches(),
    }
