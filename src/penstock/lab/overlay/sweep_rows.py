"""The rows of a sweep: a configuration and seed each, and what is measured in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa

from penstock.lab.overlay.bucket_configuration import BucketConfiguration
from penstock.lab.overlay.codd_claims import SIENA, SIENA_PASSED_ON
from penstock.lab.overlay.overlay_runs import (
    OverlayRun,
    Policy,
    RunConfiguration,
    SienaRun,
    run_overlay,
    run_siena,
)
from penstock.lab.overlay.run_store import RunStore
from penstock.lab.overlay.xml_configuration import XmlConfiguration
from penstock.lab.overlay.xml_data import XML_DATA

BUCKETS: Final = "buckets"
SIENA_LINES: Final = (SIENA, SIENA_PASSED_ON)
"""The baseline, by both definitions of a broker's overhead."""


@dataclass(frozen=True, slots=True)
class SweepRow:
    """A configuration and seed."""

    data: str
    """``buckets``, or the name of a set of XML data."""

    policy: str
    """A policy, or one of the lines of the Siena-like baseline."""

    fan_out: int
    nodes: int
    documents: int
    seed: int

    def configuration(self) -> RunConfiguration:
        """What to run; the policy does not matter for the baseline."""
        policy = Policy.NONE if self.policy in SIENA_LINES else Policy(self.policy)
        if self.data == BUCKETS:
            return BucketConfiguration(
                nodes=self.nodes,
                documents=self.documents,
                fan_out=self.fan_out,
                policy=policy,
                seed=self.seed,
            )
        [data] = [each for each in XML_DATA if each.name == self.data]
        return XmlConfiguration(
            data=replace(data, seed=self.seed),
            nodes=self.nodes,
            documents=self.documents,
            fan_out=self.fan_out,
            policy=policy,
            seed=self.seed,
        )


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What was measured in a row."""

    number: int
    overhead: float
    late_overhead: float
    depth: float
    """Mean over nodes of the average depth, weighted by the documents received."""

    moves: int
    messages: int

    @classmethod
    def of_siena(cls, number: int, overhead: float) -> SweepResult:
        """Of brokers, of which nothing else is measured: the rest is 0."""
        return cls(number, overhead, 0.0, 0.0, 0, 0)


_FIELDS: Final[dict[str, pa.DataType]] = {
    "number": pa.int64(),
    "overhead": pa.float64(),
    "late_overhead": pa.float64(),
    "depth": pa.float64(),
    "moves": pa.int64(),
    "messages": pa.int64(),
}
RESULT_SCHEMA: Final = pa.schema(_FIELDS)
SPARK_SCHEMA: Final = (
    "number long, overhead double, late_overhead double, depth double, moves long, messages long"
)


def measure(number: int, row: SweepRow, finished: Path | None = None) -> SweepResult:
    """Run one row, or read its result if it is finished."""
    if row.policy in SIENA_LINES:
        folder = None if finished is None else finished / "siena"
        baselines: RunStore[RunConfiguration, SienaRun] = RunStore(run_siena, folder)
        brokers = baselines(row.configuration())
        is_strict = row.policy == SIENA
        return SweepResult.of_siena(
            number, brokers.overhead if is_strict else brokers.passed_on_overhead
        )
    runs: RunStore[RunConfiguration, OverlayRun] = RunStore(run_overlay, finished)
    found = runs(row.configuration())
    return SweepResult(
        number,
        found.system_overhead,
        found.late_overhead,
        found.mean_received_depth,
        found.parent_changes,
        sum(found.messages.values()),
    )
