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


DOCUMENTS = {
    "north": "<list><item><aa>MATH 101</aa><bb>9:30am</bb><cc>Todd 12</cc></item>"
    "<item><aa>CHEM 202</aa><bb>1:00pm</bb><cc>Todd 14</cc></item></list>",
    "south": "<list><item><xx>10:45am</xx><yy>Todd 3</yy><zz>MATH 343</zz></item>"
    "<item><xx>2:15pm</xx><yy>Todd 12</yy><zz>CHEM 101</zz></item></list>",
}
TOGETHER = 5
"""Places of both documents' schema if each value corresponds to one of the other."""


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    for name, text in DOCUMENTS.items():
        inside = tmp_path / name
        inside.mkdir()
        (inside / "1.xml").write_text(text, encoding="utf-8")
        schema = penstock("schema", "infer", str(inside)).out
        (tmp_path / f"{name}.schema").write_text(schema, encoding="utf-8")
    return tmp_path


def added(*arguments: str) -> int:
    done = penstock("schema", "integrate", *arguments, "--domain", "d", "--json")
    assert done.code == 0, done.err
    return len(json.loads(done.out)["added"])


def test_values_of_samples_are_compared(documents: Path) -> None:
    both = schemas(documents, "north", "south")
    assert added(*both) > TOGETHER
    samples = [word for name in DOCUMENTS for word in ("--samples", str(documents / name))]
    assert added(*both, *samples) == TOGETHER


def test_documents_and_folders_replace_schemas(documents: Path) -> None:
    folder, document = documents / "north", documents / "south" / "1.xml"
    assert added(str(folder), str(document)) == TOGETHER
    options = ["--domain", "d", "--matchings", str(documents / "matchings")]
    done = penstock("schema", "integrate", str(folder), str(document), *options)
    assert "`penstock mapping derive LOCAL GLOBAL" in done.err
    assert (documents / "matchings" / "north.matching").exists()


def test_values_of_the_global_schema_are_compared(documents: Path) -> None:
    output = documents / "d.schema"
    penstock("schema", "integrate", *schemas(documents, "north"), "-o", str(output))
    late = [str(documents / "south"), "--into", str(output)]
    assert "added: " in penstock("schema", "integrate", *late).err
    samples = ["--global-samples", str(documents / "north")]
    assert "nothing new" in penstock("schema", "integrate", *late, *samples).err
    refused = penstock(
        "schema", "integrate", *schemas(documents, "north"), "--domain", "d", *samples
    )
    assert refused.code == 2
    assert "applies only with --into" in refused.err


def test_each_schema_needs_samples_or_none(documents: Path) -> None:
    both = schemas(documents, "north", "south")
    samples = ["--samples", str(documents / "north")]
    refused = penstock("schema", "integrate", *both, "--domain", "d", *samples)
    assert refused.code == 2
    assert "2 schemas need as many samples, not 1" in refused.err


def test_refused_samples_are_reported(documents: Path) -> None:
    (documents / "south" / "2.xml").write_text("<list>", encoding="utf-8")
    folders = [str(documents / name) for name in DOCUMENTS]
    done = penstock("schema", "integrate", *folders, "--domain", "d")
    assert done.code == 3
    assert "2.xml" in done.err
    assert "d, version 1: 5 new places" in done.err


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    done = penstock("schema", "integrate", str(tmp_path), "--domain", "d")
    assert done.code == 3
    assert "error: " in done.err
