"""Formats fragments, answers and explanations as text lines and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.documents import Fragment
    from penstock.matching import Answer, Explanation, Witness

FRAGMENT_CHARACTERS_MAX = 160
"""Length limit of a fragment on a line of text; JSON output is never cut."""


def one_line(text: str) -> str:
    """Collapses white space and cuts the text at the limit."""
    collapsed = " ".join(text.split())
    if len(collapsed) <= FRAGMENT_CHARACTERS_MAX:
        return collapsed
    return collapsed[: FRAGMENT_CHARACTERS_MAX - 1] + "…"


def fragment_as_dict(fragment: Fragment) -> dict[str, Any]:
    """The JSON form of a fragment."""
    return {
        "kind": fragment.kind,
        "ranges": [[span.start, span.end] for span in fragment.spans],
        "from_entity": any(span.from_entity for span in fragment.spans),
        "xml": fragment.to_xml(),
    }


def answer_as_dict(answer: Answer) -> dict[str, Any]:
    """The JSON form of an answer to keywords."""
    row: dict[str, Any] = {
        "element": answer.element,
        **_witness_as_dict(answer.place),
        "depth": answer.depth,
        "size": answer.size,
        "truncated": answer.truncated,
        "keywords": [
            {
                "keyword": each.keyword,
                "count": each.count,
                "witnesses": [_witness_as_dict(witness) for witness in each.first],
            }
            for each in answer.witnesses
        ],
    }
    if answer.fragment is not None:
        row["fragment"] = fragment_as_dict(answer.fragment)
    return row


def explanation_as_dict(explanation: Explanation) -> dict[str, Any]:
    """The JSON form of an explanation; XPath fills ``steps``, keywords fill ``answers``."""
    return {
        "id": explanation.subscription,
        "query": explanation.query,
        "matched": explanation.matched,
        "witness_count": explanation.witness_count,
        "witnesses": [_witness_as_dict(witness) for witness in explanation.witnesses],
        "steps": [
            {"step": taken.step, **_witness_as_dict(taken.witness)} for taken in explanation.steps
        ],
        "failures": [
            {
                "branch": failure.branch,
                "step_number": failure.step_number,
                "step": failure.step,
                "predicate": failure.predicate,
                "reached": failure.reached,
                "other_namespaces": list(failure.other_namespaces),
                "witnesses": [_witness_as_dict(witness) for witness in failure.witnesses],
            }
            for failure in explanation.failures
        ],
        "namespaces": dict(explanation.namespaces),
        "answers": [answer_as_dict(answer) for answer in explanation.answers],
        "lacking": list(explanation.lacking),
        "never_matches": explanation.never,
        "header_failures": {
            name: {"required": required, "actual": actual}
            for name, (required, actual) in explanation.header_failures.items()
        },
    }


def _witness_as_dict(witness: Witness) -> dict[str, Any]:
    return {
        "path": witness.path,
        "line": witness.line,
        "range": [witness.span.start, witness.span.end],
    }
