"""``penstock router tree``: a tree of routers on Spark from the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from deltalake import DeltaTable
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


@pytest.fixture
def documents(tmp_path: Path) -> str:
    """A folder with a document that matches at two routers, and one that is not well-formed."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "1.xml").write_text("<news><flash>storm</flash></news>", encoding="utf-8")
    (folder / "2.xml").write_text("<news>", encoding="utf-8")
    return str(folder)


@pytest.fixture
def _session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command uses the session of the tests."""

    @contextmanager
    def given(**_: object) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr("penstock.pipeline.session.session", given)


@pytest.mark.usefixtures("_session")
def test_documents_pass_the_tree(tree: tuple[str, ...], documents: str) -> None:
    done = penstock(*tree, "--router", "rome", "--publisher", "wire", documents, "--json")
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


@pytest.mark.usefixtures("_session")
def test_deliveries_are_committed_to_tables(
    tree: tuple[str, ...], documents: str, tmp_path: Path
) -> None:
    tables = tmp_path / "tables"
    command = (*tree, "--router", "rome", "--publisher", "wire", "--deliver", str(tables))
    done = penstock(*command, documents, "--json")
    assert done.code == 0, done.err
    *delivered, summary = done.rows
    assert summary == {
        "type": "summary",
        "documents": 2,
        "matched": 1,
        "unmatched": 0,
        "dead": 1,
        "deliveries": 2,
    }
    assert {row["type"] for row in delivered} == {"delivery"}
    found = sorted((row["subscriber"], row["subscription"]) for row in delivered)
    assert found == [("ben", "storms"), ("flashes", "flashes")]
    assert len({row["document"] for row in delivered}) == 1
    # Another run is another commit, and shows its own deliveries only.
    again = penstock(*command, documents)
    assert again.code == 0, again.err
    assert again.out.count("delivered to") == 2
    assert len(DeltaTable(str(tables / "deliveries")).to_pyarrow_table()) == 4
    assert DeltaTable(str(tables / "counts")).transaction_version("router-tree") == 1


@pytest.mark.parametrize("line", ["hub paris rome", "hub"])
def test_a_link_has_two_ends(tree: tuple[str, ...], tmp_path: Path, line: str) -> None:
    (tmp_path / "links.txt").write_text(line, encoding="utf-8")
    done = penstock(*tree, "--router", "rome", str(tmp_path))
    assert done.code == 3
    assert "[routing.tree]" in done.err
    assert "links.txt:1" in "".join(done.err.split())
