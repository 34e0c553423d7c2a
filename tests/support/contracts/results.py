"""Contract of every engine: refusals, batches, and results that can be pickled."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from penstock import DocumentError, Limits, Work
from support.contracts.engine_suite import CHEAP, DEAR, NOT_WELL_FORMED, MatcherSuite
from support.contracts.matching_cases import NEWS


def rows(array: pa.Array[Any]) -> list[Any]:
    """The rows of an Arrow array, whose types say less than they could."""
    return [row.as_py() for row in array]


class ResultContract(MatcherSuite):
    """Refusals, batches, pickling."""

    def test_a_bad_document_yields_an_error_and_no_ids(self) -> None:
        matches = self.matcher(news="/news").match(NOT_WELL_FORMED, fragments=True)
        assert matches.ids == ()
        assert matches.fragments == {}
        assert matches.counters.refused == 1
        (reason,) = matches.errors
        assert isinstance(reason, DocumentError)
        assert reason.where is not None
        with pytest.raises(DocumentError):
            matches.raise_for_errors()

    def test_a_good_document_raises_nothing(self) -> None:
        self.matcher(news="/news").match(NEWS).raise_for_errors()

    def test_a_refused_document_is_explained_as_such(self) -> None:
        explanation = self.matcher(news="/news").explain(NOT_WELL_FORMED, "news")
        assert not explanation.matched
        assert isinstance(explanation.error, DocumentError)
        assert "refused" in str(explanation)

    def test_a_matcher_works_after_a_bad_document(self) -> None:
        matcher = self.matcher(news="/news")
        for _ in range(3):
            assert matcher.match(NOT_WELL_FORMED).errors
            assert matcher.match(NEWS).ids == ("news",)

    def test_limits_of_the_caller_apply(self) -> None:
        narrow = self.matcher(Limits(depth=2), news="/news")
        assert narrow.match(NEWS).errors[0].code == "limit.depth"
        assert self.matcher(Limits(depth=3), news="/news").match(NEWS).ids == ("news",)

    @pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()], ids=str)
    def test_a_batch_has_a_row_for_each_document(self, kind: pa.DataType) -> None:
        documents = [NEWS, None, b"<other/>", NOT_WELL_FORMED, b"", NEWS]
        array = pa.array(documents, kind)
        batch = self.matcher(cheap=CHEAP, p="//p", dear=DEAR).match_batch(array)
        assert len(batch) == len(documents)
        hit = {"cheap", "p"}
        assert [set(row) for row in rows(batch.ids)] == [hit, set(), set(), set(), set(), hit]
        codes = [row and row["code"] for row in rows(batch.errors)]
        assert [code is not None for code in codes] == [False, True, False, True, True, False]
        assert codes[1] == "document.missing"
        counters = batch.counters
        assert (counters.documents, counters.matched, counters.unmatched) == (6, 2, 1)
        assert (counters.refused, counters.matches) == (3, 4)
        # Of what was refused nothing is counted.
        assert counters.work == Work(bytes_read=2 * len(NEWS) + len(b"<other/>"), elements=17)

    def test_a_batch_reports_the_position_of_an_error(self) -> None:
        matcher = self.matcher(news="/news")
        (alone,) = matcher.match(NOT_WELL_FORMED).errors
        (row,) = rows(matcher.match_batch(pa.array([NOT_WELL_FORMED])).errors)
        assert alone.where is not None
        assert alone.path is not None
        expected: dict[str, object] = {
            "code": alone.code,
            "message": alone.message,
            "hint": alone.hint,
            "path": alone.path,
            "report": None,
        }
        assert row == expected | alone.where._asdict()

    def test_slices_and_chunks_are_read_in_place(self) -> None:
        matcher = self.matcher(news="/news", other="/other")
        array = pa.array([b"<a>", NEWS, None, b"<other/>", b"<b>"], pa.binary())
        expected = [["news"], [], ["other"]]
        assert matcher.match_batch(array.slice(1, 3)).ids.to_pylist() == expected
        chunked = pa.chunked_array([array.slice(1, 1), array.slice(2, 2)])
        assert matcher.match_batch(chunked).ids.to_pylist() == expected

    @pytest.mark.parametrize(
        "nothing",
        [pa.array([], pa.binary()), pa.chunked_array([], pa.binary())],
        ids=["array", "chunked"],
    )
    def test_an_empty_batch(self, nothing: pa.Array[Any]) -> None:
        batch = self.matcher(news="/news").match_batch(nothing)
        assert len(batch) == 0
        assert batch.counters.documents == 0

    def test_a_batch_of_nulls(self) -> None:
        batch = self.matcher(news="/news").match_batch(pa.nulls(3, pa.binary()))
        assert batch.ids.to_pylist() == [[], [], []]
        assert batch.counters.refused == 3

    def test_a_batch_must_contain_bytes(self) -> None:
        with pytest.raises(TypeError, match="string"):
            self.matcher(news="/news").match_batch(pa.array(["<a/>"]))

    def test_a_batch_is_converted_to_columns(self) -> None:
        batch = self.matcher(news="/news").match_batch(pa.array([NEWS])).to_record_batch()
        assert batch.schema.names == ["ids", "error"]
        assert str(batch.schema.field("ids").type.value_type.value_type) == "string"
        assert batch.to_pylist() == [{"ids": ["news"], "error": None}]

    def test_results_can_be_pickled(self) -> None:
        matcher = self.matcher(cheap=CHEAP, dear=DEAR)
        matches = matcher.match(NEWS, fragments=True)
        copy = pickle.loads(pickle.dumps(matches))
        assert (copy.ids, copy.counters, copy.errors) == (matches.ids, matches.counters, ())
        assert copy.fragments == matches.fragments
        assert "cheap" in copy
        refused = pickle.loads(pickle.dumps(matcher.match(NOT_WELL_FORMED)))
        assert refused.errors[0].code == matcher.match(NOT_WELL_FORMED).errors[0].code
        for id_ in ("cheap", "dear"):
            explanation = matcher.explain(NEWS, id_)
            assert pickle.loads(pickle.dumps(explanation)) == explanation
