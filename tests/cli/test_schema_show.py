"""`penstock schema show`: prints a schema as a tree."""

from __future__ import annotations

import json
from pathlib import Path

from penstock.schema import read_schema_file, read_tree
from support.fixtures.commands import penstock
from support.fixtures.university import GLOBAL, LOCAL


def test_show_prints_a_readable_schema_file(tmp_path: Path) -> None:
    done = penstock("schema", "show", str(LOCAL))
    assert done.code == 0
    assert read_tree(done.out) == read_schema_file(LOCAL)
    again = tmp_path / "local.schema"
    again.write_text(done.out, encoding="utf-8")
    assert penstock("schema", "show", str(again)).out == done.out


def test_show_includes_domain_and_version(tmp_path: Path) -> None:
    path = tmp_path / "global.schema"
    path.write_text(
        "penstock schema 1\ndomain courses version 2 after sha256:1f\n\ncatalogue\n", "utf-8"
    )
    assert penstock("schema", "show", str(path)).out == path.read_text("utf-8")
    (row,) = penstock("schema", "show", "--json", str(path)).rows
    assert (row["domain"], row["version"], row["predecessor"]) == ("courses", 2, "sha256:1f")


def test_show_as_json() -> None:
    row = json.loads(penstock("schema", "show", "--json", str(GLOBAL)).out)
    assert row["nodes"][1] == {
        "path": "/university/faculty",
        "occurs": "*",
        "text": False,
        "attributes": {"name": "1"},
        "cut": False,
    }
    assert (row["cut_at"], row["remarks"]) == ([], [])


def test_a_malformed_schema_file_is_refused_with_its_position(tmp_path: Path) -> None:
    path = tmp_path / "bad.schema"
    path.write_text("penstock schema 1\na b c\n", encoding="utf-8")
    done = penstock("schema", "show", str(path))
    assert done.code == 3
    assert f"error: {path}:2:1: expected a node" in done.err
    assert "[schema.file]" in done.err
    row = json.loads(penstock("schema", "show", "--json", str(path)).err)
    assert row["error"]["code"] == "schema.file"


def test_the_root_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "two.dtd"
    path.write_text("<!ELEMENT a EMPTY> <!ELEMENT b EMPTY>", encoding="utf-8")
    assert "several roots" in penstock("schema", "show", str(path)).err
    assert penstock("schema", "show", str(path), "--root", "b").out.endswith("\nb\n")
