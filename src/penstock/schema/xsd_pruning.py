"""Removes the parts of an XSD that a tree does not need and that are expensive to check.

``xmlschema`` matches default, fixed and enumeration values against patterns with a backtracking
regular expression engine, and against each member of a union, which can be unions again: 250 bytes
could take it years. It parses the XPath expressions of identity constraints in a time that grows
faster than their length.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from xml.etree.ElementTree import Element

XSD_NAMESPACE: Final = "http://www.w3.org/2001/XMLSchema"


def _in_xsd(*names: str) -> frozenset[str]:
    return frozenset(f"{{{XSD_NAMESPACE}}}{name}" for name in names)


PRUNED: Final = _in_xsd("pattern", "enumeration", "unique", "key", "keyref")
"""Restrictions of values, and identity constraints."""

DECLARATIONS: Final = _in_xsd("element", "attribute")
VALUES: Final = ("default", "fixed")
"""Attributes of these that have a value of the declared type."""


def prune(roots: Iterable[Element]) -> None:
    """Remove these parts from an XSD, given as the roots of its files, before it is built."""
    for root in roots:
        for parent in list(root.iter()):
            # Removing one by one would take quadratic time.
            parent[:] = [child for child in parent if child.tag not in PRUNED]
            if parent.tag in DECLARATIONS:
                for name in VALUES:
                    parent.attrib.pop(name, None)
