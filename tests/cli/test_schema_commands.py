"""`penstock schema`: trees of schemas, read and inferred."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.cli import schemas, spark_inference
from penstock.schema import read_schema_file, read_tree
from support.fixtures.commands import penstock
from support.fixtures.university import DOCUMENT, GLOBAL, LOCAL


def test_show_prints_a_schema_file_that_is_read_again(tmp_path: Path) -> None:
    done = penstock("schema", "show", str(LOCAL))
    assert done.code == 0
    assert read_tree(done.out) == read_schema_file(LOCAL)
    again = tmp_path / "local.schema"
    again.write_text(done.out, encoding="utf-8")
    assert penstock("schema", "show", str(again)).out == done.out


def test_show_says_which_global_schema_it_is(tmp_path: Path) -> None:
    path = tmp_path / "global.schema"
    path.write_text(
        "penstock schema 1\ndomain courses version 2 after sha256:1f\n\ncatalogue\n", "utf-8"
    )
    assert penstock("schema", "show", str(path)).out == path.read_text("utf-8")
    (row,) = penstock("schema", "show", "--json", str(path)).rows
    assert (row["domain"], row["version"], row["predecessor"]) == ("courses", 2, "sha256:1f")


def test_show_as_json() -> None:
    told = json.loads(penstock("schema", "show", "--json", str(GLOBAL)).out)
    assert told["nodes"][1] == {
        "path": "/university/faculty",
        "occurs": "*",
        "text": False,
        "attributes": {"name": "1"},
        "cut": False,
    }
    assert (told["cut_at"], told["remarks"]) == ([], [])


def test_a_schema_that_is_refused_is_shown_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "bad.schema"
    path.write_text("penstock schema 1\na b c\n", encoding="utf-8")
    done = penstock("schema", "show", str(path))
    assert done.code == 3
    assert f"error: {path}:2:1: expected a node" in done.err
    assert "[schema.file]" in done.err
    told = json.loads(penstock("schema", "show", "--json", str(path)).err)
    assert told["error"]["code"] == "schema.file"


def test_the_root_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "two.dtd"
    path.write_text("<!ELEMENT a EMPTY> <!ELEMENT b EMPTY>", encoding="utf-8")
    assert "several roots" in penstock("schema", "show", str(path)).err
    assert penstock("schema", "show", str(path), "--root", "b").out.endswith("\nb\n")


def test_infer_prints_the_schema_of_the_samples() -> None:
    done = penstock("schema", "infer", str(DOCUMENT))
    assert done.code == 0
    tree = read_tree(done.out)
    assert {str(place) for place in tree.places()} == {
        str(place) for place in read_schema_file(LOCAL).places()
    }


def test_infer_tells_of_documents_that_are_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.xml"
    bad.write_text("<a>", encoding="utf-8")
    done = penstock("schema", "infer", str(DOCUMENT), str(bad))
    assert done.code == 3
    assert f"error: {bad}:1:" in done.err
    assert done.out.startswith("penstock schema 1\n")
    assert "there are no samples" in penstock("schema", "infer", str(bad)).err


def test_infer_from_samples_of_several_roots(tmp_path: Path) -> None:
    names = ("a", "b")
    for name in names:
        (tmp_path / name).write_text(f"<{name} x='1'/>", encoding="utf-8")
    files = [str(tmp_path / name) for name in names]
    assert "several roots: a, b" in penstock("schema", "infer", *files).err
    assert penstock("schema", "infer", *files, "--root", "b").out.endswith("\nb\n  @x\n")
    refused = penstock("schema", "infer", *files, "--root", "c")
    assert refused.code == 3
    assert "no one root of the samples is called 'c'" in refused.err


def test_infer_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextlib.contextmanager
    def the_session_of_the_tests(**_options: object) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr(spark_inference, "session", the_session_of_the_tests)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.xml").write_bytes(DOCUMENT.read_bytes())
    (tmp_path / "bad.xml").write_text("<a>", encoding="utf-8")
    done = penstock("schema", "infer", "--spark", str(tmp_path))
    assert done.code == 3
    assert "refused: 1 document, xml.unclosed" in done.err
    plain = penstock("schema", "infer", str(DOCUMENT))
    assert read_tree(done.out) == read_tree(plain.out)
    assert "# 1 of 2 documents were refused: xml.unclosed 1\n" in done.out


def test_options_of_spark_are_for_spark() -> None:
    refused = penstock("schema", "infer", str(DOCUMENT), "--master", "local[1]")
    assert refused.code == 2
    assert "this is for --spark" in refused.err


def test_spark_is_advised_for_many_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "SPARK_ADVISED_BYTES", 10)
    assert "`--spark` reads them on all" in penstock("schema", "infer", str(DOCUMENT)).err
