"""Documents as messages of a link."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.documents import Document, Header
from penstock.errors import PeerLinkError
from penstock.extras import require_links_extra
from penstock.links import Message, document_from_message, document_to_message

texts = st.text(st.characters(codec="utf-8"), max_size=20)
headers = st.builds(
    Header,
    publisher=texts,
    schema=texts,
    id=texts,
    fields=st.dictionaries(texts, texts, max_size=4),
)


@given(headers, st.binary(max_size=100), st.binary(max_size=20), st.integers(0, 255))
def test_documents_survive(header: Header, content: bytes, annotations: bytes, kind: int) -> None:
    document = Document(content, header)
    message = document_to_message(document, annotations=annotations, kind=kind)
    assert message.body is content, "bytes are sacred, and not copied"
    assert message.kind == kind
    assert document_from_message(message) == (document, annotations)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\x91" * 5_000,
        msgspec.msgpack.encode(["a"]),
        msgspec.msgpack.encode(["a", "b", "c", {"d": 1}]),
        msgspec.msgpack.encode(["a", "b", "c", {}, b"", "more"]),
        b"\x94\xa1\xff\xa1b\xa1c\x80",
    ],
)
def test_malformed_headers_are_refused(header: bytes) -> None:
    with pytest.raises(PeerLinkError) as caught:
        document_from_message(Message(header=header))
    assert caught.value.code == "link.document"


def test_a_missing_package_is_named_with_its_extra() -> None:
    with pytest.raises(ImportError, match=r"no_such_package \[extra.links\]"):
        require_links_extra("msgspec", "no_such_package")
