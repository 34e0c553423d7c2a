"""Simulation of overlays: virtual time, a network with faults, checkers, an explorer."""

from penstock.overlay.simulation.checks import (
    ViolationError,
    check_caught_up,
    check_nothing_lost,
    check_one_tree,
    check_order,
    check_structure,
)
from penstock.overlay.simulation.explorer import (
    SCENARIOS,
    Budget,
    Exploration,
    ExplorationError,
    ExplorerScenario,
    explore,
)
from penstock.overlay.simulation.network import NetworkOptions, SimulatedNetwork
from penstock.overlay.simulation.scenario import ScenarioOptions, random_options, run_scenario
from penstock.overlay.simulation.simulator import Simulator, SubscriberLog, Traffic

__all__ = [
    "SCENARIOS",
    "Budget",
    "Exploration",
    "ExplorationError",
    "ExplorerScenario",
    "NetworkOptions",
    "ScenarioOptions",
    "SimulatedNetwork",
    "Simulator",
    "SubscriberLog",
    "Traffic",
    "ViolationError",
    "check_caught_up",
    "check_nothing_lost",
    "check_one_tree",
    "check_order",
    "check_structure",
    "explore",
    "random_options",
    "run_scenario",
]
