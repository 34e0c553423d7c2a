"""Integrates local schemas into global schemas."""

from penstock.mediation.integration.schema_integration import Integration, extend, integrate
from penstock.mediation.integration.schema_merge import Unplaced

__all__ = ["Integration", "Unplaced", "extend", "integrate"]
