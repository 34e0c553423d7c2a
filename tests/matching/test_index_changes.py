"""After any sequence of changes, an index equals the set of its subscriptions."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
    run_state_machine_as_test,
)

from penstock import Matcher, QueryError, SubscriptionIndex, UnknownSubscriptionError
from penstock.language import PrintedQuery, to_text
from support.contracts.native_engines import needs_native
from support.strategies.documents import (
    ATTRIBUTE_NAMES,
    ELEMENT_NAMES,
    NAMESPACE_URIS,
    VALUES,
    documents,
)
from support.strategies.queries import Vocabulary, queries

VOCABULARY = Vocabulary(
    elements=ELEMENT_NAMES,
    attributes=ATTRIBUTE_NAMES,
    uris=("", *NAMESPACE_URIS),
    texts=VALUES,
)
IDS = st.sampled_from(["a", "b", "c", "d", "e"])


class IndexMachine(RuleBasedStateMachine):
    """Adds, removes, saves and loads; old matchers are checked again."""

    engine = "reference"
    snapshots: Bundle[tuple[Matcher, dict[str, PrintedQuery]]] = Bundle("snapshots")

    def __init__(self) -> None:
        super().__init__()
        self.index = SubscriptionIndex(engine=self.engine)
        self.held: dict[str, PrintedQuery] = {}

    @rule(id_=IDS, query=queries(VOCABULARY, max_depth=1).map(to_text))
    def add(self, id_: str, query: PrintedQuery) -> None:
        if id_ in self.held:
            with pytest.raises(QueryError):
                self.index.add(id_, query.text, namespaces=query.namespaces)
        else:
            self.index.add(id_, query.text, namespaces=query.namespaces)
            self.held[id_] = query

    @rule(id_=IDS)
    def remove(self, id_: str) -> None:
        if id_ in self.held:
            self.index.remove(id_)
            del self.held[id_]
        else:
            with pytest.raises(UnknownSubscriptionError):
                self.index.remove(id_)

    @rule()
    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.index.save(Path(folder) / "index")
            self.index = SubscriptionIndex.load(Path(folder) / "index")

    @rule(target=snapshots)
    def take_snapshot(self) -> tuple[Matcher, dict[str, PrintedQuery]]:
        return self.index.matcher(), dict(self.held)

    @rule(snapshot=snapshots, document=documents)
    def match(self, snapshot: tuple[Matcher, dict[str, PrintedQuery]], document: bytes) -> None:
        matcher, held = snapshot
        assert set(matcher.match(document)) == alone(held, document)

    @rule(snapshot=consumes(snapshots))
    def drop_snapshot(self, snapshot: tuple[Matcher, dict[str, PrintedQuery]]) -> None:
        del snapshot

    @invariant()
    def holds_what_was_added(self) -> None:
        assert len(self.index) == len(self.held)
        for id_ in ("a", "b", "c", "d", "e"):
            assert (id_ in self.index) == (id_ in self.held)
        for id_, query in self.held.items():
            assert self.index.query(id_) == query.text


def alone(held: dict[str, PrintedQuery], document: bytes) -> set[str]:
    """The matches if each subscription has its own reference index."""
    matching: set[str] = set()
    for id_, query in held.items():
        index = SubscriptionIndex(engine="reference")
        index.add(id_, query.text, namespaces=query.namespaces)
        matching.update(index.matcher().match(document))
    return matching


class SharedMachine(IndexMachine):
    engine = "shared"


class YFilterMachine(IndexMachine):
    engine = "yfilter"


@pytest.mark.parametrize(
    "machine",
    [
        IndexMachine,
        pytest.param(SharedMachine, marks=needs_native),
        pytest.param(YFilterMachine, marks=needs_native),
    ],
)
def test_an_index_under_any_sequence_of_changes(machine: type[IndexMachine]) -> None:
    run_state_machine_as_test(machine)
