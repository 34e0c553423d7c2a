"""`penstock schema infer`: schemas from sample documents, with and without Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.schema import read_schema_file, read_tree
from support.fixtures.commands import penstock
from support.fixtures.university import DOCUMENT, LOCAL


def test_infer_prints_the_schema_of_the_samples() -> None:
    done = penstock("schema", "infer", str(DOCUMENT))
    assert done.code == 0
    tree = read_tree(done.out)
    assert {str(place) for place in tree.places()} == {
        str(place) for place in read_schema_file(LOCAL).places()
    }


def test_infer_reports_refused_documents(tmp_path: Path) -> None:
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
    assert "the samples do not have exactly one root named 'c'" in refused.err


def test_infer_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextlib.contextmanager
    def the_session_of_the_tests(**_options: object) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr("penstock.pipeline.session.session", the_session_of_the_tests)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.xml").write_bytes(DOCUMENT.read_bytes())
    (tmp_path / "bad.xml").write_text("<a>", encoding="utf-8")
    done = penstock("schema", "infer", "--spark", str(tmp_path))
    assert done.code == 3
    assert "refused: 1 document, xml.unclosed" in done.err
    plain = penstock("schema", "infer", str(DOCUMENT))
    assert read_tree(done.out) == read_tree(plain.out)
    assert "# 1 of 2 documents were refused: xml.unclosed 1\n" in done.out


def test_spark_options_require_spark() -> None:
    refused = penstock("schema", "infer", str(DOCUMENT), "--master", "local[1]")
    assert refused.code == 2
    assert "applies only with --spark" in refused.err


def test_spark_is_suggested_for_large_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.cli.commands.schema.infer.SPARK_ADVISED_BYTES", 10)
    assert "`--spark` uses all cores" in penstock("schema", "infer", str(DOCUMENT)).err
