"""IDDR matches repeated subtrees once, with the same matches as the other strategies."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.language.xpath.printing import to_text
from penstock.matching import Matcher, SubscriptionIndex
from penstock.mediation import Mapping, MediatedMatcher
from support.contracts.native_engines import needs_native
from support.strategies.queries import Vocabulary, queries

# Only the native core shares copies; the reference creates each of them.
pytestmark = needs_native

AUTHORS = """penstock mapping 1
list text
  @k?
  author*
    => exchange article
    @k?
    name* text
      @k?
      first* text
    article* text
      @k?
      title* text
        @k?
"""
"""Each article gets a copy of its author."""

TWICE = """penstock mapping 1
list
  author*
    => exchange article
    @k?
    name* text
    article*
      => exchange title
      @k?
      title* text
"""
"""Copies in copies."""

TARGETS = """penstock mapping 1
list
  author* text
    => downgrade (name) into article
    @k?
    name* text
      @k?
      => upgrade (first)
      first* text
    article* text
      @k?
"""
"""Each article gets a copy of the names, followed by the first names."""

CHANGED = """penstock mapping 1
list
  author*
    => exchange article
    @k?
    name* text
    article* text
      => downgrade (title) into /list/author
      @k?
      title* text
        @k?
"""
"""Each article gets a copy of its author, and each copy other titles."""

VOCABULARY = Vocabulary(
    elements=("list", "author", "name", "first", "article", "title"),
    attributes=("k",),
    texts=("", "x", "y", "xx", "xy", "1"),
    numbers=(0.0, 1.0, 2.0),
    any_namespace=False,
)

TEXTS = st.sampled_from(["", "", "x", "y", "1", "<!---->", "x<!---->y"])
KEYS = st.sampled_from(["", "", " k='1'", " k='x'"])


@st.composite
def _elements(draw: st.DrawFn, name: str, *children: str) -> str:
    content = draw(TEXTS)
    for child in draw(st.lists(st.sampled_from(children), max_size=4)) if children else ():
        content += draw(_CONTENT[child]) + draw(TEXTS)
    return f"<{name}{draw(KEYS)}>{content}</{name}>"


_CONTENT: dict[str, st.SearchStrategy[str]] = {
    "first": _elements("first"),
    "title": _elements("title"),
}
_CONTENT["name"] = _elements("name", "first")
_CONTENT["article"] = _elements("article", "title")
_CONTENT["author"] = _elements("author", "name", "article", "article")

DOCUMENTS = _elements("list", "author").map(str.encode)
MAPPINGS = st.sampled_from([Mapping.from_text(text) for text in (AUTHORS, TWICE, TARGETS, CHANGED)])


def matcher_of(texts: Sequence[str], engine: str) -> Matcher:
    index = SubscriptionIndex(engine=engine)
    assert not index.add_many(texts, texts)
    return index.matcher()


@given(
    MAPPINGS,
    st.lists(DOCUMENTS, min_size=1, max_size=3),
    st.lists(queries(VOCABULARY).map(lambda each: str(to_text(each))), max_size=8, unique=True),
)
def test_matches_in_copies_equal_the_reference(
    mapping: Mapping, documents: list[bytes], texts: list[str]
) -> None:
    reference = MediatedMatcher(matcher_of(texts, "reference"))
    iddr = MediatedMatcher(matcher_of(texts, "shared"), way="iddr")
    for document in documents:  # the matcher is warm for those that follow
        assert set(iddr.match(document, mapping)) == set(reference.match(document, mapping))


@pytest.mark.parametrize("way", ["nddr", "iddr"])
def test_only_iddr_matches_copies_once(way: str) -> None:
    mapping = Mapping.from_text(AUTHORS)
    texts = ["//article[@k = '2']/author/name", "//article[title = 'x']//name", "//name[first]"]
    mediated = MediatedMatcher(matcher_of(texts, "shared"), way=way)  # type: ignore[arg-type]
    articles = "".join(f"<article k='{number}'/>" for number in range(1, 5))
    document = f"<list><author><name><first/></name>{articles}</author></list>".encode()
    matches = mediated.match(document, mapping)
    assert set(matches) == {"//article[@k = '2']/author/name", "//name[first]"}
    assert matches.counters.work.copies_known == (3 if way == "iddr" else 0)


def test_a_match_that_depends_on_the_parent_is_checked_for_each_copy() -> None:
    texts = ["//article[title = 'two']/author[name = 'Ann']", "//article[title = 'no']/author"]
    iddr = MediatedMatcher(matcher_of(texts, "shared"), way="iddr")
    document = (
        b"<list><author><article><title>one</title></article><name>Ann</name>"
        b"<article><title>two</title></article></author></list>"
    )
    matches = iddr.match(document, Mapping.from_text(AUTHORS))
    assert set(matches) == {"//article[title = 'two']/author[name = 'Ann']"}
    assert matches.counters.work.copies_known == 1


def test_text_of_a_copy_is_part_of_the_value_around_it() -> None:
    texts = ["//article[. = 'twoAnn']", "//article[. = 'oneAnn']", "//article[. = 'two']"]
    iddr = MediatedMatcher(matcher_of(texts, "shared"), way="iddr")
    articles = b"<article>one</article><name>Ann</name><article>two</article>"
    document = b"<list><author>" + articles + b"</author></list>"
    matches = iddr.match(document, Mapping.from_text(AUTHORS))
    assert set(matches) == {"//article[. = 'twoAnn']", "//article[. = 'oneAnn']"}


def test_a_copy_that_gets_its_own_children_is_not_shared() -> None:
    texts = ["//author/title[. = 'one']", "//author/title[. = 'two']"]
    iddr = MediatedMatcher(matcher_of(texts, "shared"), way="iddr")
    articles = b"<article><title>one</title></article><article><title>two</title></article>"
    document = b"<list><author><name>Ann</name>" + articles + b"</author></list>"
    assert set(iddr.match(document, Mapping.from_text(CHANGED))) == set(texts)
