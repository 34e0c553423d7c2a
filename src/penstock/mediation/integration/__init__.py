"""Global schemas made from local ones, and joined by more."""

from penstock.mediation.integration.integrating import Integration, extend, integrate
from penstock.mediation.integration.joining import Unplaced

__all__ = ["Integration", "Unplaced", "extend", "integrate"]
