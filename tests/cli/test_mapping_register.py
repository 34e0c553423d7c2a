"""Registered mappings, and the commands that use them."""

from __future__ import annotations

from pathlib import Path

from penstock.documents import Document, Header
from penstock.mediation import carrying
from penstock.workspace import Workspace
from penstock.workspace.document_lookup import find_document
from support.fixtures.commands import Done, penstock
from support.fixtures.concerts import OPERA, opera_mapping
from support.spark.reference_pipeline import process

IN_ALDERFORD = "/programme/concert[venue/city = 'Alderford']"
DIGEST = opera_mapping().digest


def register(mapping_file: str, *options: str) -> Done:
    return penstock("mapping", "register", "season", mapping_file, *options)


def test_a_mapping_is_registered_listed_shown_and_removed(mapping_file: str) -> None:
    done = register(mapping_file, "--publisher", "opera")
    assert (done.code, done.out) == (0, f"{DIGEST}\n")
    assert "missing: /programme/concert/price is in the global schema" in done.err
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
    done = penstock("mapping", "remove", "season", "--publisher", "opera", "--force")
    assert (done.code, done.err) == (0, "removed the schema season\n")
    assert penstock("mapping", "list").err == "0 local schemas\n"


def test_register_reports_differences_and_errors(mapping_file: str, tmp_path: Path) -> None:
    (row,) = register(mapping_file, "--json").rows
    assert (row["digest"], row["missing"]) == (DIGEST, ["/programme/concert/price"])
    assert "[mediation.domain]" in register(mapping_file, "--domain", "films").err
    bad = tmp_path / "bad.mapping"
    bad.write_text("penstock mapping 1\nseason\n  => sing\n", encoding="utf-8")
    done = register(str(bad))
    assert done.code == 3
    assert f"error: {bad}:3:6:" in done.err


def test_status_lists_domains_only_if_there_are_any(mapping_file: str) -> None:
    register(mapping_file)
    assert "1 domain: concerts at version 1; 1 local schema\n" in penstock("status").out
    (row,) = penstock("status", "--json").rows
    assert (row["domains"], row["local_schemas"]) == ({"concerts": 1}, 1)
    penstock("mapping", "remove", "season", "--force")
    penstock("domain", "remove", "concerts", "--force")
    assert "domain" not in penstock("status").out


def test_a_document_carries_its_mapping(mapping_file: str) -> None:
    options = ("--publisher", "opera", "--header", "day=monday", "--mapping", mapping_file)
    assert penstock("publish", str(OPERA), *options).code == 0
    with Workspace.open(Path()) as workspace:
        header = find_document(workspace, "1").header
    fields = {"file": str(OPERA), "day": "monday", **carrying(opera_mapping())}
    assert header == Header(publisher="opera", fields=fields)


def test_publish_notes_an_unregistered_schema(mapping_file: str) -> None:
    options = ("--publisher", "opera", "--schema", "season")
    refusal = "the schema `season` of `opera` is not registered"
    assert refusal in penstock("publish", str(OPERA), *options).err
    assert penstock("publish", str(OPERA), *options, "--json").rows[-1]["refusal"] == refusal
    register(mapping_file)
    assert "season" not in penstock("publish", str(OPERA), *options).err
    assert "refusal" not in penstock("publish", str(OPERA), *options, "--json").rows[-1]


def test_a_malformed_mapping_is_not_sent(mapping_file: str, tmp_path: Path) -> None:
    Path(mapping_file).write_text("no mapping", encoding="utf-8")
    done = penstock("publish", str(OPERA), "--mapping", mapping_file)
    assert (done.code, "[mapping.syntax]" in done.err) == (3, True)


def test_try_shows_fragments_of_the_original(mapping_file: str) -> None:
    done = penstock("try", IN_ALDERFORD, str(OPERA), "--mapping", mapping_file)
    assert done.err == "matched 1 of 1 document (100.0%)\n"
    assert '<performance day="2026-04-11">' in done.out
    done = penstock("try", IN_ALDERFORD, str(OPERA))
    assert done.err == "matched 0 of 1 document (0.0%)\n"
    done = penstock("try", "--keywords", "quist", str(OPERA), "--mapping", mapping_file)
    assert (done.code, "not to keywords" in done.err) == (2, True)


def test_a_dead_letter_is_replayed_with_another_mapping(mapping_file: str) -> None:
    with Workspace.open(Path()) as workspace:
        wrong = {**carrying(opera_mapping()), "day": "monday"} | {"mapping-digest": "sha256:0"}
        workspace.publish([Document(b"<season>", Header(publisher="opera", id="1", fields=wrong))])
        process(workspace)
    assert penstock("dead-letters", "replay", "1", "--mapping", mapping_file).code == 0
    with Workspace.open(Path()) as workspace:
        process(workspace)
        (_, again) = workspace.dead_letters.all()
    assert again.fields == {"day": "monday", **carrying(opera_mapping())}
