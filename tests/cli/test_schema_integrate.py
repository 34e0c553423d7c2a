"""`penstock schema integrate`: a new global schema, and extending one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.mediation import GlobalSchema, SchemaMatching
from support.fixtures.commands import penstock

LOCALS = {
    "acme": "catalogue\n  course*\n    @code\n    title text\n",
    "bravo": "catalog\n  course*\n    code text\n    title text\n    room? text\n",
    "late": "catalogue\n  course*\n    code text\n    credits text\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, outline in LOCALS.items():
        (tmp_path / f"{name}.schema").write_text(f"penstock schema 1\n{outline}", encoding="utf-8")
    return tmp_path


def schemas(folder: Path, *names: str) -> list[str]:
    return [str(folder / f"{name}.schema") for name in names]


def test_integrate_writes_the_schema_and_matchings(folder: Path) -> None:
    output, matchings = folder / "courses.schema", folder / "matchings"
    both = schemas(folder, "acme", "bravo")
    options = ["-o", str(output), "--matchings", str(matchings)]
    done = penstock("schema", "integrate", *both, *options)
    assert (done.code, done.out) == (0, "")
    schema = GlobalSchema.from_text(output.read_text("utf-8"))
    assert (schema.domain, schema.version, schema.predecessor) == ("courses", 1, None)
    assert "courses, version 1: 5 new places" in done.err
    assert f"{both[0]}: 4 pairs, 0 uncertain" in done.err
    for name in ("acme", "bravo"):
        file = matchings / f"{name}.matching"
        assert len(SchemaMatching.from_text(file.read_text("utf-8")).pairs) in (4, 5)
        (local,) = schemas(folder, name)
        derived = penstock("mapping", "derive", local, str(output), str(file))
        assert derived.code == 0
        assert "not reached" not in derived.err


def test_integrate_into_an_existing_schema(folder: Path) -> None:
    output, second = folder / "courses.schema", folder / "second.schema"
    penstock("schema", "integrate", *schemas(folder, "acme", "bravo"), "-o", str(output))
    first = GlobalSchema.from_text(output.read_text("utf-8"))
    late = schemas(folder, "late")
    done = penstock("schema", "integrate", *late, "--into", str(output), "-o", str(second))
    schema = GlobalSchema.from_text(second.read_text("utf-8"))
    assert (schema.domain, schema.version, schema.predecessor) == ("courses", 2, first.digest)
    assert "added: /catalog/course/credits" in done.err
    again = penstock("schema", "integrate", *late, "--into", str(second))
    assert again.out == second.read_text("utf-8")
    assert "nothing new: courses stays at version 2" in again.err


def test_as_json(folder: Path) -> None:
    both = schemas(folder, "acme", "bravo")
    row = json.loads(penstock("schema", "integrate", *both, "--domain", "c", "--json").out)
    assert (row["domain"], row["version"], row["predecessor"]) == ("c", 1, None)
    assert GlobalSchema.from_text(row["schema"]).digest == row["digest"]
    assert len(row["added"]) == 5
    assert [each["schema"] for each in row["locals"]] == both
    assert row["locals"][0]["unplaced"] == row["locals"][0]["unreached"] == []


def test_nothing_is_overwritten_without_force(folder: Path) -> None:
    output = folder / "courses.schema"
    command = ["schema", "integrate", *schemas(folder, "acme"), "-o", str(output)]
    assert penstock(*command).code == 0
    refused = penstock(*command)
    assert refused.code == 2
    assert "use --force to overwrite it" in refused.err
    assert penstock(*command, "--force").code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give --domain or --output"),
        (["--domain", "x", "--into", ""], "already has a domain"),
    ],
)
def test_a_domain_is_given_exactly_once(folder: Path, options: list[str], message: str) -> None:
    acme = schemas(folder, "acme")
    given = [each or acme[0] for each in options]
    refused = penstock("schema", "integrate", *acme, *given)
    assert refused.code == 2
    assert message in refused.err


def test_matching_files_of_two_local_schemas_must_not_clash(
    folder: Path,
) -> None:
    other = folder / "in" / "acme.schema"
    other.parent.mkdir()
    other.write_text(f"penstock schema 1\n{LOCALS['acme']}", encoding="utf-8")
    both = [*schemas(folder, "acme"), str(other)]
    options = ["--domain", "x", "--matchings", str(folder)]
    refused = penstock("schema", "integrate", *both, *options)
    assert refused.code == 2
    assert "several local schemas are named `acme`" in refused.err


def test_a_schema_without_a_domain_cannot_be_extended(folder: Path) -> None:
    acme, bravo = schemas(folder, "acme", "bravo")
    refused = penstock("schema", "integrate", acme, "--into", bravo)
    assert refused.code == 3
    assert f"error: {bravo}: the schema does not name its domain" in refused.err
    assert "domain NAME version 1" in refused.err
