"""Contract of every engine: adding and removing subscriptions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import EngineError, QueryError, SubscriptionIndex, UnknownSubscriptionError
from support.contracts.engine_suite import CHEAP, DEAR, EngineSuite
from support.contracts.matching_cases import NEWS


class IndexContract(EngineSuite):
    """Adding, removing, snapshots, threads, files."""

    def test_an_empty_index_matches_nothing(self) -> None:
        matches = self.matcher().match(NEWS)
        assert matches.ids == ()
        assert matches.errors == ()
        assert matches.counters.unmatched == 1

    def test_an_index_is_a_collection_of_ids(self) -> None:
        index = self.index(cheap=CHEAP, dear=DEAR)
        assert len(index) == 2
        assert "cheap" in index
        assert "other" not in index
        assert 7 not in index
        assert index.query("cheap") == CHEAP

    def test_an_unknown_id_is_an_error(self) -> None:
        index = self.index(cheap=CHEAP)
        calls: list[Callable[[], object]] = [
            lambda: index.query("other"),
            lambda: index.remove("other"),
            lambda: index.matcher().explain(NEWS, "other"),
        ]
        for call in calls:
            with pytest.raises(UnknownSubscriptionError, match="other") as caught:
                call()
            assert caught.value.code == "subscription.unknown"

    def test_equal_queries_all_match(self) -> None:
        index = self.index(one=CHEAP, two=CHEAP, three="/news/item[price<10]", four=DEAR)
        assert set(index.matcher().match(NEWS)) == {"one", "two", "three"}
        assert index.stats().subscriptions == 4
        assert index.stats().distinct_queries == 2

    def test_a_duplicate_id_is_an_error(self) -> None:
        index = self.index(it=CHEAP)
        with pytest.raises(QueryError) as caught:
            index.add("it", DEAR)
        assert caught.value.code == "subscription.duplicate"
        assert index.query("it") == CHEAP

    def test_an_id_given_twice_keeps_its_first_query(self) -> None:
        index = self.index()
        errors = index.add_many(["it", "it", "other"], [CHEAP, DEAR, DEAR])
        assert {name: why.code for name, why in errors.items()} == {"it": "subscription.duplicate"}
        assert index.query("it") == CHEAP
        assert len(index) == 2

    def test_an_invalid_query_does_not_affect_the_others(self) -> None:
        index = self.index()
        errors = index.add_many(["good", "bad", "fine"], [CHEAP, "/news/item[", DEAR])
        assert {name: why.code for name, why in errors.items()} == {"bad": "query.syntax"}
        assert errors["bad"].where is not None
        assert errors["bad"].where.offset == len("/news/item[")
        assert "bad" not in index
        assert len(index) == 2
        assert index.matcher().match(NEWS).ids == ("good",)

    def test_ids_and_queries_must_have_equal_lengths(self) -> None:
        with pytest.raises(QueryError) as caught:
            self.index().add_many(["one", "two"], [CHEAP])
        assert caught.value.code == "subscription.uneven"

    def test_an_undeclared_prefix_is_refused(self) -> None:
        with pytest.raises(QueryError) as caught:
            self.index().add("it", "//p:a", namespaces={"q": "urn:x"})
        assert caught.value.code == "query.prefix"

    def test_ids_may_be_any_text(self) -> None:
        ids = ["", " ", "é\U0001f600", "a" * 1000, "a\nb", "a\0b"]
        index = self.index()
        assert index.add_many(ids, [CHEAP] * len(ids)) == {}
        assert set(index.matcher().match(NEWS)) == set(ids)

    def test_a_removed_subscription_can_be_added_again(self) -> None:
        index = self.index(one=CHEAP, two=CHEAP)
        index.remove("one")
        assert "one" not in index
        assert len(index) == 1
        assert index.matcher().match(NEWS).ids == ("two",)
        index.add("one", DEAR)
        assert index.matcher().match(NEWS).ids == ("two",)
        assert index.query("one") == DEAR
        index.remove("two")
        index.remove("one")
        assert len(index) == 0
        assert index.matcher().match(NEWS).ids == ()

    def test_many_small_additions_and_removals(self) -> None:
        index = self.index()
        for number in range(200):
            index.add(f"s{number}", f"/news/item[price > {number % 20}]")
            if number % 3 == 0:
                index.remove(f"s{number}")
        kept = {number for number in range(200) if number % 3}
        expected = {f"s{number}" for number in kept if number % 20 < 12}
        assert set(index.matcher().match(NEWS)) == expected

    def test_a_matcher_is_a_snapshot(self) -> None:
        index = self.index(one=CHEAP)
        before = index.matcher()
        index.add("two", CHEAP)
        index.remove("one")
        assert before.match(NEWS).ids == ("one",)
        assert index.matcher().match(NEWS).ids == ("two",)
        del index
        assert before.match(NEWS).ids == ("one",)

    def test_adding_while_others_match(self) -> None:
        index = self.index(base=CHEAP)
        failures: list[object] = []
        stop = threading.Event()

        def match() -> None:
            while not stop.is_set():
                ids = set(index.matcher().match(NEWS))
                # Each snapshot holds exactly a prefix of the added subscriptions.
                expected = {"base", *(f"s{number}" for number in range(len(ids) - 1))}
                if ids != expected:
                    failures.append(ids)

        threads = [threading.Thread(target=match) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(100):
            index.add(f"s{number}", f"/news/item[price < {10 + number}]")
        stop.set()
        for thread in threads:
            thread.join()
        assert failures == []

    def test_one_matcher_serves_many_threads(self) -> None:
        matcher = self.matcher(cheap=CHEAP, dear=DEAR, p="//p")
        results: list[tuple[str, ...]] = []
        threads = [
            threading.Thread(
                target=lambda: results.extend(matcher.match(NEWS).ids for _ in range(20))
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 80
        assert {frozenset(ids) for ids in results} == {frozenset({"cheap", "p"})}

    def test_a_saved_index_is_the_same_index(self, tmp_path: Path) -> None:
        index = self.index(cheap=CHEAP, gone="//p", dear=DEAR)
        index.add("spaced", "//p:b/@n", namespaces={"p": "urn:y"})
        index.add("default", "//b[@n]", default_namespace="urn:y")
        index.remove("gone")
        index.save(tmp_path / "index")
        loaded = SubscriptionIndex.load(tmp_path / "index")
        assert len(loaded) == 4
        assert "gone" not in loaded
        assert loaded.query("cheap") == CHEAP
        spaced = b"<b xmlns='urn:y' n='1'/>"
        for document in (NEWS, spaced):
            expected = index.matcher().match(document, fragments=True)
            matches = loaded.matcher().match(document, fragments=True)
            assert set(matches) == set(expected)
            assert matches.fragments == expected.fragments
        assert set(loaded.matcher().match(spaced)) == {"spaced", "default"}

    def test_a_loaded_index_can_be_changed_and_saved_again(self, tmp_path: Path) -> None:
        self.index(one=CHEAP, two=CHEAP).save(tmp_path / "index")
        loaded = SubscriptionIndex.load(tmp_path / "index")
        loaded.add("three", CHEAP)
        loaded.remove("one")
        loaded.save(tmp_path / "index")
        again = SubscriptionIndex.load(tmp_path / "index")
        assert set(again.matcher().match(NEWS)) == {"two", "three"}
        assert set(loaded.matcher().match(NEWS)) == {"two", "three"}

    def test_an_empty_index_can_be_saved(self, tmp_path: Path) -> None:
        self.index().save(tmp_path / "index")
        assert len(SubscriptionIndex.load(tmp_path / "index")) == 0

    def test_saving_leaves_no_other_files(self, tmp_path: Path) -> None:
        self.index(one=CHEAP).save(tmp_path / "index")
        assert [path.name for path in tmp_path.iterdir()] == ["index"]

    def test_an_unknown_engine_is_refused(self) -> None:
        with pytest.raises(EngineError) as caught:
            self.index().matcher(engine="quantum")
        assert caught.value.code == "engine.unknown"
