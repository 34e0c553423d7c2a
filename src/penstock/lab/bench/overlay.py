"""``bench overlay``: extraneous transfers of the overlay on XML data, with reorganisation."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.lab.bench.report import BenchResults, Progress, Report
from penstock.lab.overlay.informed_tree import informed_overhead
from penstock.lab.overlay.overlay_runs import Policy, run_overlay
from penstock.lab.overlay.xml_configuration import XmlConfiguration, evaluated
from penstock.lab.overlay.xml_data import XML_DATA


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the benchmark."""

    nodes: int
    documents: int
    fan_outs: tuple[int, ...]


FULL = Size(nodes=400, documents=4_000, fan_outs=(2, 4, 6))
QUICK = Size(nodes=30, documents=300, fan_outs=(2, 4))

WIDE_MIN = 4
"""The least fan-out for which the lower limit is aimed at."""


def run(*, quick: bool, progress: Progress) -> Report:
    """Publish the same documents in overlays of both policies, at several fan-outs.

    The overhead is that of the whole run, from the first document on: the tree that the joins have
    made counts, too. Everything is simulated, so the results depend on no machine. For comparison,
    the overhead of a tree that is built with all documents known in advance.
    """
    size = QUICK if quick else FULL
    results = BenchResults()
    ours: dict[tuple[str, int], float] = {}
    relative: list[float] = []
    for data in XML_DATA:
        for fan_out in size.fan_outs:
            overheads = {}
            for policy in (Policy.PAPER, Policy.OURS):
                progress(f"bench overlay: {data.name}, fan-out {fan_out}, {policy}")
                configuration = XmlConfiguration(
                    data=data,
                    nodes=size.nodes,
                    documents=size.documents,
                    fan_out=fan_out,
                    policy=policy,
                )
                found = run_overlay(configuration)
                overheads[policy] = found.system_overhead
                name = f"{data.name}, fan-out {fan_out}, {policy}"
                results.figure(f"{name}: extraneous", 100 * found.system_overhead, "%")
                results.figure(f"{name}: the second half", 100 * found.late_overhead, "%")
            known = evaluated(data, size.documents, size.nodes)
            informed = informed_overhead(known.bitmaps(), fan_out)
            name = f"{data.name}, fan-out {fan_out}, all documents known in advance"
            results.figure(f"{name}: extraneous", 100 * informed, "%")
            ours[data.name, fan_out] = overheads[Policy.OURS]
            relative.append(overheads[Policy.OURS] / overheads[Policy.PAPER])
    results.values["extraneous"] = 100 * max(ours.values())
    wide = [value for (_, fan_out), value in ours.items() if fan_out >= WIDE_MIN]
    results.values["extraneous_wide"] = 100 * max(wide)
    results.values["relative"] = max(relative)
    return results.report("overlay", quick=quick)
