"""`penstock domain`: add, list, show and remove."""

from __future__ import annotations

from pathlib import Path

from support.fixtures.commands import penstock
from support.fixtures.concerts import GLOBAL


def test_a_domain_is_added_listed_shown_and_removed(mapping_file: str) -> None:
    done = penstock("domain", "add", str(GLOBAL))
    assert (done.code, done.out) == (0, "concerts: version 1 (already known)\n")
    assert penstock("domain", "show", "concerts").out == GLOBAL.read_text("utf-8")
    assert penstock("domain", "show", "concerts", "--json").rows[0]["version"] == 1
    penstock("mapping", "register", "season", mapping_file)
    assert penstock("domain", "list").out.splitlines() == [
        "domain    version  local schemas",
        "concerts        1              1",
    ]
    (row,) = penstock("domain", "list", "--json").rows
    assert (row["domain"], row["local_schemas"]) == ("concerts", 1)
    refused = penstock("domain", "remove", "concerts")
    assert refused.code == 3
    assert "the schema `season` of any publisher is registered" in refused.err
    penstock("mapping", "remove", "season", "--force")
    removed = penstock("domain", "remove", "concerts", "--json", "--force")
    assert removed.rows == [{"removed": "concerts"}]
    assert penstock("domain", "list").err == "0 domains\n"
    assert "[mediation.domain]" in penstock("domain", "remove", "concerts").err


def test_a_file_without_a_domain_becomes_the_next_version(
    mapping_file: str, tmp_path: Path
) -> None:
    plain = tmp_path / "larger.schema"
    text = GLOBAL.read_text("utf-8").replace("domain concerts version 1\n", "")
    plain.write_text(text + "    encore? text\n", encoding="utf-8")
    assert "does not name its domain" in penstock("domain", "add", str(plain)).err
    done = penstock("domain", "add", str(plain), "--name", "concerts")
    assert done.out == "concerts: version 2\n"
    (row,) = penstock("domain", "add", str(plain), "--name", "concerts", "--json").rows
    assert (row["version"], row["new"]) == (2, False)
    assert "encore" not in penstock("domain", "show", "concerts", "--version", "1").out
    penstock("mapping", "register", "season", mapping_file)
    smaller = tmp_path / "smaller.schema"
    smaller.write_text("penstock schema 1\nprogramme\n", encoding="utf-8")
    refused = penstock("domain", "add", str(smaller), "--name", "concerts")
    assert (refused.code, "[mediation.version]" in refused.err) == (3, True)
    assert "the domain `concerts`" in penstock("domain", "add", str(GLOBAL), "--name", "films").err
