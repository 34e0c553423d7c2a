"""The cache of open index versions and mappings in a worker process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.documents import Header, Limits
from penstock.mediation import Mapping
from penstock.pipeline import worker_cache
from penstock.pipeline.limits import OPEN_VERSIONS_MAX
from penstock.pipeline.worker_cache import cached_mappings, cached_version
from penstock.schema import read_tree
from penstock.workspace import Workspace
from penstock.workspace.index_versions import change_version, write_version
from support.fixtures.subscription_tables import subscription, table_of

NEWS = b"<news><item lang='en'><title>x</title></item></news>"
THREE = [
    subscription("anna-en", "/news/item[@lang='en']", returns="fragments"),
    subscription("ben-de", "/news/item[@lang='de']"),
    subscription("cleo-p", "/p:news", namespaces={"p": "urn:news"}),
]
KEYWORDS = [subscription("dora-words", "title X"), subscription("emil-any", "de OR fr")]
MAPPING = Mapping.from_text("penstock mapping 1\nkatalog\n  => rename catalogue\n")
OTHER = Mapping.from_text("penstock mapping 1\nliste\n  => rename catalogue\n")


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_cache, "_versions", worker_cache.VersionCache())
    monkeypatch.setattr(worker_cache, "_mappings", worker_cache.MappingVersionCache())


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "indexes")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path) as created:
        with created.mediation.changing() as mediator:
            tree = read_tree("penstock schema 1\ncatalogue\n")
            mediator.add(mediator.next_version("courses", tree))
            mediator.register("katalog", MAPPING, publisher="south")
        yield created


def matched_names(uri: str) -> list[str]:
    version = cached_version(uri)
    numbers = pa.array([int(id_) for id_ in version.matcher.match(NEWS)], pa.int64())
    return sorted(str(name) for name in version.rows(numbers).column("subscription").to_pylist())


def test_a_process_opens_a_version_once_and_keeps_a_few(folder: str) -> None:
    uris = [
        write_version(folder, table_of([subscription("a", f"/a{number}")]))
        for number in range(OPEN_VERSIONS_MAX + 1)
    ]
    first = cached_version(uris[0])
    assert cached_version(uris[0]) is first
    assert cached_version(uris[0], limits=Limits(depth=3)) is not first
    for uri in uris[1:]:
        cached_version(uri)
    assert cached_version(uris[0]) is not first


def test_incremental_versions_advance_the_cached_index(folder: str) -> None:
    base = write_version(folder, table_of(THREE))
    more = table_of([subscription("dora-any", "//item"), subscription("anna-en", "/news[item]")])
    changed = change_version(base, removed=["anna-en", "unknown"], added=more)
    again = change_version(changed, removed=["dora-any"], added=table_of([]))
    assert matched_names(base) == ["anna-en"]
    assert matched_names(changed) == ["anna-en", "dora-any"]
    assert matched_names(again) == ["anna-en"]
    (lineage,) = worker_cache._versions._lineages.values()
    assert lineage.appended.num_rows == 2


def test_a_cached_index_takes_the_first_query_of_a_kind(folder: str) -> None:
    keywords, paths = table_of(KEYWORDS), table_of(THREE)
    for base, added, of_base in ((paths, keywords, "anna-en"), (keywords, paths, "dora-words")):
        first = write_version(folder, base)
        changed = change_version(first, removed=[], added=added)
        removed = change_version(changed, removed=["anna-en", "dora-words"], added=table_of([]))
        assert matched_names(changed) == ["anna-en", "dora-words"]
        assert matched_names(removed) == []
        assert matched_names(first) == [of_base]


def test_opening_in_any_order_gives_the_same_matches(folder: str) -> None:
    base = write_version(folder, table_of(THREE))
    one = change_version(base, removed=[], added=table_of([subscription("one", "//title")]))
    two = change_version(one, removed=["one"], added=table_of([subscription("two", "//title")]))
    other = change_version(base, removed=[], added=table_of([subscription("other", "//title")]))
    expected = {
        base: ["anna-en"],
        one: ["anna-en", "one"],
        two: ["anna-en", "two"],
        other: ["anna-en", "other"],
    }
    for uri in (base, one, two, other, one, base, two):
        worker_cache._versions._versions.clear()  # the lineages stay
        assert matched_names(uri) == expected[uri]


def test_a_process_keeps_few_mapping_versions_and_parses_a_mapping_once(
    workspace: Workspace,
) -> None:
    header = Header(publisher="south", schema="katalog")
    uris = []
    for number in range(OPEN_VERSIONS_MAX + 1):
        with workspace.mediation.changing() as mediator:
            mediator.register(f"schema {number}", OTHER)
        uris.append(workspace.mediation.current())
    first = cached_mappings(uris[0])
    assert cached_mappings(uris[0]) is first
    assert all(cached_mappings(uri).choose(header) is first.choose(header) for uri in uris)
    assert cached_mappings(uris[0]) is not first
