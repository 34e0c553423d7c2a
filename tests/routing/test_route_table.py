"""Match lists and route tables: the native ones agree with the reference."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.matching import Matches, SubscriptionIndex
from penstock.native import native
from penstock.routing.annotation_header import MATCH_LIST_SECTION, encode_header
from penstock.routing.limits import ANNOTATION_BYTES_MAX
from penstock.routing.local_subscription import LocalSubscription
from penstock.routing.native_route_table import NativeRouteTable
from penstock.routing.reference.match_list import (
    MatchList,
    decode_match_list,
    encode_match_list,
)
from penstock.routing.reference.route_table import ReferenceRouteTable
from penstock.routing.routes import LOCAL, Container, PassedOn, Routes, RouteTable

pytestmark = pytest.mark.skipif(native is None, reason="compares with the native core")

GROUPS = (LOCAL, 1, 2, 3)

digests = st.integers(1, 30).map(lambda number: bytes([number]) * 16)
targets = st.lists(st.tuples(st.sampled_from(GROUPS), digests), max_size=30, unique=True)
ranks = st.sets(st.integers(0, 40))


@given(ranks, ranks)
def test_lists_are_decoded_as_they_were_encoded(matched: set[int], unknown: set[int]) -> None:
    expected = MatchList(sorted(matched), sorted(unknown - matched))
    assert decode_match_list(encode_match_list(expected), 41) == expected


@given(st.binary(max_size=24), st.integers(0, 50))
def test_reference_decodes_and_refuses_like_the_native_core(encoded: bytes, size: int) -> None:
    announced = [bytes([number]) * 16 for number in range(1, size + 1)]
    outcomes = []
    for table in (NativeRouteTable(), ReferenceRouteTable()):
        table.announce(1, announced, [])
        table.add(LOCAL, enumerate(announced))
        table.set_containers(1, [])
        outcomes.append(_outcome(table, encoded))
    assert outcomes[0] == outcomes[1]


@given(st.binary(max_size=40), st.sampled_from([b"set", b"other", b"se"]))
def test_tables_agree_on_headers_that_make_no_sense(body: bytes, stated: bytes) -> None:
    # With a valid checksum, as a faulty neighbour would send them.
    encoded = encode_header(b"attested", b"set" + body, {})
    outcomes = []
    for table in (NativeRouteTable(), ReferenceRouteTable()):
        table.announce(1, [b"a" * 16], [])
        table.set_containers(1, [])
        for header in (encoded, encoded[:-1], b"", encoded + bytes(ANNOTATION_BYTES_MAX)):
            try:
                outcomes.append(table.of_header(1, header, b"attested", stated))
            except ValueError:
                outcomes.append(None)
    assert outcomes[:4] == outcomes[4:]


def _outcome(table: RouteTable, encoded: bytes) -> Routes | str:
    try:
        return table.of_match_list(1, encoded)
    except ValueError:
        return "refused"


@given(targets, st.sets(digests), ranks, ranks, st.data())
def test_tables_agree_on_lists(
    drawn: list[tuple[int, bytes]],
    announced: set[bytes],
    matched: set[int],
    unknown: set[int],
    data: st.DataObject,
) -> None:
    tables = _tables(drawn)
    within = range(len(announced))
    match_list = encode_match_list(
        MatchList(
            sorted(matched.intersection(within)),
            sorted((unknown - matched).intersection(within)),
        )
    )
    routes = []
    splits = []
    containers: dict[int, Container] | None = None
    for table in tables:
        table.announce(1, announced, [])
        assert table.must_be_prepared(1)
        header = encode_header(b"attested", b"set", {MATCH_LIST_SECTION: match_list, 9: b""})
        assert table.of_header(1, header, b"attested", b"set") is None
        unannounced = sorted(table.unannounced(1))
        if containers is None:
            choices = st.sampled_from(sorted(announced)) if announced else st.just(bytes(16))
            containers = {
                number: Container(data.draw(choices), data.draw(st.booleans()))
                for number in unannounced
            }
        assert sorted(containers) == unannounced
        table.set_containers(1, containers.items())
        routes.append(table.of_match_list(1, match_list))
        table.set_interest(2, b"2" * 16)
        headers = [
            (group, encode_header(b"attested", _interest(group), {MATCH_LIST_SECTION: each}))
            for group, each in routes[-1].forwards
        ]
        decided = table.of_header(1, header, b"attested", b"set")
        recipients = tuple(map(_recipient, routes[-1].local))
        assert decided == (None if routes[-1].is_undecided else (recipients, headers))
        assert table.passed_on() == PassedOn()
        assert table.pass_on(1, header, b"attested", b"set") == decided
        if decided is not None:
            assert table.passed_on() == PassedOn(
                documents=1,
                unmatched=int(not recipients and not headers),
                recipients=len(recipients),
                headers=len(headers),
                header_bytes=sum(len(each) for _, each in headers),
            )
        without_list = encode_header(b"attested", b"set", {9: match_list})
        assert table.of_header(1, without_list, b"attested", b"set") is None
        split = tuple(map(sorted, table.split_match_list(1, match_list)))
        splits.append(split)
        assert _comparable(table.of_numbers(split[0], 1))[:3] == _comparable(routes[-1])[:3]
        assert not table.must_be_prepared(1)
    assert _comparable(routes[0]) == _comparable(routes[1])
    assert splits[0] == splits[1]


def _recipient(number: int) -> LocalSubscription:
    return LocalSubscription(id=f"s{number}", subscriber="ada", query="/a")


def _interest(group: int) -> bytes:
    return b"2" * 16 if group == 2 else bytes(16)


@given(targets, st.sets(st.integers(0, 29)), st.sampled_from((None, 1, 2)), st.booleans())
def test_tables_agree_on_documents_that_were_read(
    drawn: list[tuple[int, bytes]], chosen: set[int], source: int | None, removes: bool
) -> None:
    index = SubscriptionIndex()
    for number in range(len(drawn)):
        index.add(str(number), f"/a[@n{number}]")
    tables = _tables(drawn)
    if removes and drawn:
        index.remove("0")
        for table in tables:
            table.remove([0])
    attributes = " ".join(f'n{number}=""' for number in sorted(chosen))
    matches = index.matcher().match(f"<a {attributes}/>".encode())
    routes = [_comparable(table.of_matches(matches, source)) for table in tables]
    assert routes[0] == routes[1]
    # Results that were combined from two readings have ids instead of handles.
    assert _comparable(tables[0].of_matches(_resolved(matches), source)) == routes[0]


def _resolved(matches: Matches) -> Matches:
    return copy.copy(matches)  # by `__reduce__`, which resolves the handles


def _tables(drawn: list[tuple[int, bytes]]) -> tuple[RouteTable, RouteTable]:
    tables = (NativeRouteTable(), ReferenceRouteTable())
    for table in tables:
        for group in GROUPS:
            of_group = [
                (number, digest)
                for number, (own_group, digest) in enumerate(drawn)
                if own_group == group
            ]
            table.add(group, of_group)
            if group == LOCAL:
                table.set_recipients({number: _recipient(number) for number, _ in of_group})
    return tables


def _comparable(routes: Routes) -> Routes:
    return routes._replace(
        local=list(routes.local), forwards=list(routes.forwards), unknown=list(routes.unknown)
    )


def test_recipients_follow_changes_of_local_targets() -> None:
    digests = [bytes([number]) * 16 for number in range(1, 5)]
    header = encode_header(
        b"attested",
        b"set",
        {MATCH_LIST_SECTION: encode_match_list(MatchList([0, 1, 2, 3]))},
    )
    for table in (NativeRouteTable(), ReferenceRouteTable()):
        table.announce(1, digests, [])

        def recipients(of: RouteTable = table) -> list[str]:
            of.set_containers(1, [])
            decided = of.pass_on(1, header, b"attested", b"set")
            assert decided is not None
            return [each.id for each in decided[0]]

        for number in (7, 3):
            table.add(LOCAL, [(number, digests[number % 4])])
            table.set_recipients({number: _recipient(number)})
        assert recipients() == ["s3", "s7"]
        table.add(LOCAL, [(5, digests[0])])
        table.set_recipients({5: _recipient(5)})
        assert recipients() == ["s3", "s5", "s7"]
        table.remove([3])
        assert recipients() == ["s5", "s7"]
        table.set_recipients({5: _recipient(50)})
        assert recipients() == ["s50", "s7"]
        assert table.passed_on()[:3] == (4, 0, 9)


def test_a_target_below_no_announced_pattern_is_never_lost() -> None:
    for table in (NativeRouteTable(), ReferenceRouteTable()):
        table.add(LOCAL, [(0, b"a" * 16)])
        table.announce(1, [b"b" * 16], [])
        table.set_containers(1, [])
        assert table.of_match_list(1, encode_match_list(MatchList())).is_undecided
