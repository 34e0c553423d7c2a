"""Figures 13 and 14 of the CoDD paper: XML data, and overhead by fan-out on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.lab.experiment_tables import Cell, Chart, ResultTable
from penstock.lab.overlay.overlay_runs import OverlayRun, Policy, RunConfiguration
from penstock.lab.overlay.xml_configuration import XmlConfiguration, evaluated
from penstock.lab.overlay.xml_data import XML_DATA, XmlDataSet, characteristics

MEASURED_DOCUMENTS = 300
"""Documents of which the characteristics are measured."""


@dataclass(frozen=True, slots=True)
class XmlScale:
    """The sizes of the experiments on XML data."""

    nodes: int
    documents: int
    fan_outs: tuple[int, ...]


class XmlFigures:
    """The figures, and what is claimed about them.

    Parameters
    ----------
    scale
        Sizes.
    run
        Runs a configuration, or returns the run if there was one.
    """

    def __init__(self, scale: XmlScale, run: Callable[[RunConfiguration], OverlayRun]) -> None:
        self._scale = scale
        self._run = run

    def data(self) -> ResultTable:
        """Figure 13, with the selectivity of the queries."""
        rows: list[tuple[Cell, ...]] = []
        for data in XML_DATA:
            known = evaluated(data, self._scale.documents, self._scale.nodes)
            found = characteristics(data, known.documents[:MEASURED_DOCUMENTS])
            paper = data.paper
            rows += [
                (data.name, "maximal depth", paper.depth_max, found.depth_max),
                (data.name, "mean depth", paper.depth_mean, found.depth_mean),
                (data.name, "elements", paper.elements, found.elements),
                (data.name, "KB a document", paper.kilobytes, found.kilobytes),
                (data.name, "selectivity", paper.selectivity, known.selectivity()),
            ]
        return ResultTable(
            "figure-13",
            "XML data and queries (Fig. 13)",
            ("data", "characteristic", "paper", "measured"),
            tuple(rows),
            (
                "Generated schemas in place of NITF, PSD and CIML; no element is recursive.",
                "Queries with probabilities 0.2 of *, 0.3 of a branch and 0.2 of //.",
            ),
        )

    def by_fan_out(self) -> ResultTable:
        """Figure 14."""
        rows: list[tuple[Cell, ...]] = [
            (
                data.name,
                fan_out,
                *(self.overhead(data, fan_out, policy) for policy in Policy),
            )
            for data in XML_DATA
            for fan_out in self._scale.fan_outs
        ]
        return ResultTable(
            "figure-14",
            "System overhead on XML data by fan-out (Fig. 14)",
            ("data", "fan-out", *Policy),
            tuple(rows),
            (
                f"{self._scale.nodes} nodes, {self._scale.documents:,} documents, each matched"
                " once for all queries, policies and fan-outs.",
            ),
            Chart("data", "fan-out", tuple(Policy), "overhead", one_scale=True),
        )

    def overhead(self, data: XmlDataSet, fan_out: int, policy: Policy) -> float:
        """The system overhead of a run."""
        configuration = XmlConfiguration(
            data=data,
            nodes=self._scale.nodes,
            documents=self._scale.documents,
            fan_out=fan_out,
            policy=policy,
        )
        return self._run(configuration).system_overhead

    def worst(self, policy: Policy) -> float:
        """The greatest overhead of a policy."""
        return max(
            self.overhead(data, fan_out, policy)
            for data in XML_DATA
            for fan_out in self._scale.fan_outs
        )

    def relative(self) -> float:
        """The greatest overhead of our policy relative to the paper's, of the same run."""
        return max(
            self.overhead(data, fan_out, Policy.OURS) / self.overhead(data, fan_out, Policy.PAPER)
            for data in XML_DATA
            for fan_out in self._scale.fan_outs
        )
