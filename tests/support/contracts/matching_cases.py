"""Matching cases: a document, a query, and exactly what the query selects.

The selection is given as bytes of the document, so that a case tests the match, the fragments and
the number of witnesses at once. The name of a case states what it guards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Case:
    """One query on one document."""

    name: str
    document: bytes
    query: str
    selected: tuple[bytes, ...] = ()
    namespaces: Mapping[str, str] = field(default_factory=dict)
    default_namespace: str | None = None


NEWS: Final = (
    b"<news><item lang='en'><price>7</price><p>one</p></item>"
    b"<item lang='fr'><price>12</price><p>two</p><p>three</p></item></news>"
)
SPACED: Final = (
    b"<x:a xmlns:x='urn:x' xmlns='urn:y'><b x:n='1' n='2'/><x:b/><c xmlns=''><b/></c></x:a>"
)
MIXED: Final = b"<a>one<b>two</b>three<!-- cut -->four<?cut?><![CDATA[five]]>six</a>"
ENTITIES: Final = (
    b"<!DOCTYPE a [<!ENTITY t '10'><!ENTITY m 'x<b>1</b>y'>"
    b"<!ATTLIST a lang CDATA 'en'><!ATTLIST b n NMTOKENS ' 1   2 '>]>"
    b"<a><c>&t;</c>&m;<b n=' 3  4 '/></a>"
)
NUMBERS: Final = (
    b"<a><n>10</n><n> 10 </n><n>1e1</n><n>+10</n><n>-1</n><n>.5</n><n>5.</n><n/><n>ten</n></a>"
)
NESTED: Final = b"<a><b><a><b>1</b></a></b><b>2</b></a>"
CATALOGUE: Final = (
    b"<!DOCTYPE catalogue [<!ENTITY amp2 '&#38;#38;'>]><catalogue year='1999'>"
    b"<entry n='1'><head><title kind='main'><b>o</b>ne</title></head></entry>"
    b"<entry n='2'><head><title kind='side'>two</title><title>three</title></head>"
    b"<stock><count>3</count><count>7</count></stock></entry>"
    b"<entry n='3'><head><title><![CDATA[a<]]>b&amp2;c</title></head>"
    b"<stock><count>9</count></stock></entry></catalogue>"
)

LIBRARY: Final = (
    "<l><k d='2018-03-01' p='Ärzte'><t>  The  Storm\n</t><y>7</y><z>9</z><a/><a/></k>"
    "<k d='2017-12-31Z' p='x'><t>calm</t><y>9</y><z>9</z><a/></k>"
    "<k d='soon' p='ΣΑΣ'><y>10</y><z>9</z></k></l>"
).encode()
ONE, TWO, THREE = (b"<k" + each for each in LIBRARY.removesuffix(b"</l>").split(b"<k")[1:])

# fmt: off
CASES: Final = (
    Case("lower case of the first node", LIBRARY, "//k[contains(lower-case(t), 'storm')]", (ONE,)),
    Case("lower case beyond ASCII", LIBRARY, "//k[lower-case(@p) = 'ärzte']", (ONE,)),
    Case("a final sigma", LIBRARY, "//k[lower-case(@p) = 'σας']", (THREE,)),
    Case("upper case", LIBRARY, "//k[upper-case(@p) = 'ÄRZTE']", (ONE,)),
    Case("normalised white space", LIBRARY, "//k[normalize-space(t) = 'The Storm']", (ONE,)),
    Case("a string that is not empty", LIBRARY, "//k[normalize-space(t)]", (ONE, TWO)),
    Case("an empty string without a node", LIBRARY, "//k[normalize-space(t) = '']", (THREE,)),
    Case("translated characters", LIBRARY, "//k[translate(t, 'clm', 'x') = 'xa']", (TWO,)),
    Case("the end of a string", LIBRARY, "//k[ends-with(t, 'lm')]", (TWO,)),
    Case("a pattern", LIBRARY, "//k[matches(t, '^\\s*the\\s+\\w+', 'i')]", (ONE,)),
    Case("a pattern that matches no node", LIBRARY, "//k[matches(t, '^$')]", (THREE,)),
    Case("the length in characters", LIBRARY, "//k[string-length(@p) = 5]", (ONE,)),
    Case("the length of no node", LIBRARY, "//k[string-length(t) < 4]", (THREE,)),
    Case("a number of nodes", LIBRARY, "//k[count(a) >= 2]", (ONE,)),
    Case("no nodes", LIBRARY, "//k[count(.//a) = 0]", (THREE,)),
    Case("not so many nodes", LIBRARY, "//k[not(count(a) > 1)]", (TWO, THREE)),
    Case("two equal paths", LIBRARY, "//k[y = z]", (TWO,)),
    Case("two different paths", LIBRARY, "//k[y != z]", (ONE, THREE)),
    Case("two paths in order", LIBRARY, "//k[y < z]", (ONE,)),
    Case("a node and its own content", LIBRARY, "//t[. = ./text()]",
         (b"<t>  The  Storm\n</t>", b"<t>calm</t>")),
    Case("dates", LIBRARY, "//k[xs:date(@d) >= xs:date('2018-01-01')]", (ONE,)),
    Case("a date with a time zone", LIBRARY, "//k[xs:date(@d) < xs:date('2018-01-01+14:00')]",
         (TWO,)),
    Case("what is no date", LIBRARY, "//k[not(xs:date(@d) < xs:date('2019-01-01'))]", (THREE,)),
    Case("what is no point in time", LIBRARY,
         "//k[xs:dateTime(@d) != xs:dateTime('2018-03-01T00:00:00')]"),
    Case("a relative path starts at the document", NEWS, "news/item/price",
         (b"<price>7</price>", b"<price>12</price>")),
    Case("a path that starts too low", NEWS, "/item"),
    Case("any element", NEWS, "/*/*/p", (b"<p>one</p>", b"<p>two</p>", b"<p>three</p>")),
    Case("the root is a descendant of the document", NESTED, "//a",
         (NESTED, b"<a><b>1</b></a>")),
    Case("a descendant of a descendant is selected once", NESTED, "//b//b", (b"<b>1</b>",)),
    Case("a step may repeat its own name", NESTED, "//a/b//a/b", (b"<b>1</b>",)),
    Case("an attribute", NEWS, "/news/item/@lang", (b"lang='en'", b"lang='fr'")),
    Case("attributes of the context itself", NEWS, "//item//@lang", (b"lang='en'", b"lang='fr'")),
    Case("any attribute", SPACED, "//@*", (b"x:n='1'", b"n='2'")),
    Case("an attribute is equal to a string", NEWS, "//item[@lang = 'fr']/p",
         (b"<p>two</p>", b"<p>three</p>")),
    Case("an attribute that is there is not equal", NEWS, "//item[@lang != 'fr']/p",
         (b"<p>one</p>",)),
    Case("an attribute that is not there is not unequal", NEWS, "//p[@lang != 'fr']"),
    Case("not of a comparison is true where there is nothing", NEWS, "//price[not(@lang = 'fr')]",
         (b"<price>7</price>", b"<price>12</price>")),
    Case("a number", NEWS, "/news/item[price < 10]/p", (b"<p>one</p>",)),
    Case("a string is ordered as a number", NEWS, "/news/item[price < '10']/p", (b"<p>one</p>",)),
    Case("any of several nodes suffices", NEWS, "//item[p = 'three']/price",
         (b"<price>12</price>",)),
    Case("contains looks at the first node alone", NEWS, "//item[contains(p, 'hree')]"),
    Case("contains the empty string, of nothing", NEWS, "//price[contains(p, '')]",
         (b"<price>7</price>", b"<price>12</price>")),
    Case("starts with", NEWS, "//p[starts-with(., 't')]", (b"<p>two</p>", b"<p>three</p>")),
    Case("a nested path exists", NEWS, "//item[p[2]]/@lang", (b"lang='fr'",)),
    Case("a nested descendant", NEWS, "/news[.//p = 'three']/item/@lang",
         (b"lang='en'", b"lang='fr'")),
    Case("a nested path of several steps", CATALOGUE, "//entry[head/title = 'two']/@n",
         (b"n='2'",)),
    Case("any of the nodes at its end suffices", CATALOGUE, "//entry[head/title = 'three']/@n",
         (b"n='2'",)),
    Case("no node at its end", CATALOGUE, "//entry[head/none = 'two']"),
    Case("its steps in another order", CATALOGUE, "//entry[title/head = 'two']"),
    Case("a nested path to an attribute", CATALOGUE, "//entry[head/title/@kind = 'main']/@n",
         (b"n='1'",)),
    Case("a nested path to text", CATALOGUE, "//entry[head/title/text() = 'ne']/@n", (b"n='1'",)),
    Case("a nested path to CDATA and entities", CATALOGUE, "//entry[head/title = 'a<b&c']/@n",
         (b"n='3'",)),
    Case("a nested path through any element", CATALOGUE, "//entry[*/title = 'two']/@n",
         (b"n='2'",)),
    Case("a nested path to any attribute", CATALOGUE, "//entry[head/*/@* = 'side']/@n",
         (b"n='2'",)),
    Case("nested existence", CATALOGUE, "//entry[head/title/b]/@n", (b"n='1'",)),
    Case("nested numbers", CATALOGUE, "//entry[stock/count >= 7]/@n", (b"n='2'", b"n='3'")),
    Case("a nested descendant's attribute, the element's own included", CATALOGUE,
         "/*/*[.//@n = '1']/@n", (b"n='1'",)),
    Case("a nested descendant's child", CATALOGUE, "/catalogue[.//title/b = 'o']/@year",
         (b"year='1999'",)),
    Case("two conditions on one nested element", CATALOGUE,
         "//entry[head/title[@kind = 'side'] = 'two']/@n", (b"n='2'",)),
    Case("two conditions on two nested elements", CATALOGUE,
         "//entry[head/title[@kind = 'side'] = 'three']/@n"),
    Case("either of two nested conditions", CATALOGUE,
         "//entry[head/title = 'one' or stock/count = 9]/@n", (b"n='1'", b"n='3'")),
    Case("or within a nested element", CATALOGUE, "//entry[head/title[@kind = 'side' or b]]/@n",
         (b"n='1'", b"n='2'")),
    Case("values of elements nested in their own kind", NESTED, "//a[b/a/b = '1']", (NESTED,)),
    Case("values of descendants nested in their own kind", NESTED, "//b[.//b = '1']",
         (b"<b><a><b>1</b></a></b>",)),
    Case("a nested path in namespaces", SPACED, "/p:a[c/b]", (SPACED,), {"p": "urn:x"}),
    Case("a nested path by namespace alone", SPACED, "/*[q:*/@p:n = 1]", (SPACED,),
         {"p": "urn:x", "q": "urn:y"}),
    Case("a position counts the children of one parent", NEWS, "//p[1]",
         (b"<p>one</p>", b"<p>two</p>")),
    Case("the last", NEWS, "//p[last()]", (b"<p>one</p>", b"<p>three</p>")),
    Case("all but the last", NEWS, "//p[position() < last()]", (b"<p>two</p>",)),
    Case("how many there are", NEWS, "//p[last() = 1]", (b"<p>one</p>",)),
    Case("a position after a condition counts what is left", NEWS, "//item[p = 'two'][1]/@lang",
         (b"lang='fr'",)),
    Case("a condition after a position does not", NEWS, "//item[1][p = 'two']/@lang"),
    Case("a position that is not an integer", NEWS, "//p[1.5]"),
    Case("and, or, not", NEWS, "//item[p = 'one' and price = 7 or not(p)]/@lang", (b"lang='en'",)),
    Case("a union in document order, each node once", NEWS, "//p[1] | //price | //p",
         (b"<price>7</price>", b"<p>one</p>", b"<price>12</price>", b"<p>two</p>",
          b"<p>three</p>")),
    Case("no prefix is no namespace", SPACED, "//b", (b"<b/>",)),
    Case("a default namespace of the query", SPACED, "//b", (b"<b x:n='1' n='2'/>",),
         default_namespace="urn:y"),
    Case("a default namespace is not for attributes", SPACED, "//@n", (b"n='2'",),
         default_namespace="urn:y"),
    Case("prefixes of query and document are independent", SPACED, "/p:a/q:b/@p:n", (b"x:n='1'",),
         {"p": "urn:x", "q": "urn:y"}),
    Case("any name of a namespace", SPACED, "//p:*", (SPACED, b"<x:b/>"), {"p": "urn:x"}),
    Case("a name of any namespace", SPACED, "//*:b",
         (b"<b x:n='1' n='2'/>", b"<x:b/>", b"<b/>")),
    Case("a name of any namespace counts what has that name", SPACED, "/*/*:b[2]", (b"<x:b/>",)),
    Case("an attribute of any namespace", SPACED, "//@*:n", (b"x:n='1'", b"n='2'")),
    Case("the prefix xml needs no declaration", b"<a xml:lang='en'/>", "/a[@xml:lang = 'en']",
         (b"<a xml:lang='en'/>",)),
    Case("a namespace that is not a URI", b"<a xmlns='any thing {at} all'/>", "/p:a",
         (b"<a xmlns='any thing {at} all'/>",), {"p": "any thing {at} all"}),
    Case("a string-value is all text below", MIXED, "/a[. = 'onetwothreefourfivesix']", (MIXED,)),
    Case("text() is a node each", MIXED, "/a[text() = 'three']", (MIXED,)),
    Case("a comment ends a text node", MIXED, "/a/text()[3]", (b"four",)),
    Case("an instruction does too, and CDATA does not", MIXED, "/a/text()[4]",
         (b"<![CDATA[five]]>six",)),
    Case("text of the context and below", MIXED, "//b//text()", (b"two",)),
    Case("an empty CDATA section is no text", b"<a><![CDATA[]]></a>", "//text()"),
    Case("white space is text", b"<a> <b/></a>", "/a/text()", (b" ",)),
    Case("an entity's text", ENTITIES, "/a[c = 10]/c", (b"<c>&t;</c>",)),
    Case("an element out of an entity", ENTITIES, "/a/b[. = '1']", (b"&m;",)),
    Case("a default attribute", ENTITIES, "/*[@lang = 'en']/c", (b"<c>&t;</c>",)),
    Case("a tokenised attribute", ENTITIES, "//b[@n = '3 4']", (b"<b n=' 3  4 '/>",)),
    Case("a tokenised default", ENTITIES, "//b[@n = '1 2']", (b"&m;",)),
    Case("white space around a number is ignored", NUMBERS, "//n[. = 10]",
         (b"<n>10</n>", b"<n> 10 </n>")),
    Case("a number may lack a side of its point", NUMBERS, "//n[. > 0][. < 10]",
         (b"<n>.5</n>", b"<n>5.</n>")),
    Case("a negative number", NUMBERS, "//n[. < 0]", (b"<n>-1</n>",)),
    Case("a text that is not a number differs from every number", NUMBERS,
         "//n[. != 10][. != 5][. != .5][. != -1]",
         (b"<n>1e1</n>", b"<n>+10</n>", b"<n/>", b"<n>ten</n>")),
    Case("a number that must be rounded once", b"<a>8.40130</a>", "/a[. = 8.4013]",
         (b"<a>8.40130</a>",)),
    Case("text compares as text", NUMBERS, "//n[. = '10']", (b"<n>10</n>",)),
    Case("references in a value", b"<a n='1&#48;&lt;'/>", "/a[@n = '10<']",
         (b"<a n='1&#48;&lt;'/>",)),
    Case("white space in a value is spaces", b"<a n='x\n\ty&#10;'/>", "/a[starts-with(@n, 'x  y')]",
         (b"<a n='x\n\ty&#10;'/>",)),
    Case("line ends are one character", b"<a>x\r\ny\rz</a>", "/a[. = 'x\ny\nz']",
         (b"<a>x\r\ny\rz</a>",)),
    Case("UTF-16", "<?xml version='1.0'?><a>é</a>".encode("utf-16"), "/a[. = 'é']",
         ("<a>é</a>".encode("utf-16-le"),)),
    Case("ISO-8859-1", "<?xml version='1.0' encoding='iso-8859-1'?><a>é</a>".encode("latin-1"),
         "/a[. = 'é']", ("<a>é</a>".encode("latin-1"),)),
    Case("a character beyond the first plane", "<a>\U0001f600</a>".encode(), "/a[. = '\U0001f600']",
         ("<a>\U0001f600</a>".encode(),)),
)
# fmt: on
