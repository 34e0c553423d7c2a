"""``penstock router tree``: a tree of routers on Spark from the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.fixtures.commands import penstock


@pytest.fixture
def tree(tmp_path: Path) -> tuple[str, ...]:
    """The options of a tree whose center is ``hub``."""
    (tmp_path / "links.txt").write_text("hub paris\n\nhub rome\n", encoding="utf-8")
    folder = tmp_path / "subscriptions"
    folder.mkdir()
    (folder / "paris.txt").write_text("flashes\t//flash\n", encoding="utf-8")
    (folder / "rome.jsonl").write_text(
        '{"id": "storms", "subscriber": "ben", "kind": "keywords", "query": "storm"}\n'
        '{"id": "quiet", "subscriber": "ben", "query": "//flash", "paused": true}\n',
        encoding="utf-8",
    )
    (folder / "notes.md").write_text("not a subscription file", encoding="utf-8")
    links = str(tmp_path / "links.txt")
    return ("router", "tree", "--links", links, "--subscriptions", str(folder))


def test_documents_pass_the_tree(
    spark: SparkSession, tree: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def given(**_: object) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr("penstock.pipeline.session.session", given)
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "1.xml").write_text("<news><flash>storm</flash></news>", encoding="utf-8")
    (documents / "2.xml").write_text("<news>", encoding="utf-8")
    done = penstock(*tree, "--router", "rome", "--publisher", "wire", str(documents), "--json")
    assert done.code == 0, done.err
    *routed, summary = done.rows
    assert summary == {"type": "summary", "deliveries": 2}
    found = sorted(
        (
            row["router"],
            row["reading"],
            row["error"],
            [each["subscriber"] for each in row["matches"]],
        )
        for row in routed
        if row["error"] is None
    )
    assert found == [
        ("hub", "none", None, []),
        ("paris", "none", None, ["flashes"]),
        ("rome", "whole", None, ["ben"]),
    ]
    (refused,) = [row for row in routed if row["error"] is not None]
    assert (refused["router"], refused["forwards"]) == ("rome", [])


@pytest.mark.parametrize("line", ["hub paris rome", "hub"])
def test_a_link_has_two_ends(tree: tuple[str, ...], tmp_path: Path, line: str) -> None:
    (tmp_path / "links.txt").write_text(line, encoding="utf-8")
    done = penstock(*tree, "--router", "rome", str(tmp_path))
    assert done.code == 3
    assert "[routing.tree]" in done.err
    assert "links.txt:1" in "".join(done.err.split())
