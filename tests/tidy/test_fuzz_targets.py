"""Every parser has a fuzz target, and the targets of the Python parsers accept their seeds."""

from __future__ import annotations

import pytest

import campaign
from seed_inputs import seed_inputs
from support.contracts.native_engines import needs_native

PARSERS = {
    "documents in every encoding": ["documents"],
    "internal DTD subsets": ["doctypes"],
    "DTD files": ["dtd_files"],
    "records of huge documents": ["records"],
    "queries": ["queries", "query_parsers", "path_matching"],
    "keyword queries and text": ["keyword_queries", "keyword_matching"],
    "mappings": ["mapping", "mapping_files"],
    "schema files": ["schema_files"],
    "matching, abbreviation and global schema files, tables of mappings": ["mediation_files"],
    "XML Schema files": ["xsd_files"],
    "subscription files": ["subscription_files"],
    "index files": ["index_files"],
    "archives": ["archives"],
    "files of the inbox's journal": ["journal_files"],
    "frames and handshakes of links": ["link_frames"],
    "headers and sections of annotations": ["document_annotations"],
    "messages of routers and their clients": ["router_messages"],
    "messages of peers": ["peer_messages"],
    "update statements": ["update_statements"],
    "patches of document trees": ["tree_patches"],
    "messages of synchronisation": ["sync_messages"],
}
"""What Penstock parses, and the targets that fuzz it."""

LOG = """\
INFO: Seed: 1
#2\tINITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 40Mb
#4000\tNEW    cov: 12 ft: 20 corp: 5/30b lim: 4 exec/s: 2000 rss: 41Mb L: 9/9 MS: 1 CopyPart-
"""


def test_every_parser_has_a_target_and_every_target_a_parser() -> None:
    listed = [target for targets in PARSERS.values() for target in targets]
    assert sorted(listed) == sorted([*campaign.native_targets(), *campaign.python_targets()])


@needs_native
def test_native_targets_have_seeds_and_existing_dictionaries() -> None:
    seeds = seed_inputs()
    assert sorted(seeds) == sorted(campaign.native_targets())
    assert all(seeds.values())
    assert set(campaign.NATIVE_DICTIONARIES) <= set(seeds)
    named = [campaign.python_target(target).DICTIONARY for target in campaign.python_targets()]
    named += campaign.NATIVE_DICTIONARIES.values()
    assert set(named) - {None} == {path.name for path in campaign.DICTIONARIES.iterdir()}


@needs_native
@pytest.mark.parametrize("target", campaign.python_targets())
def test_python_targets_accept_their_seeds_and_damaged_ones(target: str) -> None:
    for seed in campaign.python_target(target).seeds():
        campaign.python_target(target).run_input(seed)
        campaign.python_target(target).run_input(seed[: len(seed) // 2])


def test_the_report_has_the_numbers_of_the_log() -> None:
    done = campaign.Report.of_log("queries", f"{LOG}Done 5000 runs in 60 second(s)\n")
    assert done == campaign.Report("queries", 60, 5000, 12, 5, ())
    crash = f"{LOG}artifact_prefix='a/'; Test unit written to a/b/crash-0123abcd\n"
    assert campaign.Report.of_log("queries", crash).findings == ("crash-0123abcd",)
    assert campaign.Report.of_log("queries", crash).executions == 4000


def test_the_log_of_an_interrupted_run_is_no_result() -> None:
    assert not campaign.Report.of_log("queries", LOG).is_result
    assert not campaign.Report.of_log("queries", "   Compiling libc v0.2\n").is_result
    assert campaign.Report.of_log("queries", f"{LOG}Done 5000 runs in 60 second(s)\n").is_result


def test_a_written_report_keeps_the_results_of_other_targets() -> None:
    reports = [
        campaign.Report("queries", 60, 5000, 12, 5, ()),
        campaign.Report("document_annotations", 601, 10, 1, 1, ("crash-0123abcd",)),
    ]
    written = "\n".join(["make fuzz", "a machine", "", campaign.HEADING, *map(str, reports)])
    earlier = campaign.earlier_lines(written)
    assert earlier == {report.target: str(report) for report in reports}
