"""The reference rewriting: every operator, and every rule of the design."""

from __future__ import annotations

import pytest

from penstock.documents import Span, read_events, write
from penstock.errors import DocumentError
from penstock.matching import SubscriptionIndex
from penstock.mediation import (
    GlobalDocument,
    GlobalElement,
    GlobalText,
    Mapping,
    limits,
    rewrite,
)
from support.fixtures.university import DOCUMENT, MAPPING


def rewritten(mapping: str, document: str) -> GlobalDocument:
    return rewrite(
        Mapping.from_text(f"penstock mapping 1\n{mapping}"), read_events(document.encode())
    )


def xml(mapping: str, document: str) -> str:
    return rewritten(mapping, document).to_xml().rstrip("\n")


def pieces(document: str, element: GlobalElement) -> list[str]:
    """The provenance of an element."""
    return [document.encode()[span.start : span.end].decode() for span in element.spans]


def elements(document: GlobalDocument, name: str) -> list[GlobalElement]:
    """The elements of this local name, in document order."""
    found, waiting = [], list(reversed(document.trees))
    while waiting:
        element = waiting.pop()
        found += [element] if element.name.local == name else []
        waiting += [c for c in reversed(element.children) if isinstance(c, GlobalElement)]
    return found


UNIVERSITY = """\
<university>\
<faculty name="science">\
<department name="cs">\
<course code="db1"><title>Data</title><time>9</time><TAs><TA>Ann</TA></TAs>\
<location>here</location><instructor><name>Ng</name></instructor></course>\
<course code="db2"><title>More</title></course>\
</department>\
<department name="maths"/>\
</faculty>\
<library><author><name>John</name>\
<article><title>One</title><year>2005</year></article>\
<article><title>Two</title><year>2006</year></article></author></library>\
</university>"""


def test_the_papers_example() -> None:
    mapping = Mapping.from_text(MAPPING.read_text("utf-8"))
    found = rewrite(mapping, read_events(UNIVERSITY.encode()))
    assert found.to_xml() == (
        "<university>"
        '<faculty name="science"></faculty>'
        '<dept name="cs">'
        "<course><code>db1</code><title>Data</title>"
        "<instructor><name>Ng</name><TAs><TA>Ann</TA></TAs></instructor>"
        "<schedule><time>9</time><location>here</location></schedule></course>"
        "<course><code>db2</code><title>More</title></course>"
        "</dept>"
        '<dept name="maths"></dept>'
        "<library>"
        "<article><title>One</title><year>2005</year><author><name>John</name></author></article>"
        "<article><title>Two</title><year>2006</year><author><name>John</name></author></article>"
        "</library></university>\n"
    )
    assert found.unknown == 0
    (schedule,) = elements(found, "schedule")
    assert pieces(UNIVERSITY, schedule) == ["<time>9</time>", "<location>here</location>"]
    (code, _) = elements(found, "code")
    assert pieces(UNIVERSITY, code) == pieces(UNIVERSITY, elements(found, "course")[0])
    first, second = elements(found, "author")
    assert first.spans == second.spans
    assert pieces(UNIVERSITY, first)[0].startswith("<author><name>John</name><article>")


def test_subscriptions_to_the_global_schema_match_the_rewritten_document() -> None:
    mapping = Mapping.from_text(MAPPING.read_text("utf-8"))
    index = SubscriptionIndex()
    queries = {
        "grouped": "/university/dept/course[code='db1']/schedule[time='Monday 9:00']",
        "turned": "//article[author/name='John']/title",
        "local": "/university/faculty/department",
    }
    for name, query in queries.items():
        index.add(name, query)
    matcher = index.matcher()
    original = DOCUMENT.read_bytes()
    assert list(matcher.match(original)) == ["local"]
    (tree,) = rewrite(mapping, read_events(original)).events()
    assert set(matcher.match(write(tree).encode())) == {"grouped", "turned"}


# Exchange

AUTHORS = """
r
  a*
    => exchange b
    n? text
    b*
      t? text
"""


def test_each_child_gets_a_copy_of_its_parent_without_any_of_the_children_last() -> None:
    document = "<r><a k='1'>x<b><t>1</t></b>y<n>N</n><b/>z</a></r>"
    assert xml(AUTHORS, document) == (
        '<r><b><t>1</t><a k="1">xy<n>N</n>z</a></b><b><a k="1">xy<n>N</n>z</a></b></r>'
    )


def test_a_node_without_the_child_stays_in_place() -> None:
    found = rewritten(AUTHORS, "<r><a><n>1</n></a><a><b/></a><a/></r>")
    assert found.to_xml() == "<r><a><n>1</n></a><b><a></a></b><a></a></r>\n"
    assert [each.what for each in found.trace] == [
        "stays in place: it has no b",
        "now in each of 1 b",
        "stays in place: it has no b",
    ]


def test_an_exchange_at_the_root_may_yield_a_forest() -> None:
    mapping = "a\n  => exchange b\n  n text\n  b*\n"
    found = rewritten(mapping, "<a><n>N</n><b>1</b><b>2</b></a>")
    assert found.to_xml() == "<b>1<a><n>N</n></a></b>\n<b>2<a><n>N</n></a></b>\n"
    assert len(list(found.events())) == 2


def test_a_forest_can_be_wrapped_into_one_tree() -> None:
    mapping = "=> insert top (/a/b)\na\n  => exchange b\n  b*\n"
    assert xml(mapping, "<a><b>1</b><b>2</b></a>") == ("<top><b>1<a></a></b><b>2<a></a></b></top>")
    # Without any b the root is another one, which is left alone.
    assert xml(mapping, "<a/>") == "<a></a>"


def test_exchanges_are_applied_one_at_a_time_from_the_root_down() -> None:
    mapping = "a\n  => exchange b\n  b*\n    => exchange c\n    c*\n"
    assert xml(mapping, "<a><b><c>1</c><c>2</c></b><b/></a>") == (
        "<c>1<b><a></a></b></c>\n<c>2<b><a></a></b></c>\n<b><a></a></b>"
    )


def test_two_exchanges_at_one_node() -> None:
    mapping = "r\n  a*\n    => exchange b\n    => exchange c\n    b*\n    c*\n"
    assert xml(mapping, "<r><a><b>1</b><c>2</c></a></r>") == "<r><b>1<c>2<a></a></c></b></r>"


def test_operators_follow_their_nodes_through_an_exchange() -> None:
    mapping = """
r
  a*
    @k
    => exchange b
    => to-element @k
    => upgrade (n)
    => rename A
    n? text
    b*
      => insert m (/r/a)
      => rename B
"""
    assert xml(mapping, "<r><a k='1'><n>N</n><b/><b/></a></r>") == (
        "<r><B><m><A><k>1</k></A><n>N</n></m></B><B><m><A><k>1</k></A><n>N</n></m></B></r>"
    )


def test_copies_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COPIES_MAX", 3)
    document = "<r><a><n>N</n><b/>{}</a></r>"
    assert "<n>N</n>" in xml(AUTHORS, document.format("<b/>"))
    with pytest.raises(
        DocumentError, match="more than 3 nodes would be copied or inserted"
    ) as caught:
        xml(AUTHORS, document.format("<b/><b/>"))
    assert caught.value.code == "mapping.copies"


# Downgrade

COURSE = """
course
  => downgrade (ta, note) into teacher
  ta* text
  note? text
  teacher* text
"""


def test_children_are_appended_to_the_target_in_order() -> None:
    document = "<course>x<ta>1</ta>y<teacher>T</teacher><note>N</note>z<ta>2</ta></course>"
    assert xml(COURSE, document) == (
        "<course>xy<teacher>T<ta>1</ta><note>N</note><ta>2</ta></teacher>z</course>"
    )


def test_without_a_target_the_children_stay() -> None:
    document = "<course><ta>1</ta><note>N</note></course>"
    found = rewritten(COURSE, document)
    assert found.to_xml() == f"{document}\n"
    assert [each.what for each in found.trace] == ["2 stay in place: there is no target"]


def test_each_of_several_targets_gets_a_copy() -> None:
    document = "<course><teacher/><ta>1</ta><teacher/></course>"
    found = rewritten(COURSE, document)
    assert found.to_xml() == (
        "<course><teacher><ta>1</ta></teacher><teacher><ta>1</ta></teacher></course>\n"
    )
    first, second = elements(found, "ta")
    assert first.spans == second.spans
    assert first is not second


def test_downgrades_at_one_node_are_applied_as_given() -> None:
    mapping = "a\n  => downgrade (d) into c\n  => downgrade (c) into b\n  b\n  c\n  d\n"
    assert xml(mapping, "<a><b/><c/><d/></a>") == "<a><b><c><d></d></c></b></a>"


# Insert

TIMES = "a text\n  => insert n/m (b, c)\n  b* text\n  c? text\n  d?\n"


def test_children_are_moved_into_a_path_that_is_the_last_child() -> None:
    assert xml(TIMES, "<a>x<b>1</b>y<d/><c>2</c>z<b>3</b>.</a>") == (
        "<a>xy<d></d>z.<n><m><b>1</b><c>2</c><b>3</b></m></n></a>"
    )


def test_no_empty_element_is_inserted() -> None:
    assert xml(TIMES, "<a>x<d/></a>") == "<a>x<d></d></a>"
    assert xml("a\n  => insert+ n\n  b?\n", "<a>\n</a>") == "<a>\n</a>"


def test_several_inserts_at_one_node_come_in_their_order() -> None:
    mapping = "a\n  => insert n (c)\n  => insert m (b)\n  b\n  c\n"
    assert xml(mapping, "<a><b/><c/></a>") == "<a><n><c></c></n><m><b></b></m></a>"


def test_insert_plus_takes_all_children_known_or_not() -> None:
    assert xml("a\n  => insert+ n\n  b?\n", "<a><b/><x/></a>") == "<a><n><b></b><x></x></n></a>"


def test_insert_plus_leaves_text_where_there_can_be_some() -> None:
    document = "<a>x<b/>y<b/>z</a>"
    assert xml("a text\n  => insert+ n\n  b*\n", document) == ("<a>xyz<n><b></b><b></b></n></a>")


def test_insert_plus_takes_along_what_sets_children_apart() -> None:
    found = rewritten("a\n  => insert+ n\n  b*\n", "<a>\n <b/>\n <b/>\n</a>")
    assert found.to_xml() == "<a>\n <n><b></b>\n <b></b>\n</n></a>\n"
    (made,) = elements(found, "n")
    assert made.spans == (Span(5, 16),)


def test_an_insert_above_the_root_wraps_it() -> None:
    assert xml("=> insert n/m (a)\na\n", "<a>x</a>") == "<n><m><a>x</a></m></n>"


def test_an_unknown_root_is_wrapped_only_by_insert_plus() -> None:
    assert xml("=> insert n (a)\na\n", "<x/>") == "<x></x>"
    assert xml("=> insert+ n\na\n", "<x/>") == "<n><x></x></n>"


def test_an_inserted_element_has_the_provenance_of_its_content() -> None:
    document = "<a>x<b>1</b><c>2</c>y<b>3</b></a>"
    found = rewritten(TIMES, document)
    for name in ("n", "m"):
        (made,) = elements(found, name)
        assert pieces(document, made) == ["<b>1</b><c>2</c>", "<b>3</b>"]
    (whole,) = elements(found, "a")
    assert pieces(document, whole) == [document]


# Upgrade

FACULTY = """
r text
  e* text
    => upgrade (b, c)
    b* text
    c? text
    d?
"""


def test_children_are_moved_after_their_parent_in_order() -> None:
    document = "<r>0<e>x<b>1</b>y<d/><c>2</c><b>3</b></e>4<e/></r>"
    assert xml(FACULTY, document) == ("<r>0<e>xy<d></d></e><b>1</b><c>2</c><b>3</b>4<e></e></r>")


def test_upgrade_plus_leaves_text_where_there_can_be_some() -> None:
    mapping = "r\n  e text\n    => upgrade+\n    b*\n"
    assert xml(mapping, "<r><e>x<b/>y<z/></e></r>") == "<r><e>xy</e><b></b><z></z></r>"


def test_upgrade_plus_takes_along_what_sets_children_apart() -> None:
    mapping = "r\n  e\n    => upgrade+\n    b*\n"
    assert xml(mapping, "<r>\n<e>\n <b/>\n <b/>\n</e>\n</r>") == (
        "<r>\n<e>\n </e><b></b>\n <b></b>\n\n</r>"
    )


def test_upgraded_nodes_are_rewritten_in_turn() -> None:
    mapping = "r\n  e\n    => upgrade+\n    b\n      => upgrade (c)\n      => rename B\n      c\n"
    assert xml(mapping, "<r><e><b><c/></b></e></r>") == "<r><e></e><B></B><c></c></r>"


def test_upgrade_from_an_inserted_element_stays_next_to_its_parent() -> None:
    mapping = "r\n  => insert n (e)\n  e\n    => upgrade (b)\n    b\n"
    assert xml(mapping, "<r><e><b/></e></r>") == "<r><n><e></e><b></b></n></r>"


def test_upgrade_at_a_wrapped_root() -> None:
    mapping = "=> insert n (a)\na\n  => upgrade+\n  b*\n"
    assert xml(mapping, "<a><b/></a>") == "<n><a></a><b></b></n>"


def test_nothing_is_moved_next_to_a_root_that_an_exchange_left_in_place() -> None:
    mapping = "a\n  => exchange b\n  => upgrade (c)\n  b?\n  c?\n"
    assert xml(mapping, "<a><b/><c/></a>") == "<b><a></a><c></c></b>"
    found = rewritten(mapping, "<a><c/></a>")
    assert found.to_xml() == "<a><c></c></a>\n"
    assert [each.what for each in found.trace] == [
        "stays in place: it has no b",
        "1 stay in place: the root cannot have siblings",
    ]


# ToElement

CODES = "a\n  @x\n  @y?\n  => to-element @y as why\n  => to-element @x\n  b?\n"


def test_an_attribute_becomes_an_element_before_all_others() -> None:
    assert xml(CODES, "<a x='1' z='3' y='2'>t<b/></a>") == (
        '<a z="3"><why>2</why><x>1</x>t<b></b></a>'
    )


def test_an_attribute_that_is_not_there_makes_nothing_and_an_empty_one_no_text() -> None:
    found = rewritten(CODES, "<a x=''/>")
    assert found.to_xml() == "<a><x></x></a>\n"
    assert elements(found, "x")[0].children == ()


def test_an_element_made_from_an_attribute_has_the_provenance_of_its_owner() -> None:
    document = "<a x='1'>t</a>"
    (made,) = elements(rewritten(CODES, document), "x")
    assert pieces(document, made) == [document]
    assert made.children == (GlobalText("1", made.spans),)


def test_an_element_made_from_an_attribute_can_be_moved() -> None:
    mapping = "r\n  a\n    @x\n    => to-element @x\n    => {}\n    b\n"
    document = "<r><a x='1'><b/></a></r>"
    for operator, expected in (
        ("downgrade (@x) into b", "<r><a><b><x>1</x></b></a></r>"),
        ("insert n (@x)", "<r><a><b></b><n><x>1</x></n></a></r>"),
        ("upgrade (@x)", "<r><a><b></b></a><x>1</x></r>"),
    ):
        assert xml(mapping.format(operator), document) == expected


# Rename

NAMES = "a\n  @x\n  @y\n  => rename @x y\n  => rename @y x\n  => rename A\n"


def test_rename_applies_to_elements_and_attributes_and_may_swap_names() -> None:
    assert xml(NAMES, "<a x='1' y='2'/>") == '<A y="1" x="2"></A>'


def test_an_attribute_keeps_its_name_where_an_unknown_one_has_the_new() -> None:
    found = rewritten(
        "a\n  @x\n  @y\n  => rename @x y\n  => rename @y z\n", "<a x='1' y='2' z='3'/>"
    )
    assert found.to_xml() == '<a x="1" y="2" z="3"></a>\n'
    assert [each.what for each in found.trace] == [
        "@x keeps its name: there is another y",
        "@y keeps its name: there is another z",
    ]


def test_new_names_may_be_in_namespaces_unknown_to_the_document() -> None:
    mapping = """namespace d urn:d
namespace n urn:n
=> insert n:top (d:a)
d:a
  @x
  => rename @x n:x
  => rename b
  d:c
    => rename n:c
"""
    found = xml(mapping, "<a xmlns='urn:d' x='1'><c/><e/></a>")
    assert found == (
        '<g1:top xmlns="urn:d" xmlns:g1="urn:n"><b xmlns="" g1:x="1">'
        '<g1:c xmlns="urn:d"></g1:c><e xmlns="urn:d"></e></b></g1:top>'
    )


# Unknown elements, mixed content


def test_unknown_elements_pass_unchanged_and_are_counted() -> None:
    mapping = "a\n  => rename A\n  b\n    => rename B\n"
    found = rewritten(mapping, "<a><x k='1'><b/></x><b><b/></b></a>")
    assert found.to_xml() == '<A><x k="1"><b></b></x><B><b></b></B></A>\n'
    assert found.unknown == 3


def test_a_document_of_another_root_passes_unchanged() -> None:
    found = rewritten("university\n", "<letter><university/></letter>")
    assert found.to_xml() == "<letter><university></university></letter>\n"
    assert found.unknown == 2


def test_texts_that_become_adjacent_are_merged() -> None:
    found = rewritten("a text\n  => insert n (b)\n  b?\n", "<a>1<b/>2</a>")
    assert found.trees[0].children[0] == GlobalText("12", (Span(3, 4), Span(8, 9)))


def test_a_comment_separates_texts() -> None:
    assert xml("a text\n  => insert n (b)\n  b?\n", "<a>1<!-- --><b/>2</a>") == (
        "<a>1<!---->2<n><b></b></n></a>"
    )


def test_texts_of_one_entity_are_distinguished() -> None:
    # Both have the span of the reference and equal text: a set would lose one of them.
    document = "<!DOCTYPE a [<!ENTITY e '.<b/>.'>]><a>&e;</a>"
    assert xml("a\n  => insert+ n\n  b?\n", document) == "<a>.<n><b></b>.</n></a>"


def test_deep_documents_are_rewritten() -> None:
    depth = 900
    document = f"{'<a>' * depth}{'</a>' * depth}"
    found = rewritten("a\n  => rename b\n", document)
    assert found.to_xml().startswith("<b><a><a>")
    assert found.unknown == depth - 1
