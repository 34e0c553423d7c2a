"""DTDs are read according to XML, within limits; errors have positions."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import pytest

from penstock.errors import SchemaError
from penstock.lab.built_in_schemas import schema_text
from penstock.language.relations.path_universe import Occurs
from penstock.schema import DTD_LIMITS, DtdLimits, SchemaGraph
from penstock.schema.content_model import (
    AnyContent,
    Attribute,
    Child,
    Children,
    Choice,
    Default,
    Empty,
    Indicator,
    Mixed,
    Sequence,
)

SCRAPS = ["%common;", "<!ELEMENT ", "<![IGNORE[", "]]>", "<!--", "(", ")*", "|", "'", "%", "&#37;"]
LEAVES = "<!ELEMENT b EMPTY><!ELEMENT c EMPTY><!ELEMENT d EMPTY>"


def read(text: str, limits: DtdLimits = DTD_LIMITS) -> SchemaGraph:
    return SchemaGraph.from_dtd(text, roots=["a"], limits=limits)


def refusal(text: str, limits: DtdLimits = DTD_LIMITS) -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        read(text, limits)
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("model", "content"),
    [
        ("EMPTY", Empty()),
        ("ANY", AnyContent()),
        ("(#PCDATA)", Mixed()),
        ("( #PCDATA )*", Mixed()),
        ("(#PCDATA | b|c )*", Mixed(("b", "c"))),
        ("(b)", Children(Sequence((Child("b"),)))),
        ("(b?, c*, d+)", Children(Sequence((
            Child("b", Indicator.OPTIONAL),
            Child("c", Indicator.ANY),
            Child("d", Indicator.SOME),
        )))),
        ("(b | (c, d)+)*", Children(Choice((
            Child("b"),
            Sequence((Child("c"), Child("d")), Indicator.SOME),
        ), Indicator.ANY))),
    ],
)  # fmt: skip
def test_content_models_are_parsed_to_trees(model: str, content: object) -> None:
    assert read(f"<!ELEMENT a {model}>{LEAVES}").elements["a"].content == content


@pytest.mark.parametrize(
    ("model", "child", "required", "many"),
    [
        ("(b)", "b", True, False),
        ("(b?)", "b", False, False),
        ("(b*)", "b", False, True),
        ("(b+)", "b", True, True),
        ("(b)+", "b", True, True),
        ("(b)?", "b", False, False),
        ("(b, c, b)", "b", True, True),
        ("(b?, c, b?)", "b", False, True),
        ("(b | c)", "b", False, False),
        ("(b | (c, b))", "b", True, False),
        ("(b | (c, b)*)", "b", False, True),
        ("((b, c) | (b, d))", "b", True, False),
        ("((b, c) | (b, d))+", "c", False, True),
        ("(#PCDATA | b)*", "b", False, True),
        ("ANY", "b", False, True),
    ],
)
def test_cardinality_of_a_child(model: str, child: str, required: bool, many: bool) -> None:
    schema = read(f"<!ELEMENT a {model}>{LEAVES}")
    assert schema.elements["a"].children[child] == Occurs(required=required, many=many)


def test_attributes_are_read_with_type_default_and_values() -> None:
    schema = read("""
        <!ELEMENT a EMPTY>
        <!ATTLIST a id ID #REQUIRED
                    lang (en | de | fr) "en"
                    note CDATA #IMPLIED
                    version NMTOKEN #FIXED '1.0'
                    quoted CDATA "&lt;&#65;&#x42;&quot;"
                    id CDATA #IMPLIED>
        <!NOTATION gif PUBLIC "gif viewer">
        <!ATTLIST a kind NOTATION (gif) #IMPLIED>""")
    assert list(schema.elements["a"].attributes.values()) == [
        Attribute("id", "ID", Default.REQUIRED),
        Attribute("lang", "enumeration", Default.VALUE, "en", ("en", "de", "fr")),
        Attribute("note", "CDATA", Default.IMPLIED),
        Attribute("version", "NMTOKEN", Default.FIXED, "1.0"),
        Attribute("quoted", "CDATA", Default.VALUE, '<AB"'),
        Attribute("kind", "NOTATION", Default.IMPLIED, None, ("gif",)),
    ]


def test_parameter_entities_may_occur_anywhere() -> None:
    schema = read(f"""
        <!ENTITY % leaf "c | d">
        <!ENTITY % leaves 'b | %leaf;'>
        <!ENTITY % leaf "never: the first declaration binds">
        <!ENTITY % common "id ID #REQUIRED">
        <!ENTITY % declaration "<!ELEMENT a (%leaves;)*>">
        %declaration;
        <!ATTLIST a %common;>
        {LEAVES}""")
    assert list(schema.elements["a"].children) == ["b", "c", "d"]
    assert "id" in schema.elements["a"].attributes


def test_an_escaped_parameter_entity_is_unfolded_where_it_is_used() -> None:
    # The example of XML's appendix D, for a declaration.
    schema = read("""
        <!ENTITY % late '&#37;later;'>
        <!ENTITY % later '&#60;!ELEMENT a EMPTY>'>
        <!ENTITY % copied "%late;">
        %copied;""")
    assert list(schema.elements) == ["a"]


def test_conditional_sections_comments_and_instructions() -> None:
    schema = read("""<?xml version="1.0" encoding="UTF-8"?>
        <!-- a comment: <!ELEMENT no EMPTY> -->
        <?tool keep %this; ?>
        <!ENTITY % draft "IGNORE"> <!ENTITY % final "INCLUDE">
        <![%draft;[ <!ELEMENT a (b)> <![INCLUDE[ <!ELEMENT b EMPTY> ]]> ]]>
        <![ %final; [ <!ELEMENT a EMPTY> <![INCLUDE[ <!ELEMENT c EMPTY> ]]> ]]>
        <!ENTITY logo SYSTEM "logo.gif" NDATA gif> <!ENTITY copy "&#169;">""")
    assert list(schema.elements) == ["a", "c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!ELEMENT a (b,)>" + LEAVES, "expected an element's name or a group"),
        ("<!ELEMENT a (b | c, d)>" + LEAVES, "expected '|'"),
        ("<!ELEMENT a (b) *>" + LEAVES, "expected '>'"),
        ("<!ELEMENT a (#PCDATA | b)>" + LEAVES, "mixed content with elements must end with ')*'"),
        ("<!ELEMENT a EMPTY", "expected '>', not the end"),
        ("<!ELEMENTa EMPTY>", "expected white space"),
        ("<!ELEMENT 1a EMPTY>", "expected an element's name"),
        ("<!ELEMENT a EMPTY> text", "expected a declaration"),
        ("<!ELEMENT a EMPTY> ]]>", "expected a declaration"),
        ("<!-- two -- dashes --><!ELEMENT a EMPTY>", "a comment must not contain '--'"),
        ("<!-- never closed", "a comment is not closed by '-->'"),
        ("<![INCLUDE[ <!ELEMENT a EMPTY>", "a conditional section is not closed"),
        ("<![MAYBE[ ]]>", "expected INCLUDE or IGNORE, not 'MAYBE'"),
        ("<!ATTLIST a b STRING #IMPLIED>", "'STRING' is not an attribute type"),
        ("<!ATTLIST a b CDATA en>", "expected the default value in quotes"),
        ("<!ATTLIST a b CDATA '&#0;'>", "&#0; is not a character of XML"),
        ("<!NOTATION gif 'x'>", "expected SYSTEM or PUBLIC"),
    ],
)
def test_syntax_errors_say_what_was_expected(text: str, message: str) -> None:
    refused = refusal(text)
    assert refused.code == "schema.syntax"
    assert message in refused.message
    assert refused.where is not None


def test_errors_have_positions_in_characters_and_bytes() -> None:
    refused = refusal("<!-- Köln -->\n<!ELEMENT a (b,,c)>")
    assert refused.where is not None
    assert (refused.where.line, refused.where.column) == (2, 16)
    assert refused.where.offset == len("<!-- Köln -->\n<!ELEMENT a (b,".encode())


def test_an_error_in_an_entity_is_at_the_outermost_reference() -> None:
    refused = refusal("""<!ENTITY % inner "b,,c"> <!ENTITY % outer "(&#37;inner;)">
<!ELEMENT a %outer;>""")
    assert refused.where is not None
    assert (refused.where.line, refused.where.column) == (2, 13)
    assert "within %outer;, %inner;" in refused.message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("%missing;", "schema.entity"),
        ("<!ENTITY % x '&#37;y;'> <!ENTITY % y '&#37;x;'> %x;", "schema.entity"),
        (
            "<!ENTITY % x '&#37;y;'> <!ENTITY % y '&#37;x;'> <!ENTITY % z '%x;'>",
            "schema.entity",
        ),
        ("<!ATTLIST a b CDATA '&unknown;'>", "schema.entity"),
        ("<!ELEMENT a EMPTY><!ATTLIST a xmlns CDATA #FIXED '\0'>", "schema.syntax"),
        ("<!ELEMENT a EMPTY><!ATTLIST a b CDATA '&#xFFFE;'>", "schema.syntax"),
        ("<!ENTITY % x SYSTEM 'file:///etc/passwd'> %x;", "schema.external"),
        ("<!ENTITY % x PUBLIC 'p' 'http://example.org/x.dtd'> %x;", "schema.external"),
        ("<!ELEMENT a EMPTY><!ELEMENT a ANY>", "schema.duplicate"),
        ("<!ELEMENT a (b)>", "schema.undeclared"),
        ("<!ELEMENT b EMPTY>", "schema.root"),
        ("<!ELEMENT a (b?, c)><!ELEMENT b EMPTY><!ELEMENT c (a | d)><!ELEMENT d (c)>",
         "schema.endless"),
        ("<!ELEMENT a EMPTY><!ELEMENT p:b EMPTY>", "schema.namespace"),
        ("<!ELEMENT a EMPTY><!ELEMENT :b EMPTY>", "schema.namespace"),
        ("<!ELEMENT a EMPTY><!ATTLIST a xml:2 CDATA 'x'>", "schema.namespace"),
        ("<!ELEMENT a EMPTY><!ATTLIST a xml:b:c CDATA 'x'>", "schema.namespace"),
        ("<!ELEMENT a EMPTY><!ATTLIST a xmlns CDATA #FIXED 'http://www.w3.org/2000/xmlns/'>",
         "schema.namespace"),
    ],
)  # fmt: skip
def test_invalid_dtds_are_refused(text: str, code: str) -> None:
    assert refusal(text).code == code


def test_an_unused_external_entity_is_ignored() -> None:
    assert read("<!ENTITY % x SYSTEM 'x.dtd'> <!ELEMENT a EMPTY>").root_labels == ("a",)


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (DtdLimits(size_max=30), "<!ELEMENT a EMPTY>" + " " * 20),
        (DtdLimits(group_depth_max=3), "<!ELEMENT a ((((b))))>" + LEAVES),
        (DtdLimits(declarations_max=2), LEAVES),
        (DtdLimits(entity_depth_max=1), "<!ENTITY % x '&#37;y;'><!ENTITY % y ''>%x;"),
        (
            DTD_LIMITS,  # unfolded inside another entity's value, where no frame is opened
            "<!ENTITY % x0 ''>"
            + "".join(f"<!ENTITY % x{n} '&#37;x{n - 1};'>" for n in range(1, 2_000))
            + "<!ENTITY % y '%x1999;'>",
        ),
        (
            DtdLimits(expansion_max=10_000),
            "<!ENTITY % x0 'bombbombbomb'>"
            + "".join(f"<!ENTITY % x{n} '{f'%x{n - 1};' * 10}'>" for n in range(1, 9)),
        ),
    ],
)
def test_limits_are_enforced(limits: DtdLimits, text: str) -> None:
    assert refusal(text, limits).code == "schema.limit"


def test_positions_of_declarations_are_those_in_the_file() -> None:
    text = "<!ELEMENT a EMPTY>\n\n <!-- \u00e9 --><!ELEMENT b EMPTY>\n<!ELEMENT c EMPTY>"
    elements = read(text).elements
    assert [elements[label].where for label in "abc"] == [(0, 1, 1), (32, 3, 12), (51, 4, 1)]


def test_reading_time_is_linear_in_the_number_of_declarations() -> None:
    # Seconds; it was minutes when each position was counted from the start of the file.
    text = """
from penstock.schema import DTD_LIMITS, SchemaGraph
count = DTD_LIMITS.declarations_max
SchemaGraph.from_dtd("".join(f"<!ELEMENT e{n}{'x' * 50} EMPTY>" for n in range(count)))
"""
    subprocess.run([sys.executable, "-c", text], check=True, timeout=60)


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="size_max must be at least 1"):
        DtdLimits(size_max=0)


def test_damaged_dtds_are_read_or_refused() -> None:
    text = schema_text("news")
    rnd = Random(5)
    codes = set()
    for _ in range(400):
        start = rnd.randrange(len(text))
        piece = text[start : start + rnd.randrange(2000)]
        place = rnd.randrange(len(piece) + 1)
        damaged = piece[:place] + rnd.choice(SCRAPS) + piece[place + rnd.randrange(9) :]
        try:
            SchemaGraph.from_dtd(text[:3000] + damaged)
        except SchemaError as refused:
            codes.add(refused.code)
    assert {"schema.syntax", "schema.duplicate"} <= codes
