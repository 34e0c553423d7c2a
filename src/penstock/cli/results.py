"""How fragments and explanations are shown, by every command that shows them."""

from __future__ import annotations

import codecs
import re
from typing import Any

from penstock.documents import Fragment
from penstock.matching import Answer, Explanation, Witness

FRAGMENT_CHARACTERS_MAX = 160
"""How much of a fragment a line of text shows; JSON has it whole."""


def one_line(fragment: Fragment) -> str:
    """The fragment on one line, white space folded, cut at the limit."""
    text = " ".join(fragment.to_xml().split())
    if len(text) <= FRAGMENT_CHARACTERS_MAX:
        return text
    return text[: FRAGMENT_CHARACTERS_MAX - 1] + "…"


def fragment_as_dict(fragment: Fragment) -> dict[str, Any]:
    """A fragment as every ``--json`` shows it."""
    return {
        "kind": fragment.kind,
        "ranges": [[span.start, span.end] for span in fragment.spans],
        "from_entity": any(span.from_entity for span in fragment.spans),
        "xml": fragment.to_xml(),
    }


def answer_as_dict(answer: Answer) -> dict[str, Any]:
    """An answer of keywords as every ``--json`` shows it."""
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
    """An explanation as every ``--json`` shows it: XPath has steps, keywords have answers."""
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
                "witnesses": [_witness_as_dict(witness) for witness in failure.witnesses],
            }
            for failure in explanation.failures
        ],
        "namespaces": dict(explanation.namespaces),
        "answers": [answer_as_dict(answer) for answer in explanation.answers],
        "lacking": list(explanation.lacking),
    }


def _witness_as_dict(witness: Witness) -> dict[str, Any]:
    return {
        "path": witness.path,
        "line": witness.line,
        "range": [witness.span.start, witness.span.end],
    }


_DECLARED = re.compile(rb"""<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)""")


def decoded(content: bytes) -> str:
    """The text for a look at it: what cannot be decoded is marked, not refused."""
    encoding = "utf-8-sig"
    declared = _DECLARED.match(content)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif declared is not None:
        encoding = declared[1].decode()
    try:
        return content.decode(encoding, errors="replace")
    except LookupError:
        return content.decode("utf-8", errors="replace")
