"""Damaged, newer and foreign index files are refused with the reason."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from penstock import IndexFileError, KeywordIndex, SubscriptionIndex
from penstock.matching.reference.index_file import KEYWORD_MAGIC, MAGIC, VERSIONS
from support.contracts.native_engines import needs_native

ENGINES = ["reference", pytest.param("shared", marks=needs_native)]


@pytest.fixture(params=ENGINES)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    index = SubscriptionIndex(engine=request.param)
    index.add_many([f"s{number}" for number in range(20)], ["/a/b[c = 'x']", "//d[@e]"] * 10)
    index.save(tmp_path / "index")
    return tmp_path / "index"


def refusal(path: Path) -> str:
    with pytest.raises(IndexFileError) as caught:
        SubscriptionIndex.load(path)
    assert str(path) in caught.value.message
    return caught.value.code


@pytest.mark.parametrize("part", [0.3, 0.6, 0.99])
def test_a_file_that_ends_early(saved: Path, part: float) -> None:
    content = saved.read_bytes()
    saved.write_bytes(content[: int(len(content) * part)])
    assert refusal(saved) == "index.damaged"


def test_a_file_with_trailing_bytes(saved: Path) -> None:
    saved.write_bytes(saved.read_bytes() + b"\n")
    assert refusal(saved) == "index.damaged"


def test_any_changed_byte(saved: Path) -> None:
    content = saved.read_bytes()
    for at in range(0, len(content), max(1, len(content) // 100)):
        saved.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        # The first bytes identify the kind of file and its version.
        assert refusal(saved).startswith("index.")


@pytest.mark.parametrize("content", [b"", b"<a/>", b"\0" * 1000])
def test_a_file_of_another_kind(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    assert refusal(tmp_path / "other") == "index.not-an-index"


def test_a_newer_file_of_the_reference(tmp_path: Path) -> None:
    for magic, index in ((MAGIC, SubscriptionIndex), (KEYWORD_MAGIC, KeywordIndex)):
        header = json.dumps({"version": VERSIONS[magic] + 1, "sha256": "of another kind"})
        (tmp_path / "index").write_bytes(magic + header.encode() + b"\nwhat comes next")
        with pytest.raises(IndexFileError) as caught:
            index.load(tmp_path / "index")
        assert caught.value.code == "index.too-new"


@needs_native
@pytest.mark.parametrize(("change", "code"), [(-1, "index.too-old"), (1, "index.too-new")])
def test_a_native_file_of_another_format(tmp_path: Path, change: int, code: str) -> None:
    SubscriptionIndex(engine="shared").save(tmp_path / "index")
    content = bytearray((tmp_path / "index").read_bytes())
    version = int.from_bytes(content[16:20], "little")
    content[16:20] = (version + change).to_bytes(4, "little")
    (tmp_path / "index").write_bytes(content)
    assert refusal(tmp_path / "index") == code


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SubscriptionIndex.load(tmp_path / "none")


def test_a_failed_save_preserves_the_old_file(saved: Path) -> None:
    before = saved.read_bytes()
    folder = saved.parent / "folder"
    folder.mkdir()
    with pytest.raises(OSError):  # noqa: PT011
        SubscriptionIndex.load(saved).save(folder)
    assert saved.read_bytes() == before
    assert sorted(path.name for path in saved.parent.iterdir()) == ["folder", "index"]


@pytest.mark.parametrize(
    "body",
    [
        b"[]\n",
        b"7\n",
        b"{}\n",
        b"{\n",
        b"\xff\n",
        b'{"id": "a"}\n',
        b'{"id": "a", "query": 7}\n',
        b'{"id": "a", "query": "/["}\n',
        b'{"id": "a", "query": "/a", "namespaces": 7}\n',
        b"[" * 100_000 + b"\n",
        b'{"tokenizer": 7}\n',
        b'{"tokenizer": {}}\n',
        b'{"tokenizer": {"fold_diacritics": true}}\n',
        b'{"tokenizer": {"fold_diacritics": 1, "split_names": true, "unify_apostrophes": true,'
        b' "unify_abbreviations": true}}\n',
        b'{"id": "a", "query": "b"}\n{"tokenizer": {}}\n',
    ],
)
def test_a_manipulated_file_of_the_reference(tmp_path: Path, body: bytes) -> None:
    header = json.dumps({"version": 1, "sha256": hashlib.sha256(body).hexdigest()})
    content = header.encode() + b"\n" + body
    (tmp_path / "index").write_bytes(MAGIC + content)
    assert refusal(tmp_path / "index") == "index.damaged"
    if b"/" not in body:
        (tmp_path / "keywords").write_bytes(KEYWORD_MAGIC + content)
        with pytest.raises(IndexFileError) as caught:
            KeywordIndex.load(tmp_path / "keywords")
        assert caught.value.code == "index.damaged"


@pytest.mark.parametrize("query", ["/a[.][not(a and . = '1')]", "/a[not(b)][c] | /a[not(d)][c]"])
def test_branches_that_are_the_same_in_the_trie_can_be_loaded(query: str, tmp_path: Path) -> None:
    index = SubscriptionIndex()
    index.add("it", query)
    index.save(tmp_path / "index")
    document = b"<a><c/></a>"
    loaded = SubscriptionIndex.load(tmp_path / "index")
    assert loaded.matcher().match(document).ids == index.matcher().match(document).ids == ("it",)
