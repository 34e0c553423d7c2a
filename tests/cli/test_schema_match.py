"""`penstock schema match`: proposed matchings, and mappings derived from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.mediation import SchemaMatching
from support.fixtures.commands import penstock
from support.fixtures.university import DOCUMENT, GLOBAL, LOCAL, MATCHING

TWO = {
    "local": "penstock schema 1\ncatalog\n  kurs* text\n  raum? text\n",
    "global": "penstock schema 1\ncatalogue\n  course* text\n  extra1? text\n",
}


@pytest.fixture
def schemas(tmp_path: Path) -> list[str]:
    for name, text in TWO.items():
        (tmp_path / f"{name}.schema").write_text(text, encoding="utf-8")
    return [str(tmp_path / f"{name}.schema") for name in TWO]


def test_the_matching_is_printed_with_the_next_step() -> None:
    done = penstock("schema", "match", str(LOCAL), str(GLOBAL))
    assert done.code == 0
    by_hand = SchemaMatching.from_text(MATCHING.read_text("utf-8"))
    assert set(SchemaMatching.from_text(done.out).pairs) == set(by_hand.pairs)
    assert done.out.endswith("# unmatched, global: /university/dept/course/schedule\n")
    assert "20 pairs, 0 uncertain; unmatched: 0 local, 1 global" in done.err
    assert f"penstock mapping derive {LOCAL} {GLOBAL} MATCHING" in done.err


def test_a_written_matching_can_be_derived_and_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "made" / "courses.matching"
    command = ["schema", "match", str(LOCAL), str(GLOBAL), "-o", str(file)]
    done = penstock(*command)
    assert (done.code, done.out) == (0, "")
    assert str(file) in done.err
    derived = penstock("mapping", "derive", str(LOCAL), str(GLOBAL), str(file))
    by_hand = penstock("mapping", "derive", str(LOCAL), str(GLOBAL), str(MATCHING))
    assert derived.out == by_hand.out
    file.write_text("edited", encoding="utf-8")
    refused = penstock(*command)
    assert refused.code == 2
    assert "--force" in refused.err
    assert file.read_text("utf-8") == "edited"
    assert penstock(*command, "--force").code == 0
    assert file.read_text("utf-8") != "edited"


def test_as_json() -> None:
    row = json.loads(penstock("schema", "match", str(LOCAL), str(GLOBAL), "--json").out)
    pair = row["pairs"][6]
    assert (pair["local"], pair["global"], pair["uncertain"]) == (
        "/university/faculty/department/course/@code",
        "/university/dept/course/code",
        False,
    )
    assert set(pair["parts"]) == {"names", "kinds", "structure", "values"}
    assert row["unmatched_global"] == ["/university/dept/course/schedule"]
    assert row["unmatched_local"] == []


def test_user_defined_abbreviations(schemas: list[str], tmp_path: Path) -> None:
    table = tmp_path / "german.txt"
    table.write_text("penstock abbreviations 1\nkurs course\n", encoding="utf-8")
    assert "/catalog/kurs /" not in penstock("schema", "match", *schemas).out
    done = penstock("schema", "match", *schemas, "--abbreviations", str(table))
    assert "/catalog/kurs /catalogue/course 0.93\n" in done.out
    assert "# unmatched, local: /catalog/raum\n" in done.out
    table.write_text("kurs course\n", encoding="utf-8")
    done = penstock("schema", "match", *schemas, "--abbreviations", str(table))
    assert done.code == 3
    assert f"error: {table}:1:1: the first line must be" in done.err


def test_samples_may_be_files_and_folders_and_refused_ones_are_reported(
    schemas: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "samples"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.xml").write_text(
        "<catalog><kurs>Logic</kurs><raum>B-12</raum></catalog>", encoding="utf-8"
    )
    (folder / ".hidden").write_text("no XML", encoding="utf-8")
    other = tmp_path / "global.xml"
    other.write_text(
        "<catalogue><course>Logic</course><extra1>B-12</extra1></catalogue>", encoding="utf-8"
    )
    both = ["--samples", str(folder), "--global-samples", str(other)]
    done = penstock("schema", "match", *schemas, *both, "--json")
    assert done.code == 0
    values = {pair["local"]: pair["parts"]["values"] for pair in json.loads(done.out)["pairs"]}
    assert values["/catalog/raum"] == 1
    one_side = penstock("schema", "match", *schemas, "--samples", str(folder))
    assert "samples of both schemas" in one_side.err
    (folder / "bad.xml").write_text("<catalog>", encoding="utf-8")
    refused = penstock("schema", "match", *schemas, *both)
    assert refused.code == 3
    assert f"error: {folder / 'bad.xml'}:1:" in refused.err
    assert refused.out.startswith("penstock matching 1\n")


def test_derive_notes_uncertain_pairs(tmp_path: Path) -> None:
    file = tmp_path / "unsure.matching"
    text = MATCHING.read_text("utf-8").replace(" /university\n", " /university 0.51 uncertain\n")
    file.write_text(text, encoding="utf-8")
    done = penstock("mapping", "derive", str(LOCAL), str(GLOBAL), str(file))
    assert done.code == 0
    assert "the matching has 1 uncertain pair" in done.err


def test_a_folder_of_samples_is_inferred_from(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(DOCUMENT.read_bytes())
    done = penstock("schema", "infer", str(tmp_path))
    assert done.out == penstock("schema", "infer", str(DOCUMENT)).out
