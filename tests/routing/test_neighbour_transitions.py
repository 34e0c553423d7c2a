"""The transition table of a neighbour: every pair of status and input, and the figure."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markdown_pages import code_blocks
from neighbour_states import neighbour_diagram

from penstock.errors import RoutingError
from penstock.routing import (
    UNIVERSAL,
    DigestConfirmation,
    DigestRequest,
    ForwardedDocument,
    LinkDown,
    LinkReset,
    LinkUp,
    MessageReceived,
    NeighbourStatus,
    Router,
    RouterInput,
    RouterMessage,
    digest_of,
)
from penstock.routing.neighbour_transitions import (
    INTEREST_IS_KNOWN,
    LINK_IS_UP,
    NEIGHBOUR_TRANSITIONS,
    REQUEST_IS_SENT,
    NeighbourInput,
)
from support.fixtures.repository import DOCS
from support.routing.one_router import NOW, delta, document, link_up, paths, receive, sent, snapshot

KNOWN = paths("/a", "//b")
OTHER = paths("//c")


def in_status(status: NeighbourStatus) -> Router:
    """A router whose neighbour ``r2`` has come into a status by legal means."""
    router = Router(name="r1", neighbours=["r2", "r3"])
    if status is NeighbourStatus.UNKNOWN:
        return router
    if status is NeighbourStatus.SYNCHRONISING:
        router.receive(LinkUp(neighbour="r2"), NOW)
        return router
    link_up(router, "r2", KNOWN)
    match status:
        case NeighbourStatus.VERIFYING:
            router.receive(LinkUp(neighbour="r2"), NOW)
        case NeighbourStatus.REFUSED:
            receive(router, "r2", replace(snapshot(1, KNOWN), digest=digest_of([])))
        case NeighbourStatus.DOWN:
            router.receive(LinkDown(neighbour="r2"), NOW)
    return router


def message_of(input_: NeighbourInput, request: int) -> RouterMessage:
    """A message that is classified as an input, if the latest request has this number."""
    match input_:
        case NeighbourInput.DOCUMENT:
            return ForwardedDocument(document=document())
        case NeighbourInput.DIGEST_REQUEST:
            return DigestRequest(number=1, digest="")
        case NeighbourInput.DELTA:
            return delta(KNOWN, OTHER)
        case NeighbourInput.BAD_DELTA:
            return delta(OTHER, KNOWN)
        case NeighbourInput.CONFIRMATION:
            return DigestConfirmation(number=request, digest=digest_of(KNOWN))
        case NeighbourInput.BAD_CONFIRMATION:
            return DigestConfirmation(number=request, digest=digest_of(OTHER))
        case NeighbourInput.SNAPSHOT:
            return snapshot(request, OTHER)
        case NeighbourInput.BAD_SNAPSHOT:
            return replace(snapshot(request, OTHER), digest=digest_of(KNOWN))
        case _:
            assert input_ is NeighbourInput.LATE_ANSWER
            return snapshot(request + 1, OTHER)


def input_of(input_: NeighbourInput, router: Router) -> RouterInput:
    match input_:
        case NeighbourInput.LINK_UP:
            return LinkUp(neighbour="r2")
        case NeighbourInput.LINK_DOWN:
            return LinkDown(neighbour="r2")
        case NeighbourInput.LINK_RESET:
            return LinkReset(
                neighbour="r2", unacknowledged=(ForwardedDocument(document=document()),)
            )
    request = max(router.state().neighbours[0].requests, 1)
    return MessageReceived(neighbour="r2", message=message_of(input_, request))


@pytest.mark.parametrize("input_", NeighbourInput)
@pytest.mark.parametrize("status", NeighbourStatus)
def test_every_pair_of_status_and_input(status: NeighbourStatus, input_: NeighbourInput) -> None:
    router = in_status(status)
    assert router.status("r2") is status
    before = router.state()
    given = input_of(input_, router)
    following = NEIGHBOUR_TRANSITIONS[status].get(input_)
    if following is not None:
        outputs = router.receive(given, NOW)
        assert router.status("r2") is following
        is_known = router.interest_of("r2") != (UNIVERSAL,)
        assert is_known == (following in INTEREST_IS_KNOWN)
        if following not in LINK_IS_UP:
            assert sent(outputs, "r2") == []
        requests = [each for each in sent(outputs, "r2") if isinstance(each, DigestRequest)]
        if following is not status and following in REQUEST_IS_SENT:
            assert len(requests) == 1
        if following not in REQUEST_IS_SENT:
            assert requests == []
    elif status in LINK_IS_UP:
        # Without a replica, deltas and confirmations are bad ones.
        assert input_ in {NeighbourInput.DELTA, NeighbourInput.CONFIRMATION}
        router.receive(given, NOW)
        bad = NeighbourInput[f"BAD_{input_.name}"]
        assert router.status("r2") is NEIGHBOUR_TRANSITIONS[status][bad]
    else:
        with pytest.raises(RoutingError) as problem:
            router.receive(given, NOW)
        assert problem.value.code == "routing.link"
        assert router.state() == before


@pytest.mark.parametrize("status", [NeighbourStatus.SYNCHRONISING, NeighbourStatus.REFUSED])
def test_unknown_interest_is_no_base_of_a_delta(status: NeighbourStatus) -> None:
    router = in_status(status)
    receive(router, "r2", delta([UNIVERSAL], OTHER))
    assert router.interest_of("r2") == (UNIVERSAL,)


def test_confirmation_of_a_replica_that_has_changed_since_is_requested_again() -> None:
    # The delta is from before a break; while it lasted, the neighbour's interest changed back.
    router = in_status(NeighbourStatus.DOWN)
    (request,) = sent(router.receive(LinkUp(neighbour="r2"), NOW), "r2")
    assert request == DigestRequest(number=2, digest=digest_of(KNOWN))
    receive(router, "r2", delta(KNOWN, OTHER))
    confirmation = DigestConfirmation(number=2, digest=digest_of(KNOWN))
    assert sent(receive(router, "r2", confirmation), "r2") == [
        DigestRequest(number=3, digest=digest_of(OTHER))
    ]
    receive(router, "r2", snapshot(3, KNOWN))
    assert router.status("r2") is NeighbourStatus.IN_STEP
    assert set(router.interest_of("r2")) == set(KNOWN)


def test_figure_is_that_of_the_table() -> None:
    page = DOCS / "explanation" / "routing.md"
    figures = [block.text for block in code_blocks(page) if block.language == "mermaid"]
    assert neighbour_diagram() in figures
