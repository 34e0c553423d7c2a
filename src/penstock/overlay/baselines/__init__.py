"""Rivals of the overlay, for comparison."""

from penstock.overlay.baselines.siena import Broker, SienaNetwork

__all__ = ["Broker", "SienaNetwork"]
