"""Subscription files: both formats, their directives, and the position of every error."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.subscription_file import Entry, add_all, read
from penstock.errors import SubscriptionFileError
from penstock.language.limits import MAX_NAMESPACES
from penstock.matching import KeywordIndex, SubscriptionIndex


def subscriptions(folder: Path, content: str | bytes, name: str = "subs.txt") -> list[Entry]:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read(path))


def test_a_line_is_id_tab_query(tmp_path: Path) -> None:
    (only,) = subscriptions(tmp_path, "one\t/a/b \n")
    assert (only.subscription.id, only.subscription.query, only.line, only.column) == (
        "one",
        "/a/b",
        1,
        5,
    )


def test_the_column_is_where_the_query_begins(tmp_path: Path) -> None:
    (only,) = subscriptions(tmp_path, "é\t  /a")
    assert only.column == 5


def test_comments_and_empty_lines_are_skipped_but_counted(tmp_path: Path) -> None:
    found = subscriptions(tmp_path, "# first\n\n   \none\t/a\r\n# last\ntwo\t/b\n")
    assert [(each.subscription.id, each.subscription.query, each.line) for each in found] == [
        ("one", "/a", 4),
        ("two", "/b", 6),
    ]


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    (only,) = subscriptions(tmp_path, b"\xef\xbb\xbfone\t/a\n")
    assert only.subscription.id == "one"


def test_a_directive_applies_to_the_lines_after_it(tmp_path: Path) -> None:
    found = subscriptions(
        tmp_path,
        "zero\t/a\n"
        "@namespace p=urn:one\n"
        "one\t/p:a\n"
        "@namespace p = urn:two?a=b\n"
        "@default-namespace urn:all\n"
        "two\t/p:a\n"
        "@default-namespace\n"
        "three\t/a\n",
    )
    assert [dict(each.subscription.namespaces) for each in found] == [
        {},
        {"p": "urn:one"},
        {"p": "urn:two?a=b"},
        {"p": "urn:two?a=b"},
    ]
    assert [each.subscription.default_namespace for each in found] == [None, None, "urn:all", None]


def test_keywords_have_no_namespaces(tmp_path: Path) -> None:
    found = subscriptions(
        tmp_path,
        "@namespace p=urn:p\n@default-namespace urn:d\n"
        "@kind keywords\none\tstorm coast\n@kind xpath\ntwo\t/p:a\n",
    )
    assert [(each.kind, each.subscription.query) for each in found] == [
        ("keywords", "storm coast"),
        ("xpath", "/p:a"),
    ]
    assert found[0].subscription.namespaces == {}
    assert found[0].subscription.default_namespace is None
    assert found[1].subscription.namespaces == {"p": "urn:p"}


def test_json_lines(tmp_path: Path) -> None:
    found = subscriptions(
        tmp_path,
        '{"id": "one", "kind": "keywords", "query": "a"}\n\n'
        '{"id": "tab\\tid", "query": "/p:a", "namespaces": {"p": "urn:p"},'
        ' "default_namespace": "urn:d"}\n',
        "subs.jsonl",
    )
    assert [(each.subscription.id, each.subscription.query, each.line) for each in found] == [
        ("one", "a", 1),
        ("tab\tid", "/p:a", 3),
    ]
    assert [each.kind for each in found] == ["keywords", "xpath"]
    assert found[1].subscription.namespaces == {"p": "urn:p"}
    assert found[1].subscription.default_namespace == "urn:d"


@pytest.mark.parametrize(
    ("name", "content", "code", "line", "column"),
    [
        ("s.txt", "one\t/a\ntwo /b\n", "subscription-file.line", 2, 7),
        ("s.txt", "\t/a\n", "subscription-file.line", 1, 1),
        ("s.txt", "one\t\n", "subscription-file.line", 1, 4),
        ("s.txt", "@namespaces p=urn:p\n", "subscription-file.directive", 1, 1),
        ("s.txt", "@namespace p\n", "subscription-file.directive", 1, 1),
        ("s.txt", "@namespace =urn:p\n", "subscription-file.directive", 1, 1),
        ("s.txt", "@kind regex\n", "subscription-file.directive", 1, 1),
        ("s.txt", "one\t/a\ntwo\t/é\xff\n".encode("latin-1"), "subscription-file.encoding", 2, 6),
        ("s.jsonl", '{"id": "one", 2}\n', "subscription-file.not-json", 1, 15),
        ("s.jsonl", "[]\n", "subscription-file.line", 1, 1),
        ("s.jsonl", '{"id": 1, "query": "/a"}\n', "subscription-file.line", 1, 1),
        ("s.jsonl", '{"id": "one"}\n', "subscription-file.line", 1, 1),
        ("s.jsonl", '{"id": "1", "query": "/a", "x": 1}\n', "subscription-file.line", 1, 1),
        ("s.jsonl", '{"id": "1", "query": "/a", "kind": 1}\n', "subscription-file.line", 1, 1),
        ("s.jsonl", '{"id": "1", "query": "/a", "namespaces": []}', "subscription-file.line", 1, 1),
        (
            *("s.jsonl", '{"id": "1", "query": "/a", "default_namespace": 1}'),
            *("subscription-file.line", 1, 1),
        ),
    ],
)
def test_malformed_files_have_error_code_and_position(
    tmp_path: Path, name: str, content: str | bytes, code: str, line: int, column: int
) -> None:
    with pytest.raises(SubscriptionFileError) as caught:
        subscriptions(tmp_path, content, name)
    where = caught.value.where
    assert where is not None
    assert (caught.value.code, where.line, where.column) == (code, line, column)


def test_json_beyond_the_limits_of_its_parser_is_an_error_of_its_line(tmp_path: Path) -> None:
    path = tmp_path / "subs.jsonl"
    deep, long = "[" * 100_000, "1" * 5_000
    path.write_text(f'{{"id": {deep}\n{{"id": {long}}}\n{{"id": "good", "query": "/a"}}\n')
    reasons: list[SubscriptionFileError] = []
    found = list(read(path, reasons.append))
    assert [each.subscription.id for each in found] == ["good"]
    assert [(each.code, each.where and each.where.line) for each in reasons] == [
        ("subscription-file.not-json", 1),
        ("subscription-file.not-json", 2),
    ]


def test_the_number_of_namespace_directives_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "subs.txt"
    many = "".join(f"@namespace p{n}=urn:{n}\n" for n in range(MAX_NAMESPACES + 1))
    path.write_text(f"{many}one\t//p1:a\n@namespace p0=urn:new\ntwo\t//p0:a\n")
    reasons: list[SubscriptionFileError] = []
    found = list(read(path, reasons.append))
    assert [(each.code, each.where and each.where.line) for each in reasons] == [
        ("subscription-file.directive", MAX_NAMESPACES + 1)
    ]
    assert [len(each.subscription.namespaces) for each in found] == [MAX_NAMESPACES] * 2
    assert found[1].subscription.namespaces["p0"] == "urn:new"


def test_refused_entries_have_positions_and_the_others_are_added(tmp_path: Path) -> None:
    path = tmp_path / "subs.txt"
    found = subscriptions(
        tmp_path,
        "# c\ngood\t/a\nbad\t/a[$x]\ngood\t/b\nalso\t/c\n@kind keywords\nwords\ta b\nno\t  --\n",
    )
    paths, keywords = SubscriptionIndex(), KeywordIndex()
    order, refused = add_all(paths, keywords, iter(found))
    assert (len(paths), len(keywords)) == (2, 1)
    assert sorted(order, key=order.__getitem__) == ["good", "bad", "also", "words", "no"]
    assert [(each.reason.code, each.place(path)) for each in refused] == [
        ("query.variable", f"{path}:3:8"),
        ("subscription.duplicate", f"{path}:4:6"),
        ("keywords.none", f"{path}:8:6"),
    ]


def test_a_prefix_may_be_rebound_within_a_file(tmp_path: Path) -> None:
    found = subscriptions(
        tmp_path, "@namespace p=urn:1\none\t/p:a\n@namespace p=urn:2\ntwo\t/p:a\n"
    )
    index = SubscriptionIndex()
    assert add_all(index, KeywordIndex(), iter(found))[1] == []
    matches = index.matcher().match(b"<a xmlns='urn:2'/>")
    assert matches.ids == ("two",)
