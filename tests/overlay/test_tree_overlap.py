"""Extensional overlap, the search for better parents, against what the definitions say."""

from __future__ import annotations

import random

from penstock.overlay import BucketDocument, BucketInterest, BucketModel, ChildChoice, Placement
from penstock.overlay.child_link import ChildLink
from penstock.overlay.peer_messages import Attempt, ChildCost, Edge, OverheadAnswer
from penstock.overlay.placement_search import Place, PlacementSearch
from penstock.overlay.tree_overlap import TreeOverlap
from penstock.overlay.window_bitmap import WindowBitmap

MODEL = BucketModel()
WINDOW = 40


def bitmap(*sequences: int) -> WindowBitmap:
    bits = 0
    for sequence in sequences:
        bits |= 1 << (sequence - 1)
    return WindowBitmap(1, 1, WINDOW, bits)


def overlap_of(own: range, seed: int = 1, **children: range) -> TreeOverlap:
    """A peer that has seen documents 1 to 40, some for itself and some for its children."""
    links = {}
    for name, wanted in children.items():
        link = ChildLink(name, Attempt(name, 1, 1), Edge(1, 1), BucketInterest(0), 0.0)
        link.is_active = True
        link.sent = sum(1 << (each - 1) for each in wanted)
        links[name] = link
    overlap = TreeOverlap(MODEL, links, WINDOW, random.Random(seed))
    overlap.statistics.start(1, 0)
    overlap.extend(WINDOW)
    overlap.statistics.own = sum(1 << (each - 1) for each in own)
    return overlap


def child(overlap: TreeOverlap, name: str) -> ChildLink:
    return overlap._children[name]


def test_overhead_missing_and_marginal_contribution_by_definition() -> None:
    overlap = overlap_of(range(1, 11), a=range(6, 21), b=range(16, 31))
    other = bitmap(*range(9, 35))
    assert overlap.compute_overhead(other) == 24  # 11 to 34 do not match the own subscription
    assert overlap.missing(other) == 4  # 31 to 34 are not received
    assert overlap.missing_at(child(overlap, "a"), other) == 14
    assert overlap.marginal_contribution(child(overlap, "a")) == 5  # 11 to 15
    assert overlap.marginal_contribution(child(overlap, "b")) == 10  # 21 to 30
    assert overlap.overhead() == 20 / 30
    exclusive = overlap.exclusive("b", other)
    assert exclusive is not None
    assert exclusive.bits == sum(1 << (each - 1) for each in range(21, 35))


def test_children_that_contribute_most_are_asked_first_and_then_the_others() -> None:
    overlap = overlap_of(range(1, 11), a=range(6, 21), b=range(16, 31), c=range(1, 11))
    marginal = overlap.children_to_move(ChildChoice.MARGINAL, 3)
    assert [each.name for each in marginal] == ["b", "a"]
    least = overlap.children_to_move(ChildChoice.LEAST_OVERLAP, 1)
    assert [each.name for each in least] == ["b"]
    child(overlap, "b").asked_at = 5.0
    again = overlap.children_to_move(ChildChoice.MARGINAL, 1)
    assert [each.name for each in again] == ["a"]


def test_child_of_maximal_overlap() -> None:
    overlap = overlap_of(range(1, 3), a=range(1, 11), b=range(11, 31))
    interest = BucketInterest.of(7)
    assert overlap.max_overlap_child(interest, bitmap(*range(12, 20))) == "b"
    assert overlap.max_overlap_child(interest, bitmap(*range(1, 9))) == "a"
    assert overlap.max_overlap_child(interest, bitmap(*range(1, 9)), without={"a"}) == "b"
    # Without statistics, the structure decides.
    child(overlap, "b").filter = BucketInterest.of(7)
    assert overlap.max_overlap_child(interest, None) == "b"
    child(overlap, "b").replacement = "c"
    assert overlap.max_overlap_child(interest, None) == "a"


def test_ties_are_decided_at_random_and_by_seed() -> None:
    def chosen(seed: int) -> str | None:
        overlap = overlap_of(range(1, 3), seed=seed, a=range(1, 11), b=range(1, 11))
        return overlap.max_overlap_child(BucketInterest.of(7), bitmap(*range(1, 9)))

    found = [chosen(seed) for seed in range(20)]
    assert set(found) == {"a", "b"}
    assert found == [chosen(seed) for seed in range(20)]


def test_estimates_come_from_the_documents_that_were_seen() -> None:
    overlap = overlap_of(range(0), a=range(0))
    for sequence in range(1, WINDOW + 1):
        overlap.summary.observe(sequence, BucketDocument(sequence, 1 << (sequence % 4)))
    estimated = overlap.estimate(BucketInterest.of(2))
    assert estimated == bitmap(*range(2, WINDOW + 1, 4))
    overlap.note_child(child(overlap, "a"), estimated)
    assert overlap.bitmap() == estimated
    overlap.change_own(BucketInterest.of(3))
    assert overlap.own_bitmap() == bitmap(*range(3, WINDOW + 1, 4))


def answer(
    number: int,
    *,
    accepts: bool = True,
    overhead: float = 0.0,
    exclusive: WindowBitmap | None = None,
    children: dict[str, float] | None = None,
) -> OverheadAnswer:
    costs = tuple(ChildCost(peer, missing, missing) for peer, missing in (children or {}).items())
    return OverheadAnswer("s", number, accepts, overhead, 0.0, exclusive, costs)


def search_of(placement: Placement, tree: dict[str, OverheadAnswer]) -> tuple[list[str], set[str]]:
    """The improvements for ``n``, which is below ``s`` and ``p``; and who was asked."""
    search = PlacementSearch(
        number=1,
        searcher="n",
        path=("s", "p"),
        placement=placement,
        probes_max=50,
        gain_min=1.0,
        scale=1.0,
    )
    asked: set[str] = set()
    while probes := search.next_probes(4):
        asked.update(probes)
        for peer in probes:
            search.take_answer(peer, tree[peer])
    assert search.is_finished
    return [place.peer for place in search.improvements()], asked


COSTLY = bitmap(*range(1, 21))
"""Documents that `p` receives for `n` only."""


def test_path_cost_prefers_the_cheapest_path_and_prunes_the_others() -> None:
    tree = {
        "s": answer(1, accepts=False, children={"p": 0.0, "cheap": 3.0, "dear": 30.0}),
        "p": answer(1, overhead=20.0, exclusive=COSTLY, children={"n": 0.0}),
        "cheap": answer(1, accepts=False, overhead=9.0, children={"leaf": 2.0, "other": 9.0}),
        "leaf": answer(1, overhead=2.0),
        "other": answer(1, overhead=0.0),
        "dear": answer(1),
    }
    found, asked = search_of(Placement.PATH_COST, tree)
    assert found[0] == "leaf"
    assert "dear" not in asked
    assert "n" not in asked


def test_path_cost_looks_below_peers_with_spare_capacity() -> None:
    tree = {
        "s": answer(1, accepts=False, children={"p": 0.0, "q": 0.0}),
        "p": answer(1, overhead=20.0, exclusive=COSTLY),
        "q": answer(1, overhead=20.0, children={"twin": 0.0}),
        "twin": answer(1, overhead=0.0),
    }
    assert search_of(Placement.PATH_COST, tree)[0][0] == "twin"
    assert search_of(Placement.OVERHEAD, tree)[0] == ["twin"]


def displacements(*, has_room: bool) -> list[Place]:
    """For ``n`` below ``s`` and ``p``, with children ``x`` and ``y``; nobody has spare capacity."""
    tree = {
        "s": costs_of(("p", 0.0, 4.0), ("q", 3.0, 1.0)),
        "p": answer(1, accepts=False, overhead=20.0, exclusive=COSTLY),
        "q": answer(1, accepts=False, overhead=20.0),
    }
    search = PlacementSearch(
        number=1,
        searcher="n",
        path=("s", "p"),
        placement=Placement.PATH_COST,
        probes_max=50,
        gain_min=1.0,
        scale=1.0,
        has_room=has_room,
        children={"x": bitmap(1, 2, 3), "y": bitmap(20, 21, 22)},
    )
    while probes := search.next_probes(4):
        for peer in probes:
            search.take_answer(peer, tree[peer])
    return search.improvements()


def costs_of(*children: tuple[str, float, float]) -> OverheadAnswer:
    costs = tuple(ChildCost(*each) for each in children)
    return OverheadAnswer("s", 1, False, 0.0, 0.0, None, costs)


def test_a_peer_takes_the_place_that_costs_least() -> None:
    # Beside the parent, `n` costs nobody anything, and would receive one document for `q`.
    assert displacements(has_room=True)[0] == Place("s", "q")


def test_a_full_peer_exchanges_places_with_its_parent_only() -> None:
    # The parent keeps receiving two documents of `y`, and none of `x`.
    assert displacements(has_room=False) == [Place("s", "p", "y")]


def test_a_search_ends_though_answers_make_a_cycle() -> None:
    # The answers are from before and after an exchange of places.
    tree = {
        "s": answer(1, accepts=False, children={"p": 0.0}),
        "p": answer(1, overhead=20.0, exclusive=COSTLY, children={"q": 0.0}),
        "q": answer(1, overhead=20.0, children={"p": 0.0}),
    }
    assert search_of(Placement.PATH_COST, tree)[1] == {"s", "p", "q"}


def test_nobody_moves_without_a_gain() -> None:
    tree = {
        "s": answer(1, accepts=False, children={"p": 0.0, "q": 25.0}),
        "p": answer(1, overhead=5.0, exclusive=COSTLY),
        "q": answer(1, overhead=5.0),
    }
    for placement in Placement:
        assert search_of(placement, tree)[0] == []


def test_peers_of_equal_interest_gather_at_equal_cost() -> None:
    # A sibling needs the same documents, so the parent is not relieved by the move.
    tree = {
        "s": answer(1, accepts=False, children={"p": 0.0, "twin": 0.0}),
        "p": answer(1, overhead=20.0, exclusive=bitmap()),
        "twin": answer(1, overhead=0.0),
    }
    assert search_of(Placement.PATH_COST, tree)[0] == ["twin"]


def test_the_paper_s_search_prunes_by_twice_the_overhead() -> None:
    tree = {
        "s": answer(1, accepts=False, overhead=0.0, children={"p": 0.0, "a": 0.0, "b": 0.0}),
        "p": answer(1, overhead=20.0),
        "a": answer(1, overhead=8.0),
        "b": answer(1, accepts=False, overhead=4.0, children={"c": 0.0}),
        "c": answer(1, overhead=0.0),
    }
    found, asked = search_of(Placement.OVERHEAD, tree)
    assert found == ["a"]  # 2 * 4 is not below 8: the children of b are not examined
    assert "c" not in asked


def test_a_search_ends_at_its_bound_or_without_an_answer() -> None:
    search = PlacementSearch(
        number=1,
        searcher="n",
        path=("s",),
        placement=Placement.PATH_COST,
        probes_max=2,
        gain_min=1.0,
        scale=1.0,
    )
    assert search.next_probes(8) == ["s"]
    search.take_answer("stranger", answer(1))
    search.take_answer("s", answer(1, children={f"c{number}": 0.0 for number in range(9)}))
    assert len(search.next_probes(8)) == 1
    assert not search.is_finished
    assert search.improvements() == []
