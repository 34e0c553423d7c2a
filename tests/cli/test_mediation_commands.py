"""Domains and mappings of a workspace, and publishing, trying and explaining by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.documents import Document, Header
from penstock.mediation import carrying
from penstock.workspace import StoredSubscription, Workspace
from penstock.workspace.document_lookup import find_document
from support.fixtures.commands import Done, penstock
from support.fixtures.concerts import GLOBAL, OPERA, opera_mapping
from support.spark.reference_pipeline import process

IN_ALDERFORD = "/programme/concert[venue/city = 'Alderford']"
DIGEST = opera_mapping().digest


@pytest.fixture
def mapping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file with the opera's mapping, beside which all commands run in a workspace."""
    monkeypatch.chdir(tmp_path)
    Workspace.create(tmp_path).close()
    path = tmp_path / "opera.mapping"
    path.write_text(opera_mapping().to_text(), encoding="utf-8")
    assert penstock("domain", "add", str(GLOBAL)).code == 0
    return str(path)


def register(mapping: str, *options: str) -> Done:
    return penstock("mapping", "register", "season", mapping, *options)


def test_a_domain_is_added_listed_shown_and_removed(mapping: str) -> None:
    done = penstock("domain", "add", str(GLOBAL))
    assert (done.code, done.out) == (0, "concerts: version 1, which was there already\n")
    assert penstock("domain", "show", "concerts").out == GLOBAL.read_text("utf-8")
    assert penstock("domain", "show", "concerts", "--json").rows[0]["version"] == 1
    register(mapping)
    assert penstock("domain", "list").out.splitlines() == [
        "domain    version  local schemas",
        "concerts        1              1",
    ]
    (row,) = penstock("domain", "list", "--json").rows
    assert (row["domain"], row["local_schemas"]) == ("concerts", 1)
    refused = penstock("domain", "remove", "concerts")
    assert refused.code == 3
    assert "the schema `season` of any publisher is registered" in refused.err
    penstock("mapping", "remove", "season")
    assert penstock("domain", "remove", "concerts", "--json").rows == [{"removed": "concerts"}]
    assert penstock("domain", "list").err == "0 domains\n"
    assert "[mediation.domain]" in penstock("domain", "remove", "concerts").err


def test_a_file_that_names_no_domain_is_the_next_version_of_one(
    mapping: str, tmp_path: Path
) -> None:
    plain = tmp_path / "larger.schema"
    text = GLOBAL.read_text("utf-8").replace("domain concerts version 1\n", "")
    plain.write_text(text + "    encore? text\n", encoding="utf-8")
    assert "does not say of which domain" in penstock("domain", "add", str(plain)).err
    done = penstock("domain", "add", str(plain), "--name", "concerts")
    assert done.out == "concerts: version 2\n"
    (row,) = penstock("domain", "add", str(plain), "--name", "concerts", "--json").rows
    assert (row["version"], row["new"]) == (2, False)
    assert "encore" not in penstock("domain", "show", "concerts", "--version", "1").out
    register(mapping)
    smaller = tmp_path / "smaller.schema"
    smaller.write_text("penstock schema 1\nprogramme\n", encoding="utf-8")
    refused = penstock("domain", "add", str(smaller), "--name", "concerts")
    assert (refused.code, "[mediation.version]" in refused.err) == (3, True)
    assert "of `concerts`" in penstock("domain", "add", str(GLOBAL), "--name", "films").err


def test_a_mapping_is_registered_listed_shown_and_removed(mapping: str) -> None:
    done = register(mapping, "--publisher", "opera")
    assert (done.code, done.out) == (0, f"{DIGEST}\n")
    assert "missing: the global schema has /programme/concert/price" in done.err
    assert penstock("mapping", "list").out.splitlines() == [
        "schema  publisher  domain    version  mapping",
        f"season  opera      concerts  1        {DIGEST[:19]}",
    ]
    assert penstock("mapping", "list", "--json").rows == [
        {
            "schema": "season",
            "publisher": "opera",
            "domain": "concerts",
            "version": 1,
            "digest": DIGEST,
        }
    ]
    printed = opera_mapping().to_text()
    assert penstock("mapping", "show", "season", "--publisher", "opera").out == printed
    assert penstock("mapping", "show", DIGEST).out == printed
    assert penstock("mapping", "show", DIGEST, "--json").rows[0]["digest"] == DIGEST
    refused = penstock("mapping", "show", "season")
    assert (refused.code, "[mediation.unregistered]" in refused.err) == (3, True)
    assert penstock("mapping", "remove", "season").code == 3
    done = penstock("mapping", "remove", "season", "--publisher", "opera")
    assert (done.code, done.err) == (0, "the schema season is registered no more\n")
    assert penstock("mapping", "list").err == "0 local schemas\n"


def test_registering_tells_what_is_wrong(mapping: str, tmp_path: Path) -> None:
    (row,) = register(mapping, "--json").rows
    assert (row["digest"], row["missing"]) == (DIGEST, ["/programme/concert/price"])
    assert "[mediation.domain]" in register(mapping, "--domain", "films").err
    bad = tmp_path / "bad.mapping"
    bad.write_text("penstock mapping 1\nseason\n  => sing\n", encoding="utf-8")
    done = register(str(bad))
    assert done.code == 3
    assert f"error: {bad}:3:6:" in done.err


def test_status_tells_of_domains_only_where_there_are_any(mapping: str) -> None:
    register(mapping)
    assert "1 domain: concerts at version 1; 1 local schema\n" in penstock("status").out
    (row,) = penstock("status", "--json").rows
    assert (row["domains"], row["local_schemas"]) == ({"concerts": 1}, 1)
    penstock("mapping", "remove", "season")
    penstock("domain", "remove", "concerts")
    assert "domain" not in penstock("status").out


def test_a_document_carries_its_mapping(mapping: str) -> None:
    options = ("--publisher", "opera", "--field", "day=monday", "--mapping", mapping)
    assert penstock("publish", str(OPERA), *options).code == 0
    with Workspace.open(Path()) as workspace:
        header = find_document(workspace, "1").header
    assert header == Header(
        publisher="opera", fields={"day": "monday", **carrying(opera_mapping())}
    )


def test_publishing_tells_of_a_schema_that_nobody_registered(mapping: str) -> None:
    options = ("--publisher", "opera", "--schema", "season")
    told = "nobody registered the schema `season` of `opera`"
    assert told in penstock("publish", str(OPERA), *options).err
    assert penstock("publish", str(OPERA), *options, "--json").rows[-1]["refusal"] == told
    register(mapping)
    assert "season" not in penstock("publish", str(OPERA), *options).err
    assert "refusal" not in penstock("publish", str(OPERA), *options, "--json").rows[-1]


def test_a_mapping_that_cannot_be_read_is_not_sent(mapping: str, tmp_path: Path) -> None:
    Path(mapping).write_text("no mapping", encoding="utf-8")
    done = penstock("publish", str(OPERA), "--mapping", mapping)
    assert (done.code, "[mapping.syntax]" in done.err) == (3, True)


def test_try_shows_parts_of_the_original(mapping: str) -> None:
    done = penstock("try", IN_ALDERFORD, str(OPERA), "--mapping", mapping)
    assert done.err == "matched 1 of 1 document (100.0%)\n"
    assert '<performance day="2026-04-11">' in done.out
    done = penstock("try", IN_ALDERFORD, str(OPERA))
    assert done.err == "matched 0 of 1 document (0.0%)\n"
    done = penstock("try", "--keywords", "quist", str(OPERA), "--mapping", mapping)
    assert (done.code, "not for keywords" in done.err) == (2, True)


def test_explain_follows_the_header_or_a_file(mapping: str) -> None:
    register(mapping)
    with Workspace.open(Path()) as workspace:
        for wanted in (
            StoredSubscription(id="alderford", subscriber="anna", query=IN_ALDERFORD),
            StoredSubscription(
                id="quist", subscriber="anna", kind="keywords", query="quist season"
            ),
        ):
            workspace.subscriptions.add(wanted)
        content = OPERA.read_bytes()
        workspace.publish(
            [
                Document(content, Header(publisher="opera", id="named", schema="season")),
                Document(content, Header(publisher="opera", id="plain")),
            ]
        )
        process(workspace)  # both are found in the table too
    named = penstock("explain", "alderford", "opera/named")
    assert named.out.startswith("alderford matched:")
    assert "as the global schema has it" in named.err
    plain = penstock("explain", "alderford", "opera/plain")
    assert (plain.out.partition(":")[0], plain.err) == ("alderford did not match", "")
    (row,) = penstock("explain", "alderford", str(OPERA), "--mapping", mapping, "--json").rows
    assert (row["matched"], row["mapping"]) == (True, DIGEST)
    words = penstock("explain", "quist", "opera/named")
    assert words.out.startswith("quist matched:"), "keywords hear what was sent"
    assert words.err == ""


def test_a_dead_letter_is_replayed_with_another_mapping(mapping: str) -> None:
    with Workspace.open(Path()) as workspace:
        wrong = {**carrying(opera_mapping()), "day": "monday"} | {"mapping-digest": "sha256:0"}
        workspace.publish([Document(b"<season>", Header(publisher="opera", id="1", fields=wrong))])
        process(workspace)
    assert penstock("dead-letters", "replay", "1", "--mapping", mapping).code == 0
    with Workspace.open(Path()) as workspace:
        process(workspace)
        (_, again) = workspace.dead_letters.all()
    assert again.fields == {"day": "monday", **carrying(opera_mapping())}
