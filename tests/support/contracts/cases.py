"""Contract of every engine: the cases, by every entry point."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from penstock import Fragment, Matcher, Span
from penstock.documents import read_events
from penstock.matching.limits import WITNESSES_MAX
from support.contracts.engine_suite import CHEAP, DEAR, EngineSuite
from support.contracts.matching_cases import CASES, NEWS, Case


def spans(fragments: Iterable[Fragment]) -> list[Span]:
    """All ranges of all fragments."""
    return [span for fragment in fragments for span in fragment.spans]


class CaseContract(EngineSuite):
    """Matching, fragments and explanations of single queries."""

    @pytest.fixture(params=CASES, ids=lambda case: case.name)
    def case(self, request: pytest.FixtureRequest) -> Case:
        assert isinstance(request.param, Case)
        return request.param

    def matcher_of(self, case: Case) -> Matcher:
        index = self.index()
        index.add(
            "it",
            case.query,
            namespaces=case.namespaces,
            default_namespace=case.default_namespace,
        )
        return index.matcher()

    def test_a_case_matches_as_expected(self, case: Case) -> None:
        matches = self.matcher_of(case).match(case.document)
        assert matches.errors == ()
        assert matches.ids == (("it",) if case.selected else ())

    def test_a_case_selects_the_expected_bytes(self, case: Case) -> None:
        matches = self.matcher_of(case).match(case.document, fragments=True)
        selected = matches.fragments.get("it", ())
        assert tuple(case.document[start:end] for start, end, _ in spans(selected)) == case.selected
        for fragment in selected:
            assert read_events(fragment.to_xml().encode())

    def test_a_case_is_explained(self, case: Case) -> None:
        explanation = self.matcher_of(case).explain(case.document, "it")
        assert explanation.matched == bool(case.selected)
        assert explanation.witness_count == len(case.selected)
        assert bool(explanation.failures or explanation.never) != explanation.matched
        pointed_at = [each.span for each in explanation.witnesses]
        assert tuple(case.document[start:end] for start, end, _ in pointed_at) == case.selected
        assert [each.witness for each in explanation.steps][-1:] == [*explanation.witnesses[:1]]
        step_witnesses = [each.witness for each in explanation.steps]
        for witness in (*explanation.witnesses, *step_witnesses):
            found = self.matcher(there=witness.path).match(case.document, fragments=True)
            assert witness.span in spans(found.fragments["there"])

    def test_all_cases_of_a_document_at_once(self) -> None:
        for document in {case.document for case in CASES}:
            index = self.index()
            cases = [case for case in CASES if case.document == document]
            for case in cases:
                index.add(
                    case.name,
                    case.query,
                    namespaces=case.namespaces,
                    default_namespace=case.default_namespace,
                )
            expected = {case.name for case in cases if case.selected}
            assert set(index.matcher().match(document)) == expected

    def test_every_entry_point_returns_the_same(self, case: Case, tmp_path: Path) -> None:
        matcher = self.matcher_of(case)
        expected = matcher.match(case.document)
        file = tmp_path / "document.xml"
        file.write_bytes(case.document)
        byte_by_byte = [case.document[at : at + 1] for at in range(len(case.document))]
        for matches in (
            matcher.match_file(file),
            matcher.match_chunks([case.document]),
            matcher.match_chunks(byte_by_byte),
            matcher.match(bytearray(case.document)),
            matcher.match(memoryview(case.document)),
        ):
            assert matches.ids == expected.ids
            assert matches.counters == expected.counters
        fragments = matcher.match(case.document, fragments=True).fragments
        assert matcher.match_file(file, fragments=True).fragments == fragments
        assert matcher.match_chunks(byte_by_byte, fragments=True).fragments == fragments

    def test_a_missing_file_is_not_a_document_error(self, tmp_path: Path) -> None:
        for fragments in (False, True):
            with pytest.raises(FileNotFoundError):
                self.matcher(it=CHEAP).match_file(tmp_path / "none.xml", fragments=fragments)

    def test_an_empty_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "empty.xml").touch()
        for fragments in (False, True):
            matches = self.matcher(it=CHEAP).match_file(tmp_path / "empty.xml", fragments=fragments)
            assert len(matches.errors) == 1

    def test_a_failing_predicate_is_reported(self) -> None:
        explanation = self.matcher(dear=DEAR).explain(NEWS, "dear")
        (failure,) = explanation.failures
        assert (failure.branch, failure.step_number, failure.step) == (DEAR, 2, "/item")
        assert (failure.predicate, failure.reached) == ("[price > 100]", 2)
        assert [each.path for each in failure.witnesses] == ["/news[1]/item[1]", "/news[1]/item[2]"]
        assert str(explanation).splitlines() == [
            "dear did not match: /news/item[price > 100]",
            "  step 2 of /news/item[price > 100]: [price > 100] holds for none of 2 /item, "
            "such as /news[1]/item[1] (line 1)",
        ]

    def test_a_failing_name_is_reported_in_each_branch(self) -> None:
        query = "/news/story/p | //item[price][@lang]/price/sum"
        explanation = self.matcher(it=query).explain(NEWS, "it")
        first, second = explanation.failures
        assert (first.step_number, first.step, first.predicate) == (2, "/story", None)
        assert [each.path for each in first.witnesses] == ["/news[1]"]
        assert (second.step_number, second.step, second.predicate) == (3, "/sum", None)
        assert second.reached == 2
        assert "step 2 of /news/story/p: there is no /story" in str(explanation)

    def test_a_query_that_fails_at_its_first_step(self) -> None:
        (failure,) = self.matcher(it="//other[1]").explain(NEWS, "it").failures
        assert (failure.step_number, failure.step, failure.reached) == (1, "//other", 0)
        assert failure.witnesses == ()

    def test_each_step_has_a_witness(self) -> None:
        document = b"<news>\n  <item/>\n  <group>\n<item lang='en'/></group>\r\n</news>"
        query = "/none | /news//item[@lang]/@lang"
        explanation = self.matcher(it=query).explain(document, "it")
        assert [str(each) for each in explanation.steps] == [
            "/news is /news[1] (line 1)",
            "//item[@lang] is /news[1]/group[1]/item[1] (line 4)",
            "/@lang is /news[1]/group[1]/item[1]/@lang (line 4)",
        ]
        assert "//item[@lang] is /news[1]/group[1]/item[1] (line 4)" in str(explanation)

    def test_namespaces_are_reported(self) -> None:
        index = self.index()
        index.add("it", "/mine:a/b", namespaces={"mine": "urn:x"})
        explanation = index.matcher().explain(b"<a xmlns='urn:y'/>", "it")
        (prefix,) = explanation.namespaces
        assert explanation.failures[0].step == f"/{prefix}:a"
        assert str(explanation).endswith(f"where {prefix} is urn:x")

    def test_the_nearest_ancestor_is_the_witness(self) -> None:
        document = b"<a><a><b/></a><b/></a>"
        explanation = self.matcher(it="//a//b").explain(document, "it")
        paths = [each.witness.path for each in explanation.steps]
        assert paths == ["/a[1]/a[1]", "/a[1]/a[1]/b[1]"]

    def test_lines_are_counted_in_every_encoding(self) -> None:
        for encoding in ("utf-8", "utf-16", "iso-8859-1"):
            text = f"<?xml version='1.0' encoding='{encoding}'?>\r\n<a>\r<b/>\n<c/></a>"
            explanation = self.matcher(it="//c").explain(text.encode(encoding), "it")
            assert explanation.witnesses[0].line == 4

    def test_witnesses_are_listed_up_to_a_limit_and_counted(self) -> None:
        document = b"<a>" + b"<b/>" * 1000 + b"</a>"
        matcher = self.matcher(it="/a/b", not_it="/a/b[c]")
        explanation = matcher.explain(document, "it")
        assert explanation.witness_count == 1000
        assert len(explanation.witnesses) == WITNESSES_MAX
        assert explanation.witnesses[-1].path == f"/a[1]/b[{WITNESSES_MAX}]"
        assert str(explanation).endswith("and 999 more")
        (failure,) = matcher.explain(document, "not_it").failures
        assert (failure.reached, len(failure.witnesses)) == (1000, WITNESSES_MAX)

    def test_the_explanation_of_a_contradiction_does_not_show_its_normal_form(self) -> None:
        explanation = self.matcher(it="/a[. > 'x']").explain(b"<a/>", "it")
        assert (explanation.never, explanation.failures) == (True, ())
        assert "not(.)" not in str(explanation)
        assert "no document can match this query" in str(explanation)

    def test_an_explanation_names_the_namespaces_in_which_a_name_exists(self) -> None:
        document = b"<a xmlns='urn:1'><b xmlns='urn:2' xmlns:p='urn:3' p:c=''/><b xmlns=''/></a>"
        explain = self.matcher(it="/a", other="//@c", none="//d", both="//*:a/b/b").explain
        for name, uris in (
            ("it", ("urn:1",)),
            ("other", ("urn:3",)),
            ("none", ()),
            ("both", ("urn:2",)),
        ):
            (failure,) = explain(document, name).failures
            assert failure.other_namespaces == uris
        assert "the document has this name in the namespace urn:1" in str(explain(document, "it"))
