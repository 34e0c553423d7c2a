"""Documents and keyword queries for property tests: few words, so that queries often match."""

from __future__ import annotations

import itertools
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from penstock import TokenizerOptions
from support.strategies.documents import documents

_WORDS: Final = ("a", "b", "c", "d")
_SPELLINGS: Final = ("A", "x", "á", "a\u0301", "Đ", "æ", "a\u2019b", "a.b", "й", "и", "が", "か")
_NAMES: Final = ("e", "e", "e", "a", "b-c", "aB", "d_a", "éB")
_BREAKS: Final = ("<!---->", "<!-- a -->", "<?a b?>")
_JOINERS: Final = (
    "",
    " ",
    "-",
    ".",
    "'",
    "\u2019",
    "&#32;",
    "<![CDATA[]]>",
    "<![CDATA[ ]]>",
    "&#x27;",
)
_ELEMENTS_MAX: Final = 12

_DOCUMENT_WORDS: Final = (
    *("a", "b", "c", "d", "id", "lang", "n", "1", "2", "10", "2.5", "en", "gb", "x", "xy", "é"),
    *("y", "日", "x10", "10y", "en-gb", "absent"),
)
"""Words of :data:`documents.documents`, and words that arise where texts join."""


@st.composite
def _nested(draw: DrawFn) -> bytes:
    """Elements in any shape, words anywhere in them."""
    parts: list[str] = []
    opened: list[str] = []
    steps = draw(
        st.lists(st.sampled_from(("open", "open", "close", "text", "text", "break")), max_size=40)
    )
    for number, step in enumerate(["open", *steps]):
        if step == "open" and (number == 0 or (opened and parts.count("<") < _ELEMENTS_MAX)):
            opened.append(draw(st.sampled_from(_NAMES)))
            attribute = draw(
                st.sampled_from(("", "", "", " x='a'", " c=''", " xml:d='b C'", " aBC_d='b.c'"))
            )
            parts += ["<", opened[-1], attribute, ">"]
        elif step == "close" and len(opened) > 1:
            parts.append(f"</{opened.pop()}>")
        elif step == "text":
            words = draw(st.lists(st.sampled_from((*_WORDS, *_SPELLINGS)), min_size=1, max_size=3))
            parts.append(draw(st.sampled_from(_JOINERS)).join(words))
        elif step == "break":
            parts.append(draw(st.sampled_from(_BREAKS)))
    parts += [f"</{name}>" for name in reversed(opened)]
    return "".join(parts).encode()


def _queries(words: tuple[str, ...]) -> SearchStrategy[str]:
    phrases = st.lists(st.sampled_from(words), min_size=1, max_size=3).map(_quoted)
    chosen = st.lists(st.sampled_from(words) | phrases, min_size=1, max_size=4)
    # A word such as `en-gb` is two; with `OR` it would be refused.
    single = tuple(word for word in words if "-" not in word)
    any_of = st.lists(st.sampled_from(single) | phrases, min_size=1, max_size=4)
    return chosen.map(" ".join) | any_of.map(" OR ".join)


def _quoted(words: list[str]) -> str:
    return f'"{" ".join(words)}"'


tokenizer_options: Final = st.sampled_from(
    [TokenizerOptions.of_flags(flags) for flags in itertools.product((True, False), repeat=4)]
)
"""Every combination of the options."""

nested_documents: Final[SearchStrategy[bytes]] = _nested()
"""Small documents with words at all levels."""

keyword_cases: Final[SearchStrategy[tuple[bytes, list[str]]]] = st.tuples(
    nested_documents,
    st.lists(_queries((*_WORDS, *_SPELLINGS, "e", "ab", "a'b", "ae")), min_size=1, max_size=6),
) | st.tuples(documents, st.lists(_queries(_DOCUMENT_WORDS), min_size=1, max_size=6))
"""A document of one of the two kinds, and queries of its words."""
