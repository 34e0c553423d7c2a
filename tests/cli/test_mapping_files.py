"""`penstock mapping`: derive, check, apply."""

from __future__ import annotations

import json
from pathlib import Path

from support.fixtures.commands import penstock
from support.fixtures.university import DOCUMENT, GLOBAL, LOCAL, MAPPING, MATCHING

UNREACHED = "/university/library/author/name should become"


def changed(path: Path, folder: Path, old: str, new: str) -> Path:
    """Copies a file, with a replacement in its text."""
    copy = folder / path.name
    text = path.read_text("utf-8")
    assert old in text
    copy.write_text(text.replace(old, new), encoding="utf-8")
    return copy


def test_derive_prints_the_mapping_and_its_remarks() -> None:
    done = penstock("mapping", "derive", str(LOCAL), str(GLOBAL), str(MATCHING))
    assert done.code == 0
    assert done.out == MAPPING.read_text("utf-8")
    assert done.err.splitlines() == [
        "/university/library/author stays in place where it has no article",
        "where /university/faculty/department/course has no instructor, what is to be moved into"
        " it stays",
    ]


def test_derive_reports_unreachable_pairs(tmp_path: Path) -> None:
    target = changed(
        GLOBAL, tmp_path, "      author\n        name text\n", "      author\n    name? text\n"
    )
    matching = changed(
        MATCHING, tmp_path, "/university/library/article/author/name", "/university/library/name"
    )
    done = penstock("mapping", "derive", str(LOCAL), str(target), str(matching))
    assert done.code == 0
    assert f"not reached: {UNREACHED}" in done.err
    assert "missing: /university/library/name is in the global schema" in done.err
    assert "extra: /university/library/article/author/name is in these documents" in done.err
    command = ("mapping", "derive", "--json", str(LOCAL), str(target), str(matching))
    row = json.loads(penstock(*command).out)
    assert row["unreached"][0].startswith(UNREACHED)
    assert row["missing"] == ["/university/library/name"]
    assert row["mapping"] == done.out
    assert row["digest"].startswith("sha256:")


def test_a_malformed_matching_is_refused_with_its_position(tmp_path: Path) -> None:
    path = tmp_path / "bad.matching"
    path.write_text("penstock matching 1\n/a b\n", encoding="utf-8")
    done = penstock("mapping", "derive", str(LOCAL), str(GLOBAL), str(path))
    assert done.code == 3
    assert f"error: {path}:2:1: expected two places" in done.err


def test_check_lists_operators_and_which_of_them_block() -> None:
    done = penstock("mapping", "check", str(MAPPING), str(GLOBAL), "--local", str(LOCAL))
    assert done.code == 0
    assert [" ".join(line.split()) for line in done.out.splitlines()] == [
        "/university/faculty => upgrade+ passes",
        "/university/faculty/department => rename dept passes",
        "/university/faculty/department/course => to-element @code passes",
        "/university/faculty/department/course => downgrade (TAs) into instructor blocks",
        "/university/faculty/department/course => insert schedule (location, time) blocks",
        "/university/library/author => exchange article blocks",
    ]


def test_check_fails_if_documents_have_extra_elements(tmp_path: Path) -> None:
    mapping = changed(MAPPING, tmp_path, "=> rename dept", "=> rename section")
    done = penstock("mapping", "check", str(mapping), str(GLOBAL))
    assert done.code == 1
    assert "extra: /university/section is in these documents" in done.err
    assert "missing: /university/dept is in the global schema" in done.err
    row = json.loads(penstock("mapping", "check", "--json", str(mapping), str(GLOBAL)).out)
    assert (row["extra"], row["missing"]) == (["/university/section"], ["/university/dept"])
    assert row["operators"][0] == {
        "operator": "/university/faculty => upgrade+",
        "blocking": False,
    }


def test_check_reports_cardinalities(tmp_path: Path) -> None:
    target = changed(GLOBAL, tmp_path, "  dept*", "  dept+")
    done = penstock("mapping", "check", str(MAPPING), str(target))
    assert done.code == 0
    assert "cardinality: /university/dept occurs * here, + in the global schema" in done.err


def test_check_fails_for_a_mapping_of_another_schema(tmp_path: Path) -> None:
    local = changed(LOCAL, tmp_path, "time?", "time")
    done = penstock("mapping", "check", str(MAPPING), str(GLOBAL), "--local", str(local))
    assert done.code == 1
    assert f"the mapping was made for another schema than {local}" in done.err


def test_an_inapplicable_mapping_is_refused_with_its_position(tmp_path: Path) -> None:
    mapping = changed(MAPPING, tmp_path, "exchange article", "exchange pamphlet")
    done = penstock("mapping", "check", str(mapping), str(GLOBAL))
    assert done.code == 3
    assert f"error: {mapping}:24:7: Exchange at /university/library/author: " in done.err
    assert "[mapping.children]" in done.err


def test_apply_prints_the_rewritten_document() -> None:
    done = penstock("mapping", "apply", str(MAPPING), str(DOCUMENT))
    assert done.code == 0
    assert '<dept name="computing">' in done.out
    assert done.out.count("<name>John</name>") == 2
    assert done.err == ""


def test_apply_traces_the_operators() -> None:
    done = penstock("mapping", "apply", "--trace", str(MAPPING), str(DOCUMENT))
    lines = done.err.splitlines()
    assert lines[0] == (
        f"{DOCUMENT}:14: /university/library/author => exchange article: now in each of 2 article"
    )
    assert (
        f"{DOCUMENT}:4: /university/faculty/department/course => insert schedule (location, time):"
        " 2 moved into a new schedule"
    ) in lines
    row = json.loads(
        penstock("mapping", "apply", "--trace", "--json", str(MAPPING), str(DOCUMENT)).out
    )
    assert row["trace"][0]["line"] == 14
    assert row["xml"] == done.out
    assert row["unknown"] == 0


def test_apply_counts_unknown_elements(tmp_path: Path) -> None:
    document = tmp_path / "odd.xml"
    document.write_text("<university><sports><team/></sports></university>", encoding="utf-8")
    done = penstock("mapping", "apply", str(MAPPING), str(document))
    assert "2 elements not in the local schema passed through unchanged" in done.err


def test_apply_continues_after_a_refused_document(tmp_path: Path) -> None:
    bad = tmp_path / "bad.xml"
    bad.write_text("<university>", encoding="utf-8")
    done = penstock("mapping", "apply", str(MAPPING), str(bad), str(DOCUMENT))
    assert done.code == 3
    assert f"error: {bad}:1:" in done.err
    assert done.out.startswith("<university>\n  <faculty")
