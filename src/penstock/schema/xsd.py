"""Schema trees from XML Schema definitions (XSD 1.0), which ``xmlschema`` reads and checks.

A tree expresses containment and cardinality. Constraints of these that it cannot express become
remarks; patterns of values and identity constraints are ignored.
Only files in the schema's folder and below are loaded, and the work of checking them is bounded.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import xmlschema
from xmlschema.validators import (
    XsdAnyElement,
    XsdAttributeGroup,
    XsdComplexType,
    XsdElement,
    XsdGroup,
)

from penstock.documents import Name, read_summary
from penstock.errors import PenstockError, error
from penstock.language.relations.path_universe import Occurs
from penstock.schema.content_model import alternatives, in_sequence
from penstock.schema.limits import UNFOLD_LIMITS, UnfoldLimits
from penstock.schema.tree import SchemaAttribute, SchemaTree
from penstock.schema.unfolding import Declared, unfold
from penstock.schema.xsd_cost import check_cost
from penstock.schema.xsd_files import XsdFileOpener, check_size
from penstock.schema.xsd_pruning import prune


def tree_from_xsd(
    source: str | Path, *, root: str | None = None, limits: UnfoldLimits = UNFOLD_LIMITS
) -> SchemaTree:
    """The tree of an XSD, given as text or as the path of a file.

    ``root`` is the local name of a global element, or ``{uri}name``; it is optional if exactly one
    global element is not used inside another. Text must not include other files; a file may include
    and import files in its own folder and below.

    >>> tree = tree_from_xsd('''
    ...     <xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
    ...       <xs:element name="shop"><xs:complexType><xs:sequence>
    ...         <xs:element name="item" type="xs:string" maxOccurs="unbounded"/>
    ...       </xs:sequence></xs:complexType></xs:element>
    ...     </xs:schema>''')
    >>> [(str(node.name), node.occurs.many, node.text) for node in tree.nodes().values()]
    [('shop', False, False), ('item', True, True)]
    """
    try:
        schema, remarks = _read(source)
        reading = _DeclarationReader(remarks)
        top = _root(schema, root)
        tree = unfold(reading.declared, top, limits)
    except RecursionError:
        raise error("schema.limit", "the XSD is nested too deeply") from None
    return SchemaTree(tree.root, tree.cut_at, tuple(dict.fromkeys(remarks)))


def _read(source: str | Path) -> tuple[xmlschema.XMLSchema, list[str]]:
    check_size(source.stat().st_size if isinstance(source, Path) else len(source))
    # Penstock's reader checks well-formedness first: its errors are more precise.
    read_summary(source.read_bytes() if isinstance(source, Path) else source.encode())
    path = source.resolve() if isinstance(source, Path) else None
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", category=xmlschema.XMLSchemaImportWarning)
            warnings.simplefilter("always", category=xmlschema.XMLSchemaIncludeWarning)
            schema = xmlschema.XMLSchema(
                source if path is None else str(path),
                base_url=None if path is None else str(path.parent),
                allow="none" if path is None else "sandbox",
                opener=None if path is None else XsdFileOpener(path.parent),
                defuse="always",
                use_fallback=False,
                build=False,
            )
            roots = [each.root for each in schema.maps.schemas]
            prune(roots)
            check_cost(roots)
            schema.build()
    except (PenstockError, RecursionError):
        raise
    except Exception as failure:
        # The library raises exceptions of many classes for invalid schemas.
        reason = getattr(failure, "message", None) or str(failure) or type(failure).__name__
        raise error("schema.xsd", " ".join(str(reason).split())) from failure
    return schema, [" ".join(str(each.message).split()) for each in caught]


def _root(schema: xmlschema.XMLSchema, wanted: str | None) -> XsdElement:
    elements = list(schema.elements.values())
    if wanted is not None:
        found = [each for each in elements if wanted in (each.name, each.local_name)]
        if len(found) != 1:
            raise error("schema.root", f"the XSD has no unique global element {wanted!r}")
        return found[0]
    contained = {
        child.name
        for each in schema.iter_components(XsdElement)
        if isinstance(each, XsdElement)
        and isinstance(each.type, XsdComplexType)
        and isinstance(each.type.content, XsdGroup)
        for child in _particles(each.type.content)
        if isinstance(child, XsdElement) and child.name != each.name
    }
    # Members of a substitution group may replace its head.
    tops = [
        each
        for each in elements
        if each.name not in contained and each.substitution_group is None and not each.abstract
    ]
    if len(tops) != 1:
        listed = ", ".join(repr(each.local_name) for each in tops) or "none"
        raise error("schema.root", f"the root element is ambiguous: {listed}")
    return tops[0]


class _DeclarationReader:
    """Converts element declarations, and records remarks on inexpressible constraints."""

    def __init__(self, remarks: list[str]) -> None:
        self._remarks = remarks
        # By group: a named group may be referred to any number of times.
        self._occurs_in: dict[XsdGroup, dict[Name, Occurs]] = {}

    def declared(self, element: XsdElement) -> Declared[XsdElement]:
        kind = element.type
        text = True
        attributes: tuple[SchemaAttribute, ...] = ()
        children: dict[XsdElement, Occurs] = {}
        if isinstance(kind, XsdComplexType):
            text = kind.mixed or kind.has_simple_content()
            attributes = self._attributes(element, kind.attributes)
            if isinstance(kind.content, XsdGroup):
                children = self._children(element, kind.content)
            if kind.abstract:
                self._remark(element, "its type is abstract; derived content is unknown")
        return Declared(_name(element), text, attributes, children)

    def _remark(self, element: XsdElement, what: str) -> None:
        self._remarks.append(f"{_name(element)}: {what}")

    def _attributes(
        self, element: XsdElement, declared: XsdAttributeGroup
    ) -> tuple[SchemaAttribute, ...]:
        found = []
        for name, attribute in declared.items():
            if name is None:
                self._remark(element, "a tree cannot express arbitrary attributes")
            elif attribute.use != "prohibited":
                found.append(SchemaAttribute(_expanded(name), attribute.use == "required"))
        return tuple(found)

    def _children(self, element: XsdElement, content: XsdGroup) -> dict[XsdElement, Occurs]:
        by_name: dict[Name, XsdElement] = {}
        for child in self._elements(element, content):
            by_name.setdefault(_name(child), child)
        return {by_name[name]: occurs for name, occurs in self._occurs(content).items()}

    def _elements(self, element: XsdElement, content: XsdGroup) -> Iterator[XsdElement]:
        for child in _particles(content):
            if isinstance(child, XsdAnyElement):
                self._remark(element, "a tree cannot express arbitrary elements")
            else:
                yield from _substitutes(child)

    def _occurs(self, particle: XsdGroup | XsdElement | XsdAnyElement) -> dict[Name, Occurs]:
        """The cardinality of each child."""
        if particle.max_occurs == 0 or isinstance(particle, XsdAnyElement):
            return {}
        required = particle.min_occurs > 0
        many = particle.max_occurs is None or particle.max_occurs > 1
        if isinstance(particle, XsdElement):
            parts = [{_name(each): Occurs(True, False)} for each in _substitutes(particle)]
            inner = alternatives(parts)
        else:
            inner = self._occurs_inside(particle.ref or particle)
        return {
            name: Occurs(occurs.required and required, occurs.many or many)
            for name, occurs in inner.items()
        }

    def _occurs_inside(self, group: XsdGroup) -> dict[Name, Occurs]:
        known = self._occurs_in.get(group)
        if known is None:
            parts = [self._occurs(each) for each in group]
            known = alternatives(parts) if group.model == "choice" else in_sequence(parts)
            self._occurs_in[group] = known
        return known


def _particles(content: XsdGroup) -> Iterator[XsdElement | XsdAnyElement]:
    """The elements in a group, those of named groups once."""
    seen = {content}
    waiting = [iter(content)]
    while waiting:
        particle = next(waiting[-1], None)
        if particle is None:
            waiting.pop()
        elif isinstance(particle, XsdGroup):
            group = particle.ref or particle
            if group not in seen and particle.max_occurs != 0:
                seen.add(group)
                waiting.append(iter(group))
        elif particle.max_occurs != 0:
            yield particle


def _substitutes(element: XsdElement) -> list[XsdElement]:
    """The element, unless abstract, and its substitution group."""
    # References are resolved, so that recursion is detected.
    itself = [] if element.abstract else [element.ref or element]
    return [*itself, *sorted(set(element.iter_substitutes()), key=_name)]


def _name(element: XsdElement) -> Name:
    return _expanded(element.name)


def _expanded(name: str) -> Name:
    uri, _, local = name.rpartition("}")
    return Name(uri.removeprefix("{"), local)
