"""Schemas inferred from samples: every sample is valid, and the order of samples does not
matter."""

from __future__ import annotations

import pickle
from contextlib import suppress
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.documents import Limits, Name, read_events
from penstock.errors import DocumentError, SchemaError
from penstock.schema import (
    SampleReader,
    SampleSummary,
    SchemaTree,
    UnfoldLimits,
    print_tree,
    sample_inference,
)
from penstock.schema.limits import FILE_DEPTH_MAX
from support.strategies.documents import perhaps_broken
from support.strategies.schemas import documents_of, schema_trees
from support.strategies.xml import documents

FEWER = max(settings().max_examples // 3, 1)  # lists of documents are dear to draw


def summary(*texts: bytes) -> SampleSummary:
    return reduce(
        SampleSummary.merged,
        (SampleSummary.of(read_events(each)) for each in texts),
        SampleSummary(),
    )


def read(*texts: bytes) -> SampleSummary:
    """The summary of the documents that are not refused, by the native core if there is one."""
    reader = SampleReader()
    for text in texts:
        with suppress(DocumentError):
            reader.add(text)
    return reader.summary()


def outline(*texts: bytes) -> list[str]:
    return print_tree(summary(*texts).tree()).splitlines()[2:]


def test_cardinalities_are_the_narrowest_for_all_samples() -> None:
    assert outline(
        b"<a><once/><maybe/><some/><some/><any/><any/></a>", b"<a><once/><some/></a>"
    ) == ["a", "  any*", "  maybe?", "  once", "  some+"]


def test_a_child_is_required_of_every_parent_also_of_those_in_one_document() -> None:
    assert outline(b"<a><b><c/></b><b/></a>") == ["a", "  b+", "    c?"]


def test_attributes_and_text() -> None:
    assert outline(b"<a x='1' y='2'>\n <b>text</b></a>", b"<a y='3'><b/></a>") == [
        "a",
        "  @x?",
        "  @y",
        "  b text",
    ]


def test_roots_of_samples() -> None:
    with pytest.raises(SchemaError, match="no sample"):
        SampleSummary().tree()
    both = summary(b"<a/>", b"<b/>")
    with pytest.raises(SchemaError, match="several roots: a, b") as caught:
        both.tree()
    assert caught.value.code == "schema.samples"
    assert both.tree(Name("", "b")).root.name == Name("", "b")
    with pytest.raises(SchemaError, match="has the root c"):
        both.tree(Name("", "c"))


def test_deep_samples_are_cut_at_the_named_limit() -> None:
    tree = summary(b"<a><a><a/></a></a>").tree(limits=UnfoldLimits(depth_max=2))
    assert tree.cut_at == {"depth_max"}
    assert tree.root.children[0].cut


def test_too_many_paths_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_inference, "SAMPLE_PATHS_MAX", 2)
    with pytest.raises(SchemaError, match="more than 2 paths"):
        summary(b"<a><b/><c/></a>")
    with pytest.raises(SchemaError, match="more than 2 paths"):
        summary(b"<a><b/></a>", b"<a><c/></a>")
    for texts in ((b"<a><b/><c/></a>",), (b"<a><b/></a>", b"<a><c/></a>")):
        with pytest.raises(SchemaError, match="more than 2 paths"):
            read(*texts)


@settings(max_examples=FEWER)
@given(st.lists(documents(), max_size=3))
def test_merging_is_the_same_in_any_order_and_grouping(made: list[bytes]) -> None:
    each = [SampleSummary.of(read_events(document)) for document in made]
    one_by_one = reduce(SampleSummary.merged, each, SampleSummary())
    others = each[::-1]
    while len(others) > 1:
        others = [*others[2:], others[0].merged(others[1])]
    grouped = others[0] if others else SampleSummary()
    assert grouped == one_by_one
    assert pickle.loads(pickle.dumps(grouped)) == grouped


@settings(max_examples=FEWER)
@given(st.lists(documents() | perhaps_broken, max_size=4))
def test_documents_are_summarised_as_their_events_are(made: list[bytes]) -> None:
    readable: list[bytes] = []
    for document in made:
        with suppress(DocumentError):
            read_events(document)
            readable.append(document)
    assert read(*made) == summary(*readable)


def test_a_refused_sample_raises_and_leaves_the_others() -> None:
    reader = SampleReader()
    reader.add(b"<a><b/></a>")
    with pytest.raises(DocumentError, match=r"xml\.") as caught:
        reader.add(b"<a>\n<c></a>")
    assert caught.value.where is not None
    assert caught.value.where.line == 2
    reader.add(b"<a/>")
    assert reader.summary() == summary(b"<a><b/></a>", b"<a/>")


def test_limits_of_documents_apply_to_samples() -> None:
    reader = SampleReader(Limits(depth=2))
    with pytest.raises(DocumentError, match=r"limit\.depth"):
        reader.add(b"<a><b><c/></b></a>")


def test_a_sample_that_is_too_deep_is_refused_unless_it_is_not_well_formed() -> None:
    depth = FILE_DEPTH_MAX
    read(b"<a>" * depth + b"</a>" * depth)
    with pytest.raises(SchemaError, match=f"more than {depth} levels"):
        read(b"<a>" * (depth + 1) + b"</a>" * (depth + 1))
    assert read(b"<a>" * (depth + 1) + b"</a>" * depth) == SampleSummary()


@settings(max_examples=FEWER)
@given(st.data())
def test_a_schema_inferred_from_its_own_documents_is_no_wider(data: st.DataObject) -> None:
    tree: SchemaTree = data.draw(schema_trees())
    made = data.draw(st.lists(documents_of(tree), min_size=1, max_size=2))
    inferred = summary(*made).tree()
    known = tree.nodes()
    for path, node in inferred.nodes().items():
        declared = known[path]
        assert declared.occurs.many or not node.occurs.many
        assert node.occurs.required or not declared.occurs.required
        assert declared.text or not node.text
