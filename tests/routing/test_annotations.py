"""Annotations: when they are used, when they are ignored, and that a lie is detected."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.documents import Document, Limits
from penstock.errors import ERRORS, DocumentError
from penstock.routing import (
    NO_KINDS,
    AddNeighbour,
    AnnotationKind,
    AnnotationOptions,
    AnnotationReport,
    AnnotationsChanged,
    Deliveries,
    ForwardedDocument,
    LinkUp,
    LocalSubscription,
    MessageReceived,
    NeighbourDistrusted,
    Pattern,
    Publish,
    Router,
    RouterInput,
    RouterOutput,
    SendMessage,
    Subscribe,
)
from penstock.routing.annotation_gain import AnnotationGain
from penstock.routing.annotation_header import (
    ANNOTATION_VERSION,
    DOCUMENT_DIGEST,
    AnnotationError,
    attestation,
    decode_header,
    encode_header,
)
from penstock.routing.annotations import SECTIONS, DocumentAnnotations
from penstock.routing.interest_index import InterestIndex, Targets
from penstock.routing.limits import (
    AGGREGATE_NODES_MAX,
    ANNOTATION_BYTES_FREE,
    ANNOTATION_BYTES_MAX,
    ANNOTATION_REPORT_DOCUMENTS,
    ANNOTATION_SHARE_MAX,
    ANNOTATION_TRIAL_REPORTS,
)
from penstock.routing.reference import annotation_header as reference
from penstock.routing.reference.match_list import MatchList, encode_match_list
from support.routing.one_router import NOW, document, receive, snapshot

ATTESTED = attestation("wire/7", 100, b"l" * 8)
SET = b"s" * 16


class Pair:
    """Two routers: documents are published at the first one."""

    def __init__(
        self,
        queries: Iterable[str],
        options: AnnotationOptions = AnnotationOptions(),  # noqa: B008
        *,
        authenticated: bool = True,
        bound: int = AGGREGATE_NODES_MAX,
    ) -> None:
        self.first = Router(name="r1", neighbours=["r2"], annotations=options)
        self.second = Router(
            name="r2",
            neighbours=["r1"],
            annotations=options,
            aggregate_nodes=bound,
            chance=random.Random(1),
        )
        subscriptions = tuple(
            LocalSubscription(id=f"s{number}", subscriber="ada", query=query)
            for number, query in enumerate(queries)
        )
        self.second.receive(Subscribe(subscriptions=subscriptions), NOW)
        routers = {"r1": (self.first, "r2"), "r2": (self.second, "r1")}
        waiting: list[tuple[str, LinkUp | MessageReceived]] = [
            (name, LinkUp(neighbour=other, is_authenticated=authenticated))
            for name, (_, other) in routers.items()
        ]
        while waiting:
            name, input_ = waiting.pop(0)
            router, other = routers[name]
            for output in router.receive(input_, NOW):
                assert isinstance(output, SendMessage)
                waiting.append((other, MessageReceived(neighbour=name, message=output.message)))

    def publish(self, published: Document) -> list[ForwardedDocument]:
        """What the first router forwards."""
        outputs = self.first.receive(Publish(document=published), NOW)
        messages = [output.message for output in outputs if isinstance(output, SendMessage)]
        return [message for message in messages if isinstance(message, ForwardedDocument)]

    def route(self, published: Document) -> tuple[RouterOutput, ...]:
        """What the second router does with a document of the first."""
        (forwarded,) = self.publish(published)
        return receive(self.second, "r1", forwarded)


def deliveries(outputs: Iterable[RouterOutput]) -> list[str]:
    return [
        recipient.id
        for output in outputs
        if isinstance(output, Deliveries)
        for recipient in output.recipients
    ]


def test_a_document_that_a_match_list_decides_is_not_read() -> None:
    pair = Pair(["/a[b]", "//c", "/x"])
    (forwarded,) = pair.publish(document(b"<a><b/><c/></a>"))
    # Content that is not well-formed shows that nobody reads it. Its size is the same.
    unread = Document(b"<a><b/><c/></b>", forwarded.document.header)
    message = ForwardedDocument(document=unread, annotations=forwarded.annotations)
    assert deliveries(receive(pair.second, "r1", message)) == ["s0", "s1"]
    assert pair.second.counters.not_read == 1


def test_a_match_list_decides_what_is_equivalent_to_an_announced_pattern() -> None:
    # Both select elements below the root; equivalent patterns are announced once.
    queries = ["/*//a", "//*/a", "/x"]
    pair = Pair(queries)
    assert len(pair.first.interest_of("r2")) == 2
    assert deliveries(pair.route(document(b"<b><a/></b>"))) == ["s0", "s1"]
    assert pair.second.counters.not_read == 1


def test_a_query_that_is_too_long_to_be_announced_is_never_decided() -> None:
    # The normal form has spaces that the query has not.
    values = " or ".join(f"b='{'x' * 317}{number}'" for number in range(50))
    pair = Pair([f"//a[{values}]", "/*"])
    assert deliveries(pair.route(document(b"<a/>"))) == ["s1"]
    assert pair.second.counters.not_read == 0


@pytest.mark.parametrize(
    "options", [AnnotationOptions(kinds=NO_KINDS), AnnotationOptions(uses_received=False)]
)
def test_without_annotations_documents_are_read(options: AnnotationOptions) -> None:
    pair = Pair(["/a[b]"], options)
    assert deliveries(pair.route(document(b"<a><b/></a>"))) == ["s0"]
    assert pair.second.counters.not_read == 0


def test_annotations_of_an_unauthenticated_neighbour_are_ignored() -> None:
    authenticated = Pair(["/a[b]", "/a[c]"])
    (forwarded,) = authenticated.publish(document(b"<a><b/></a>"))
    assert forwarded.annotations
    pair = Pair(["/a[b]", "/a[c]"], authenticated=False)
    assert pair.publish(document(b"<a><b/></a>"))[0].annotations == b""
    lying = Document(b"<a><c/></a>", forwarded.document.header)
    message = ForwardedDocument(document=lying, annotations=forwarded.annotations)
    assert deliveries(receive(pair.second, "r1", message)) == ["s1"]


def test_annotations_of_an_earlier_interest_are_ignored() -> None:
    pair = Pair(["/a"])
    (forwarded,) = pair.publish(document(b"<a><b/></a>"))
    late = LocalSubscription(id="late", subscriber="ada", query="//b")
    pair.second.receive(Subscribe(subscriptions=(late,)), NOW)
    assert deliveries(receive(pair.second, "r1", forwarded)) == ["s0", "late"]
    assert pair.second.counters.ignored_annotations == 1


def test_annotations_under_other_limits_are_ignored() -> None:
    pair = Pair(["/a"])
    (forwarded,) = pair.publish(document(b"<a><b/></a>"))
    strict = Router.restore(pair.second.state(), document_limits=Limits(depth=1))
    strict.receive(LinkUp(neighbour="r1", is_authenticated=True), NOW)
    assert deliveries(receive(strict, "r1", forwarded)) == []
    assert strict.counters.dead == 1


def _forged(pair: Pair, published: Document, match_list: MatchList) -> ForwardedDocument:
    """The document with the annotations of a neighbour that lies."""
    (forwarded,) = pair.publish(published)
    digest = pair.first._neighbours["r2"].interest_digest
    attested = forwarded.annotations[: len(ATTESTED)]
    header = encode_header(attested, digest, {1: encode_match_list(match_list)})
    return ForwardedDocument(document=forwarded.document, annotations=header)


def test_a_neighbour_that_lies_is_distrusted_when_its_annotations_are_verified() -> None:
    pair = Pair(["/a[b]", "/a[c]"], AnnotationOptions(verified_share=1.0))
    forged = _forged(pair, document(b"<a><b/></a>"), MatchList([0, 1]))
    outputs = receive(pair.second, "r1", forged)
    assert deliveries(outputs) == ["s0"], "what was read counts"
    (distrusted,) = [each for each in outputs if isinstance(each, NeighbourDistrusted)]
    assert (distrusted.neighbour, distrusted.code) == ("r1", "routing.annotations")
    assert distrusted.code in ERRORS
    assert pair.second.counters.verified_annotations == 1
    # From now on its annotations are not used, verified or not.
    assert deliveries(pair.route(document(b"<a><b/></a>", number=2))) == ["s0"]
    assert pair.second.counters.verified_annotations == 1
    assert pair.second.counters.not_read == 0


def test_an_attestation_of_a_malformed_document_is_a_lie() -> None:
    pair = Pair(["/a[b]"], AnnotationOptions(verified_share=1.0))
    (forwarded,) = pair.publish(document(b"<a><b/></a>"))
    malformed = Document(b"<a><b/></b>", forwarded.document.header)
    message = ForwardedDocument(document=malformed, annotations=forwarded.annotations)
    outputs = receive(pair.second, "r1", message)
    assert any(isinstance(output, NeighbourDistrusted) for output in outputs)
    assert pair.second.counters.dead == 1


def _verified_where_a_neighbour_is_costly() -> tuple[Router, ForwardedDocument]:
    """The middle one of three routers, which knows 100 costly queries of the last, and a document
    of the first. What the middle one announces is so coarse that the first decides all of it."""
    limits = Limits(work=300)
    routers = {
        "a": Router(name="a", neighbours=["b"], document_limits=limits),
        "b": Router(
            name="b",
            neighbours=["a", "c"],
            document_limits=limits,
            aggregate_nodes=60,
            annotations=AnnotationOptions(verified_share=1.0),
        ),
        "c": Router(name="c", neighbours=["b"], document_limits=limits),
    }
    costly = [
        f"//*[.//b[@k={n}]]//*[.//a[@k={n}] and .//b != {n} and .//never]" for n in range(100)
    ]
    own = {"c": costly, "b": ["/a"]}
    for name, queries in own.items():
        subscriptions = tuple(
            LocalSubscription(id=f"{name}{n}", subscriber=name, query=query)
            for n, query in enumerate(queries)
        )
        routers[name].receive(Subscribe(subscriptions=subscriptions), NOW)
    waiting: list[tuple[str, RouterInput]] = []
    for one, two in (("b", "c"), ("a", "b")):
        waiting.append((one, LinkUp(neighbour=two, is_authenticated=True)))
        waiting.append((two, LinkUp(neighbour=one, is_authenticated=True)))
        while waiting:
            name, input_ = waiting.pop(0)
            for output in routers[name].receive(input_, NOW):
                assert isinstance(output, SendMessage)
                message = MessageReceived(neighbour=name, message=output.message)
                waiting.append((output.neighbour, message))
    inner = "".join(f"<a k='{n}'/><b k='{n}'>{n}</b>" for n in range(50))
    published = document(f"{'<a>' * 50}{inner}{'</a>' * 50}".encode())
    (sent,) = routers["a"].receive(Publish(document=published), NOW)
    assert isinstance(sent, SendMessage)
    assert isinstance(sent.message, ForwardedDocument)
    return routers["b"], sent.message


def test_a_truthful_neighbour_is_trusted_where_patterns_of_another_are_set_aside() -> None:
    router, forwarded = _verified_where_a_neighbour_is_costly()
    outputs = receive(router, "a", forwarded)
    assert router.counters.verified_annotations == 1, "annotations decided it"
    assert router.counters.set_aside == 0, "no own subscription is set aside"
    assert router.counters.forwards == 1, "what the last one may want is forwarded"
    assert deliveries(outputs) == ["b0"]
    assert not any(isinstance(output, NeighbourDistrusted) for output in outputs)


@pytest.mark.parametrize(
    ("code", "is_distrusted"),
    [
        ("internal.error", False),
        ("limit.comparison", False),
        ("limit.names-bytes", False),
        ("mapping.held", False),
        ("encoding.bytes", True),
        ("xml.end-tag", True),
    ],
)
def test_a_refusal_that_depends_on_the_router_is_no_contradiction(
    code: str, is_distrusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(["/a[b]"], AnnotationOptions(verified_share=1.0))
    (forwarded,) = pair.publish(document(b"<a><b/></a>"))
    refused = Targets(refusal=DocumentError(code, "refused"))
    monkeypatch.setattr(InterestIndex, "match", lambda *_, **__: refused)
    outputs = receive(pair.second, "r1", forwarded)
    assert pair.second.counters.verified_annotations == 1
    assert pair.second.counters.dead == 1
    distrusted = any(isinstance(output, NeighbourDistrusted) for output in outputs)
    assert distrusted == is_distrusted


def test_the_truth_passes_verification() -> None:
    pair = Pair(["/a[b]", "//c"], AnnotationOptions(verified_share=0.5))
    for number in range(40):
        outputs = pair.route(document(b"<a><b/></a>", number=number))
        assert deliveries(outputs) == ["s0"]
        assert not any(isinstance(output, NeighbourDistrusted) for output in outputs)
    counters = pair.second.counters
    assert 5 < counters.verified_annotations < 35
    assert counters.verified_annotations + counters.not_read == 40


def test_a_report_of_other_annotations_has_nothing_of_the_earlier_ones() -> None:
    pair = Pair(["/a[b]"])
    reports: list[AnnotationReport] = []

    def route(numbers: range) -> None:
        for number in numbers:
            outputs = pair.route(document(b"<a><b/></a>", number=number))
            sent = [each.message for each in outputs if isinstance(each, SendMessage)]
            reports.extend(each for each in sent if isinstance(each, AnnotationReport))

    route(range(ANNOTATION_REPORT_DOCUMENTS // 2))
    assert pair.second.counters.not_read == ANNOTATION_REPORT_DOCUMENTS // 2
    for router in (pair.first, pair.second):
        router.receive(AnnotationsChanged(options=fixed(AnnotationKind.NEGATIVE_DATA)), NOW)
    route(range(1_000, 1_000 + ANNOTATION_REPORT_DOCUMENTS))
    (report,) = reports
    assert report.documents == ANNOTATION_REPORT_DOCUMENTS
    assert report.bytes_not_read[AnnotationKind.MATCH_LIST] == 0


# Each kind by itself


def fixed(*kinds: AnnotationKind) -> AnnotationOptions:
    return AnnotationOptions(kinds=frozenset(kinds), is_adaptive=False)


def test_a_skeleton_decides_linear_paths() -> None:
    pair = Pair(["/a/b", "//c", "/a[d = 3]"], fixed(AnnotationKind.SKELETON))
    pair.route(document(b"<a><b/></a>", number=1))
    assert deliveries(pair.route(document(b"<a><b/></a>", number=2))) == ["s0"]
    assert pair.second.counters.not_read >= 1
    # A value test that the label paths permit has to be read.
    before = pair.second.counters.not_read
    assert deliveries(pair.route(document(b"<a><d>3</d><b/></a>", number=3))) == ["s0", "s2"]
    assert pair.second.counters.not_read == before


def test_last_offsets_spare_the_rest_of_a_document() -> None:
    rest = b"<rest>" + b"<x/>" * 200 + b"</rest>"
    kinds = (AnnotationKind.NEGATIVE_SUBSCRIPTIONS, AnnotationKind.POSITIVE_DATA)
    pair = Pair(["/a/b[@n = 1]", "/a/b[@n = 2]"], fixed(*kinds))
    for number in (1, 2):
        content = b"<a><b n='1'/>" + rest + b"</a>"
        assert deliveries(pair.route(document(content, number=number))) == ["s0"]
    assert pair.second.counters.read_in_part >= 1


def test_absent_names_exclude() -> None:
    # What matches is known by `PS`, which says nothing about the other subscription.
    for kinds, not_read in ((set(), 0), ({AnnotationKind.NEGATIVE_DATA}, 2)):
        pair = Pair(["/a[b]", "/a[c]"], fixed(AnnotationKind.POSITIVE_SUBSCRIPTIONS, *kinds))
        for number in (1, 2):
            assert deliveries(pair.route(document(b"<a><b/></a>", number=number))) == ["s0"]
        assert pair.second.counters.not_read == not_read


def test_bindings_prove_what_was_merged() -> None:
    lists = (AnnotationKind.NEGATIVE_SUBSCRIPTIONS, AnnotationKind.POSITIVE_SUBSCRIPTIONS)
    for kinds, not_read in ((lists[:1], 0), (lists, 2)):
        # The names are in the announced set, though those two patterns are merged.
        pair = Pair(["/a/b", "/a/c", "/b", "/c"], fixed(*kinds), bound=4)
        assert {str(pattern) for pattern in pair.first.interest_of("r2")} == {"/a/*", "/b", "/c"}
        for number in (1, 2):
            both = document(b"<a><b/><c/></a>", number=number)
            assert deliveries(pair.route(both)) == ["s0", "s1"]
        assert pair.second.counters.not_read == not_read
        # Bindings prove matches, never that something does not match.
        assert deliveries(pair.route(document(b"<a><b/></a>", number=3))) == ["s0"]
        assert pair.second.counters.not_read == not_read


@pytest.mark.parametrize("kind", sorted(AnnotationKind))
def test_malformed_annotations_are_ignored(kind: AnnotationKind) -> None:
    pair = Pair(["/a[b]", "/a[c = 1]"], fixed(*AnnotationKind))
    for number in range(4):
        (forwarded,) = pair.publish(document(b"<a><b/></a>", number=number))
        attested = forwarded.annotations[: len(ATTESTED)]
        digest = pair.first._neighbours["r2"].interest_digest
        header = encode_header(attested, digest, {SECTIONS[kind]: b"\xff\xff\xff\xff\xff"})
        message = ForwardedDocument(document=forwarded.document, annotations=header)
        assert deliveries(receive(pair.second, "r1", message)) == ["s0"]


# The choice of kinds


def report(*, read: int, times: tuple[int, int] = (0, 0), **saved: int) -> AnnotationReport:
    """A report about 64 documents; ``times`` are those of reading and of using skeletons."""
    reading, deciding = times
    return AnnotationReport(
        documents=ANNOTATION_REPORT_DOCUMENTS,
        bytes_read=read,
        bytes_not_read={name.replace("_", "-"): bytes_ for name, bytes_ in saved.items()},
        nanoseconds_reading=reading,
        nanoseconds_deciding={"skeleton": deciding},
    )


def after_a_trial(
    gain: AnnotationGain, last: AnnotationReport, *, making: int = 0
) -> frozenset[AnnotationKind]:
    """The kinds after a trial of all kinds, of which only skeletons and match lists can be sent."""
    assert gain.kinds == frozenset(AnnotationKind), "a trial"
    for number in range(ANNOTATION_TRIAL_REPORTS):
        sizes = {AnnotationKind.MATCH_LIST: 100, AnnotationKind.SKELETON: 100}
        gain.sent(sizes, {AnnotationKind.SKELETON: making})
        is_last = number == ANNOTATION_TRIAL_REPORTS - 1
        gain.reported(last if is_last else report(read=9_000))
    return gain.kinds


def test_other_kinds_are_tried_where_the_neighbour_reads() -> None:
    gain = AnnotationGain(AnnotationOptions())
    assert gain.next_kinds() == {AnnotationKind.MATCH_LIST}
    gain.sent({AnnotationKind.MATCH_LIST: 100})
    gain.reported(report(read=9_000))
    assert after_a_trial(gain, report(read=500, skeleton=9_000)) == {AnnotationKind.SKELETON}


def test_a_kind_must_save_more_time_than_it_takes() -> None:
    for reading, is_kept in ((9_000, True), (900, False)):
        gain = AnnotationGain(AnnotationOptions())
        gain.sent({AnnotationKind.MATCH_LIST: 100})
        gain.reported(report(read=9_000))
        # 900 bytes are not read, which would take 900 or 90 ns. Skeletons take 400 ns: making them
        # twice 100, using them 200.
        last = report(read=9_000, times=(reading, 200), skeleton=900)
        assert (AnnotationKind.SKELETON in after_a_trial(gain, last, making=100)) is is_kept


def test_trials_become_rare() -> None:
    gain = AnnotationGain(AnnotationOptions())
    intervals = [0]
    for _ in range(400):
        gain.sent(dict.fromkeys(gain.kinds, 100))
        gain.reported(report(read=9_000, match_list=90_000))
        if gain.kinds == frozenset(AnnotationKind):
            intervals.append(0)
        else:
            assert gain.kinds == {AnnotationKind.MATCH_LIST}
            intervals[-1] += 1
    assert [each for each in intervals if each][:8] == [2, 4, 8, 16, 32, 64, 64, 64]


def test_a_neighbour_without_annotations_gets_all_kinds_again() -> None:
    gain = AnnotationGain(AnnotationOptions())
    gain.sent({AnnotationKind.MATCH_LIST: 100})
    gain.reported(report(read=9_000))
    assert after_a_trial(gain, report(read=9_000)) == frozenset()
    following = [gain.next_kinds() for _ in range(4 * ANNOTATION_REPORT_DOCUMENTS)]
    assert set(following) == {frozenset(), frozenset(AnnotationKind)}


def test_other_kinds_are_not_tried_where_match_lists_suffice() -> None:
    gain = AnnotationGain(AnnotationOptions())
    gain.sent({AnnotationKind.MATCH_LIST: 100})
    gain.reported(report(read=1_000, match_list=99_000))
    assert gain.next_kinds() == {AnnotationKind.MATCH_LIST}


def test_fixed_kinds_are_sent_whatever_they_save() -> None:
    gain = AnnotationGain(AnnotationOptions(is_adaptive=False))
    gain.sent({AnnotationKind.MATCH_LIST: 100})
    gain.reported(AnnotationReport(documents=64))
    assert gain.next_kinds() == frozenset(AnnotationKind)


def test_routers_report_what_annotations_saved() -> None:
    pair = Pair(["/a[b]"])
    reports = []
    for number in range(2 * ANNOTATION_REPORT_DOCUMENTS):
        outputs = pair.route(document(b"<a><b/></a>", number=number))
        sent = [each.message for each in outputs if isinstance(each, SendMessage)]
        reports += [message for message in sent if isinstance(message, AnnotationReport)]
    assert len(reports) == 2
    assert reports[0].bytes_not_read["match-list"] == ANNOTATION_REPORT_DOCUMENTS * 11
    assert reports[0].bytes_read == 0
    receive(pair.first, "r2", reports[0])


def test_documents_that_are_not_read_are_counted_like_others() -> None:
    pair = Pair(["/a[b]", "//c", "/x"])
    later = NOW + timedelta(days=1)
    inactive = LocalSubscription(id="later", subscriber="ben", query="/a", starts_at=later)
    changes = [
        *pair.second.receive(AddNeighbour(neighbour="r3"), NOW),
        *pair.second.receive(LinkUp(neighbour="r3"), NOW),
        *receive(pair.second, "r3", snapshot(1, [Pattern.of_path("/a/b")])),
        *pair.second.receive(Subscribe(subscriptions=(inactive,)), NOW),
    ]
    for output in changes:
        if isinstance(output, SendMessage) and output.neighbour == "r1":
            receive(pair.first, "r2", output.message)
    before = pair.second.counters
    (forwarded,) = pair.publish(document(b"<a><b/><c/></a>"))
    outputs = receive(pair.second, "r1", forwarded)
    assert deliveries(outputs) == ["s0", "s1"]
    (sent,) = [each.message for each in outputs if isinstance(each, SendMessage)]
    assert sent == ForwardedDocument(document=forwarded.document), "r3 is not authenticated"
    after = pair.second.counters
    changed = {
        name: getattr(after, name) - getattr(before, name)
        for name in after.__slots__
        if getattr(after, name) != getattr(before, name)
    }
    assert changed == {"received": 1, "matched": 1, "not_read": 1, "deliveries": 2, "forwards": 1}


# The header


@given(st.text(), st.integers(0, 1 << 40))
def test_the_native_attestation_is_the_reference_one(identity: str, size: int) -> None:
    try:
        identity.encode()
    except UnicodeEncodeError:
        return  # identities have an encoding
    expected = reference.attestation(ANNOTATION_VERSION, identity, size, b"l" * 8)
    assert attestation(identity, size, b"l" * 8) == expected
    assert expected[DOCUMENT_DIGEST] == reference.identity_digest(identity)


def test_headers_are_bounded() -> None:
    for size in (100, 100_000, 1 << 30):
        headers = DocumentAnnotations(attestation("wire/7", size, b"l" * 8), size)
        payload = bytes(ANNOTATION_BYTES_MAX // 8)
        parts = {AnnotationKind.MATCH_LIST: payload, AnnotationKind.SKELETON: b"123"}
        encoded, sizes = headers.encode(SET, parts)
        assert len(encoded) <= max(ANNOTATION_BYTES_FREE, size * ANNOTATION_SHARE_MAX)
        assert len(encoded) <= ANNOTATION_BYTES_MAX
        assert AnnotationKind.SKELETON in sizes, "what fits is sent without what does not"
        assert dict(headers.decode(encoded, SET)) == {
            kind: payload for kind, payload in parts.items() if kind in sizes
        }


def test_headers_that_are_too_large_are_ignored() -> None:
    encoded = encode_header(ATTESTED, SET, {1: bytes(ANNOTATION_BYTES_MAX)})
    with pytest.raises(AnnotationError, match="too large"):
        decode_header(encoded, ATTESTED, SET)


def test_unknown_sections_are_ignored() -> None:
    encoded = encode_header(ATTESTED, SET, {200: b"later", 1: b"list"})
    assert decode_header(encoded, ATTESTED, SET) == {200: b"later", 1: b"list"}
    headers = DocumentAnnotations(ATTESTED, 100)
    assert headers.decode(encoded, SET) == {AnnotationKind.MATCH_LIST: b"list"}


@given(st.dictionaries(st.integers(0, 255), st.binary(max_size=9), max_size=4), st.data())
def test_damage_is_recognised(sections: dict[int, bytes], data: st.DataObject) -> None:
    encoded = encode_header(ATTESTED, SET, sections)
    assert encoded == reference.encode_header(ATTESTED, SET, sections)
    assert decode_header(encoded, ATTESTED, SET) == sections
    at = data.draw(st.integers(0, len(encoded) - 1))
    flipped = bytearray(encoded)
    flipped[at] ^= 1 << data.draw(st.integers(0, 7))
    for damaged in (bytes(flipped), encoded[:at]):
        with pytest.raises(AnnotationError):
            decode_header(damaged, ATTESTED, SET)


@given(st.binary(max_size=40))
def test_sections_that_make_no_sense_are_refused(body: bytes) -> None:
    # With a valid checksum, as a faulty neighbour would send them.
    encoded = encode_header(ATTESTED, SET + body, {})
    try:
        sections = decode_header(encoded, ATTESTED, SET)
    except AnnotationError:
        return
    assert encode_header(ATTESTED, SET, sections) == encoded


def test_routers_that_lost_a_neighbour_keep_their_counts() -> None:
    pair = Pair(["/a"])
    pair.route(document(b"<a/>"))
    assert Router.restore(pair.second.state()).counters == pair.second.counters
