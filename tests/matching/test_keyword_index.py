"""Adding and removing keyword subscriptions, and refusals, on every engine."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from penstock import (
    DocumentError,
    EngineError,
    IndexFileError,
    KeywordIndex,
    QueryError,
    SubscriptionIndex,
    UnknownSubscriptionError,
)
from penstock.lab.keyword_baselines import answer_elements
from support.contracts.keyword_engines import (
    KEYWORD_ENGINES,
    keyword_engine_params,
    keyword_index,
    keyword_matcher,
)
from support.contracts.matching_cases import NEWS

STORM = b"<news><item><title>Storm warning</title><p>On the coast</p></item><item/></news>"


@pytest.fixture(params=keyword_engine_params)
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_an_index_is_a_collection_of_ids(engine_name: str) -> None:
    index = keyword_index(engine_name, {"one": "Storm Coast", "two": "storm OR gale"})
    assert len(index) == 2
    assert "one" in index
    assert "other" not in index
    assert 7 not in index
    assert index.query("one") == "Storm Coast"
    assert "2 subscriptions" in repr(index)
    assert "1 subscription," in repr(keyword_index(engine_name, {"one": "storm"}))


def test_equal_queries_share_a_class(engine_name: str) -> None:
    index = keyword_index(
        engine_name,
        {"a": "storm coast", "b": "Coast, STORM storm", "c": "storm OR coast", "d": "coast"},
    )
    assert index.stats().subscriptions == 4
    assert index.stats().distinct_queries == 3
    assert set(index.matcher().match(STORM)) == {"a", "b", "c", "d"}


def test_an_unknown_id_is_an_error(engine_name: str) -> None:
    index = keyword_index(engine_name, {"it": "storm"})
    calls: list[Callable[[], object]] = [
        lambda: index.query("other"),
        lambda: index.remove("other"),
        lambda: index.matcher().explain(NEWS, "other"),
        lambda: index.matcher().answers(NEWS, ["it", "other"]),
    ]
    for call in calls:
        with pytest.raises(UnknownSubscriptionError, match="other"):
            call()


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "keywords.none"),
        ("!? ... --", "keywords.none"),
        ("storm OR gale coast", "keywords.mixed"),
        (" ".join(f"w{number}" for number in range(1001)), "keywords.too-many"),
        ("x" * 257, "keywords.word-too-long"),
    ],
)
def test_an_invalid_query_does_not_affect_the_others(
    engine_name: str, query: str, code: str
) -> None:
    index = keyword_index(engine_name, {})
    errors = index.add_many(["good", "bad", "fine"], ["storm", query, "coast"])
    assert {name: why.code for name, why in errors.items()} == {"bad": code}
    assert errors["bad"].where is not None
    assert set(index.matcher().match(STORM)) == {"good", "fine"}
    with pytest.raises(QueryError):
        index.add("bad", query)


def test_a_thousand_keywords(engine_name: str) -> None:
    many = [f"w{number}" for number in range(1000)]
    matcher = keyword_matcher(engine_name, {"all": " ".join(many), "any": " OR ".join(many)})
    some = f"<a>{' '.join(many[:-1])}</a>".encode()
    assert set(matcher.match(some)) == {"any"}
    whole = f"<r><a>{' '.join(many[:-1])}</a><b>W999</b></r>".encode()
    assert answer_elements(matcher, whole) == {"all": (0,), "any": (0,)}
    assert matcher.explain(some, "all").lacking == ("w999",)


def test_a_duplicate_id_keeps_its_query(engine_name: str) -> None:
    index = keyword_index(engine_name, {"it": "storm"})
    with pytest.raises(QueryError) as caught:
        index.add("it", "coast")
    assert caught.value.code == "subscription.duplicate"
    assert index.query("it") == "storm"
    with pytest.raises(QueryError) as caught:
        index.add_many(["a", "b"], ["storm"])
    assert caught.value.code == "subscription.uneven"


def test_a_matcher_is_a_snapshot(engine_name: str) -> None:
    index = keyword_index(engine_name, {"one": "storm"})
    before = index.matcher()
    index.add("two", "storm")
    index.remove("one")
    assert before.match(STORM).ids == ("one",)
    assert index.matcher().match(STORM).ids == ("two",)


def test_an_empty_index_answers_nothing(engine_name: str) -> None:
    matcher = keyword_matcher(engine_name, {})
    assert matcher.match(STORM, fragments=True).ids == ()
    assert answer_elements(matcher, STORM) == {}
    assert matcher.answers(STORM) == {}


def test_a_refused_document_has_no_answers(engine_name: str) -> None:
    matcher = keyword_matcher(engine_name, {"it": "storm"})
    calls: list[Callable[[], object]] = [
        lambda: answer_elements(matcher, b"<a>storm</b>"),
        lambda: matcher.answers(b"<a>storm</b>"),
        lambda: matcher.answers(b"<a>storm</b>", ["it"]),
    ]
    for call in calls:
        with pytest.raises(DocumentError) as caught:
            call()
        assert caught.value.code == "xml.end-tag"
    assert str(matcher.explain(b"<a>storm</b>", "it")).startswith(
        "it did not match: the document was"
    )


def test_options_of_answers(engine_name: str) -> None:
    matcher = keyword_matcher(engine_name, {"it": "storm coast", "item": "item"})
    (answer,) = matcher.answers(STORM, ["it"], form="subtree")["it"]
    assert answer.fragment is not None
    assert answer.fragment.kind == "element"
    assert answer.fragment.to_xml().startswith("<item><title>Storm")
    (answer,) = matcher.answers(STORM, ["it"], form="ids")["it"]
    assert (answer.element, answer.fragment, answer.depth, answer.size) == (1, None, 2, 3)
    assert answer.keywords == ("coast", "storm")
    assert [each.element for each in matcher.answers(STORM, limit=1)["item"]] == [1]
    with pytest.raises(ValueError, match="form"):
        matcher.answers(STORM, form="tree")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="limit"):
        matcher.answers(STORM, limit=0)


def test_equal_queries_have_equal_answers(engine_name: str) -> None:
    matcher = keyword_matcher(
        engine_name, {"a": "item", "b": "ITEM", "c": "storm coast", "d": "none"}
    )
    found = answer_elements(matcher, STORM)
    assert found["a"] == found["b"]
    assert {name: len(elements) for name, elements in found.items()} == {"a": 2, "b": 2, "c": 1}


def test_the_best_answers_come_first(engine_name: str) -> None:
    document = (
        b"<r><a>x</a><a>y</a><b><c><d>x</d><d/><d>y</d></c></b>"
        b"<b><c>x y</c></b><b><c><d>x</d>y</c></b><e>y</e></r>"
    )
    matcher = keyword_matcher(engine_name, {"all": "x y", "any": "x OR y OR z"})
    ranked = matcher.answers(document, form="ids")
    # Deeper before higher up, then smaller before larger, then in document order.
    assert [each.path for each in ranked["all"]] == [
        "/r[1]/b[2]/c[1]",
        "/r[1]/b[3]/c[1]",
        "/r[1]/b[1]/c[1]",
        "/r[1]",
    ]
    counts = [len(each.keywords) for each in ranked["any"]]
    assert counts == sorted(counts, reverse=True)


def test_explanations(engine_name: str) -> None:
    matcher = keyword_matcher(engine_name, {"it": "storm coast", "any": "storm OR gale"})
    explanation = matcher.explain(STORM, "it")
    assert explanation.matched
    assert explanation.lacking == ()
    assert str(explanation).splitlines() == [
        "it matched: storm coast",
        "  /news[1]/item[1] (line 1): coast in /news[1]/item[1]/p[1] (line 1); "
        "storm in /news[1]/item[1]/title[1] (line 1)",
    ]
    explanation = matcher.explain(NEWS, "it")
    assert not explanation.matched
    assert str(explanation).splitlines() == [
        "it did not match: storm coast",
        "  the document has no coast, no storm",
    ]
    explanation = matcher.explain(STORM, "any")
    assert (explanation.matched, explanation.lacking) == (True, ("gale",))


def test_one_matcher_serves_many_threads(engine_name: str) -> None:
    matcher = keyword_matcher(
        engine_name, {"it": "storm coast", "any": "storm OR gale", "no": "gale"}
    )
    results: list[dict[str, tuple[int, ...]]] = []
    threads = [
        threading.Thread(
            target=lambda: results.extend(answer_elements(matcher, STORM) for _ in range(9))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [{"it": (1,), "any": (2,)}] * 36


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_matcher_works_in_a_forked_child(engine_name: str) -> None:
    matcher = keyword_matcher(engine_name, {"it": "storm coast"})
    expected = answer_elements(matcher, STORM)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=lambda: answers.put(answer_elements(matcher, STORM)))
    child.start()
    assert answers.get(timeout=60) == expected
    child.join(timeout=60)
    assert child.exitcode == 0


def test_an_unknown_engine_is_refused(engine_name: str) -> None:
    with pytest.raises(EngineError):
        keyword_index(engine_name, {}).matcher(engine="shared")


class KeywordMachine(RuleBasedStateMachine):
    """Adds, removes, saves and loads; the index always equals the set of its subscriptions."""

    engine_name = "reference"

    def __init__(self) -> None:
        super().__init__()
        self.index = keyword_index(self.engine_name, {})
        self.held: dict[str, str] = {}

    @rule(
        id_=st.sampled_from("abcdef"),
        query=st.sampled_from(
            ["storm", "storm coast", "STORM OR gale", "gale", "storm gale coast"]
        ),
    )
    def add(self, id_: str, query: str) -> None:
        if id_ not in self.held:
            self.index.add(id_, query)
            self.held[id_] = query

    @rule(id_=st.sampled_from("abcdef"))
    def remove(self, id_: str) -> None:
        if id_ in self.held:
            self.index.remove(id_)
            del self.held[id_]

    @rule()
    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.index.save(Path(folder) / "index")
            self.index = KeywordIndex.load(Path(folder) / "index")

    @invariant()
    def answers_what_it_holds(self) -> None:
        assert len(self.index) == len(self.held)
        assert all(self.index.query(id_) == query for id_, query in self.held.items())
        engine, discard = KEYWORD_ENGINES[self.engine_name]
        found = answer_elements(self.index.matcher(engine=engine, discard=discard), STORM)
        expected = answer_elements(keyword_index("reference", self.held).matcher(), STORM)
        assert found == expected


def test_an_index_under_any_sequence_of_changes(engine_name: str) -> None:
    machine = type("Machine", (KeywordMachine,), {"engine_name": engine_name})
    run_state_machine_as_test(machine, settings=settings(max_examples=15, stateful_step_count=20))


# Files


def refusal(path: Path) -> str:
    with pytest.raises(IndexFileError) as caught:
        KeywordIndex.load(path)
    assert str(path) in caught.value.message
    return caught.value.code


@pytest.fixture
def saved(engine_name: str, tmp_path: Path) -> Path:
    ids = [f"s{number}" for number in range(20)]
    index = keyword_index(engine_name, dict.fromkeys(ids, "storm OR Gale"))
    index.add("all", "storm coast")
    index.remove("s3")
    index.save(tmp_path / "index")
    return tmp_path / "index"


def test_a_saved_index_is_the_same_index(saved: Path) -> None:
    loaded = KeywordIndex.load(saved)
    assert len(loaded) == 20
    assert "s3" not in loaded
    assert loaded.query("s4") == "storm OR Gale"
    expected = {f"s{number}" for number in range(20)} - {"s3"} | {"all"}
    assert set(loaded.matcher().match(STORM)) == expected
    loaded.add("s3", "coast")
    loaded.save(saved)
    assert set(KeywordIndex.load(saved).matcher().match(STORM)) == expected | {"s3"}


def test_a_damaged_file_is_refused(saved: Path) -> None:
    content = saved.read_bytes()
    for part in (0.3, 0.6, 0.99):
        saved.write_bytes(content[: int(len(content) * part)])
        assert refusal(saved) == "index.damaged"
    saved.write_bytes(content + b"\n")
    assert refusal(saved) == "index.damaged"
    for at in range(0, len(content), max(1, len(content) // 50)):
        saved.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert refusal(saved).startswith("index.")


def test_an_index_of_the_other_kind_is_refused(
    engine_name: str, saved: Path, tmp_path: Path
) -> None:
    with pytest.raises(IndexFileError) as caught:
        SubscriptionIndex.load(saved)
    assert caught.value.code == "index.not-an-index"
    paths = SubscriptionIndex(engine="reference" if engine_name == "reference" else "shared")
    paths.add("it", "/a")
    paths.save(tmp_path / "paths")
    assert refusal(tmp_path / "paths") == "index.not-an-index"
