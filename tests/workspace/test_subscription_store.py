"""Subscriptions of a workspace: added, removed, paused, and included in index versions."""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.errors import PenstockError
from penstock.workspace import (
    StoredSubscription,
    Workspace,
    current_version,
    open_version,
)
from penstock.workspace.index_versions import files_of
from penstock.workspace.limits import SUBSCRIPTION_FRAGMENTS_MAX

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path / "w") as created:
        yield created


def wanted(query: str = "/a", subscriber: str = "anna", **more: object) -> StoredSubscription:
    return replace(StoredSubscription(subscriber=subscriber, query=query), **more)  # type: ignore[arg-type]


def code_of(workspace: Workspace, subscription: StoredSubscription) -> str:
    """The error code with which a subscription is refused."""
    with pytest.raises(PenstockError) as caught:
        workspace.subscriptions.add(subscription)
    return caught.value.code


def matched_names(uri: str, document: bytes) -> list[str]:
    """The names of a version's subscriptions that a document matches."""
    version = open_version(uri)
    numbers = pa.array([int(id_) for id_ in version.matcher.match(document)], pa.int64())
    return sorted(str(name) for name in version.rows(numbers).column("subscription").to_pylist())


@pytest.mark.parametrize("limit", [0, -1, SUBSCRIPTION_FRAGMENTS_MAX + 1])
def test_a_limit_on_fragments_is_in_range(workspace: Workspace, limit: int) -> None:
    assert code_of(workspace, wanted("/a", fragments_max=limit)) == "subscription.fragments-max"


def test_a_subscription_is_stored_completely(workspace: Workspace) -> None:
    given = wanted(
        "/p:a/b",
        id="mine",
        namespaces={"p": "urn:ä"},
        default_namespace="urn:d",
        returns="fragments",
        starts_at=NOON,
        expires_at=NOON + timedelta(microseconds=1),
        backfill="wanted",
        where={"lang": "en", "a": ""},
        fragments_max=5_000,
    )
    stored = workspace.subscriptions.add(given)
    assert stored == replace(given, created_at=stored.created_at)
    assert workspace.subscriptions.get("mine") == stored
    (row,) = open_version(workspace.current_version()).subscriptions.to_pylist()
    assert row == {
        "subscription": "mine",
        "subscriber": "anna",
        "kind": "xpath",
        "query": "/p:a/b",
        "namespaces": [("p", "urn:ä")],
        "default_namespace": "urn:d",
        "returns": "fragments",
        "starts_at": NOON,
        "expires_at": NOON + timedelta(microseconds=1),
        "where": [("a", ""), ("lang", "en")],
        "fragments_max": 5_000,
    }


def test_keywords_and_xpath_are_stored_together(workspace: Workspace) -> None:
    store = workspace.subscriptions
    given = wanted("storm OR gale", id="words", kind="keywords", returns="fragments")
    stored = store.add(given)
    assert stored == replace(given, created_at=stored.created_at)
    assert store.add(given) == store.get("words") == stored
    store.add(wanted("storm", id="path"))
    version = workspace.current_version()
    assert matched_names(version, b"<a>Storm</a>") == ["words"]
    assert matched_names(version, b"<storm/>") == ["path", "words"]
    assert code_of(workspace, wanted("storm", id="words")) == "subscription.duplicate"


def test_keyword_subscriptions_are_validated(workspace: Workspace) -> None:
    bad = wanted("--", kind="keywords")
    assert code_of(workspace, bad) == "keywords.none"
    assert code_of(workspace, wanted("/a", kind="regex")) == "subscription.kind"
    for bound in ({"namespaces": {"p": "urn:p"}}, {"default_namespace": "urn:d"}):
        assert code_of(workspace, wanted("storm", kind="keywords", **bound)) == "subscription.kind"
    added = workspace.subscriptions.add_many(
        [wanted("/a", id="one"), bad, wanted("a", id="two", kind="keywords"), wanted("/a[")]
    )
    assert [each.id for each in added.new] == ["one", "two"]
    assert sorted(added.refused) == [1, 3]


def test_names_are_generated_where_none_are_given(workspace: Workspace) -> None:
    store = workspace.subscriptions
    assert [store.add(wanted()).id, store.add(wanted()).id] == ["anna-1", "anna-2"]
    store.remove(["anna-1"])
    assert store.add(wanted()).id == "anna-3", (
        "reusing the name of a removed subscription would be misleading"
    )
    many = store.add_many([wanted(), wanted(subscriber="ben"), wanted()])
    assert [each.id for each in many.new] == ["anna-4", "ben-1", "anna-5"]


def test_no_name_is_generated_twice(workspace: Workspace) -> None:
    store = workspace.subscriptions
    for number in (1, 2, 3):
        assert store.add(wanted()).id == f"anna-{number}"
        store.remove([f"anna-{number}"])
    # Nor one that someone else had.
    store.add(wanted(id="anna-7", subscriber="ben"))
    store.remove(["anna-7"])
    given = [wanted(id="anna-9"), wanted(), wanted(id="anna-09"), wanted()]
    assert [each.id for each in store.add_many(given).new] == [
        *("anna-9", "anna-10", "anna-09", "anna-11")
    ]


def test_an_equal_subscription_is_known_and_a_different_one_of_the_name_is_refused(
    workspace: Workspace,
) -> None:
    first = workspace.subscriptions.add(wanted(id="one"))
    assert workspace.subscriptions.add(wanted(id="one")) == first
    assert code_of(workspace, wanted("/b", id="one")) == "subscription.duplicate"
    many = workspace.subscriptions.add_many([wanted(id="one"), wanted("/b", id="one")])
    assert (many.new, many.known, list(many.refused)) == ([], 1, [1])


def test_refused_subscriptions_do_not_affect_the_others(workspace: Workspace) -> None:
    added = workspace.subscriptions.add_many(
        [
            wanted(id="one"),
            wanted("/a[", id="two"),
            wanted("/p:a", id="three"),
            wanted("/p:a", id="four", namespaces={"p": "urn:p"}),
            wanted(id=" five"),
        ]
    )
    assert [each.id for each in added.new] == ["one", "four"]
    assert {at: reason.code for at, reason in added.refused.items()} == {
        1: "query.syntax",
        2: "query.prefix",
        4: "workspace.name",
    }


@pytest.mark.parametrize("name", ["", " ", " a", "a\t", "a\nb", "a\u2028b", "\u200f", "x" * 201])
def test_names_that_cannot_be_displayed_are_refused(workspace: Workspace, name: str) -> None:
    assert code_of(workspace, wanted(subscriber=name)) == "workspace.name"
    if name:
        assert code_of(workspace, wanted(id=name)) == "workspace.name"


@pytest.mark.parametrize("name", ["a b", "a\u00a0b", "ä/é", "x" * 200, "😀", "-", "a.b@c"])
def test_names_that_can_be_displayed_are_accepted(workspace: Workspace, name: str) -> None:
    assert workspace.subscriptions.add(wanted(id=name)).id == name
    assert [each.id for each in workspace.subscriptions.each()] == [name]


def test_times_and_returns_are_checked(workspace: Workspace) -> None:
    backwards = wanted(starts_at=NOON, expires_at=NOON)
    assert code_of(workspace, backwards) == "subscription.times"
    assert code_of(workspace, wanted(returns="all")) == "subscription.returns"


def test_removing_and_pausing_are_atomic(workspace: Workspace) -> None:
    store = workspace.subscriptions
    store.add(wanted(id="one"))
    for change in (store.remove, lambda ids: store.set_paused(ids, True)):
        with pytest.raises(PenstockError) as caught:
            change(["one", "two"])
        assert caught.value.code == "subscription.unknown"
        assert not store.get("one").paused


def test_subscribers_outlive_their_subscriptions(workspace: Workspace) -> None:
    workspace.subscriptions.add(wanted(id="one"))
    workspace.subscriptions.remove(["one"])
    assert workspace.subscriptions.subscriber_exists("anna")
    assert not workspace.subscriptions.subscriber_exists("ben")


def test_listing_goes_page_by_page(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.workspace.subscription_store.SUBSCRIPTIONS_AT_ONCE", 3)
    names = [f"s{number}" for number in range(7)]
    workspace.subscriptions.add_many([wanted(id=name) for name in names])
    workspace.subscriptions.add(wanted(id="t", subscriber="ben"))
    assert [each.id for each in workspace.subscriptions.each("anna")] == names
    assert [each.id for each in workspace.subscriptions.each()] == [*names, "t"]
    for each in workspace.subscriptions.each():
        workspace.subscriptions.remove([each.id])
    assert len(workspace.subscriptions) == 0


def test_backfills_are_pending_until_done(workspace: Workspace) -> None:
    store = workspace.subscriptions
    store.add_many([wanted(id=name, backfill="wanted") for name in ("one", "two", "three")])
    store.set_paused(["two"], True)
    assert [each.id for each in store.backfills_wanted()] == ["one", "three"]
    before = workspace.current_version()
    store.backfill_done("one")
    store.backfill_done("gone")
    assert [each.id for each in store.backfills_wanted()] == ["three"]
    assert store.get("one").backfill == "done"
    assert workspace.current_version() == before


# Versions of the subscriptions.


def test_the_version_follows_every_change(workspace: Workspace) -> None:
    store = workspace.subscriptions
    empty = workspace.current_version()
    assert matched_names(empty, b"<a/>") == []
    store.add(wanted(id="one"))
    one = workspace.current_version()
    assert workspace.current_version() == one != empty
    store.set_paused(["one"], True)
    store.add(wanted(id="two"))
    assert matched_names(workspace.current_version(), b"<a/>") == ["two"]
    store.set_paused(["one"], False)
    assert matched_names(workspace.current_version(), b"<a/>") == ["one", "two"]
    store.remove(["one"])
    store.add(wanted("/b", id="one"))
    assert matched_names(workspace.current_version(), b"<a/>") == ["two"]
    assert matched_names(one, b"<a/>") == ["one"], "versions never change"


def test_another_process_continues_from_the_last_version(workspace: Workspace) -> None:
    workspace.subscriptions.add(wanted(id="one"))
    base = workspace.current_version()
    workspace.subscriptions.add(wanted(id="two"))
    with Workspace.open(workspace.path) as again:
        next_ = again.current_version()
    assert files_of(base)[-1] in files_of(next_), "both use the index of the base version"
    assert matched_names(next_, b"<a/>") == ["one", "two"]
    assert workspace.current_version() == next_


@pytest.fixture
def another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reset what this process remembers of versions, as in a new process."""
    monkeypatch.setattr(current_version, "_verified", [])


def test_lost_index_files_are_written_again(
    workspace: Workspace, request: pytest.FixtureRequest
) -> None:
    workspace.subscriptions.add(wanted(id="one"))
    workspace.current_version()
    workspace.close()
    shutil.rmtree(workspace.indexes)
    request.getfixturevalue("another_process")
    with Workspace.open(workspace.path) as again:
        assert matched_names(again.current_version(), b"<a/>") == ["one"]


@pytest.mark.parametrize("suffix", [".index", ".keywords", ".arrow"])
def test_damaged_index_files_are_written_again(
    workspace: Workspace, request: pytest.FixtureRequest, suffix: str
) -> None:
    workspace.subscriptions.add(wanted(id="one"))
    workspace.subscriptions.add(wanted("a", id="two", kind="keywords"))
    uri = workspace.current_version()
    path = Path(uri + suffix)
    path.rename(path.with_name("saved"))
    path.write_bytes(path.with_name("saved").read_bytes()[:-3])
    request.getfixturevalue("another_process")
    with Workspace.open(workspace.path) as again:
        assert again.current_version() == uri
        assert matched_names(uri, b"<a/>") == ["one", "two"]


def test_many_changes_at_once_make_a_base_version(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_version, "CHANGED_ROWS_MIN", 2)
    empty = workspace.current_version()
    workspace.subscriptions.add_many([wanted(id=name) for name in "abc"])
    base = workspace.current_version()
    assert not set(files_of(empty)) & set(files_of(base))
    assert matched_names(base, b"<a/>") == ["a", "b", "c"]


def subscribe_repeatedly(path: Path, name: str) -> str:
    """Subscribe ten times in another process, and write versions in between."""
    with Workspace.open(path) as workspace:
        for _ in range(10):
            workspace.subscriptions.add(wanted(subscriber=name))
            workspace.current_version()
    return name


def test_processes_subscribe_concurrently(workspace: Workspace) -> None:
    names = ["anna", "anna", "ben", "cleo"]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(4, mp_context=context) as pool:
        list(pool.map(subscribe_repeatedly, [workspace.path] * 4, names))
    expected = sorted(
        [f"anna-{number}" for number in range(1, 21)]
        + [f"{name}-{number}" for name in ("ben", "cleo") for number in range(1, 11)]
    )
    assert sorted(each.id for each in workspace.subscriptions.each()) == expected
    assert matched_names(workspace.current_version(), b"<a/>") == expected


class StoreMachine(RuleBasedStateMachine):
    """The store against a dictionary, and each version against the dictionary's active entries."""

    names = st.sampled_from(["a", "b", "c", "word-a", "word-b"])

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.workspace = Workspace.create(self.folder.name)
        self.active: dict[str, bool] = {}

    @rule(name=names)
    def subscribe(self, name: str) -> None:
        if name.startswith("word"):
            self.workspace.subscriptions.add(wanted("a", id=name, kind="keywords"))
        else:
            self.workspace.subscriptions.add(wanted(id=name))
        self.active.setdefault(name, True)

    @precondition(lambda self: self.active)
    @rule(data=st.data())
    def unsubscribe(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.active)))
        self.workspace.subscriptions.remove([name])
        del self.active[name]

    @precondition(lambda self: self.active)
    @rule(data=st.data(), paused=st.booleans())
    def pause_or_resume(self, data: st.DataObject, paused: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.active)))
        self.workspace.subscriptions.set_paused([name], paused)
        self.active[name] = not paused

    @rule()
    def write_a_version(self) -> None:
        version = self.workspace.current_version()
        assert matched_names(version, b"<a/>") == sorted(
            name for name in self.active if self.active[name]
        )

    @rule()
    def restart(self) -> None:
        self.workspace.close()
        self.workspace = Workspace.open(self.folder.name)

    @invariant()
    def the_store_is_the_dictionary(self) -> None:
        stored = {each.id: not each.paused for each in self.workspace.subscriptions.each()}
        assert stored == self.active

    def teardown(self) -> None:
        self.workspace.close()
        self.folder.cleanup()


TestStore = StoreMachine.TestCase
