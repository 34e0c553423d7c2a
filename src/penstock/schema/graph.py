"""A schema as a graph of elements and their possible children.

Within a schema, an element is identified by its *label*, its name as written in the DTD. Relations
between queries identify elements by namespace URI and local name; for them, the graph implements
 :class:`~penstock.language.relations.path_universe.PathUniverse`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path as FilePath

from penstock.documents import Name as TreeName
from penstock.errors import error
from penstock.language.relations.path_universe import AttributeRule, Name, Occurs, TextRule
from penstock.language.xpath.ast import Path, Query
from penstock.schema.content_admission import admits
from penstock.schema.content_model import Default, Element, Empty
from penstock.schema.dtd import read_dtd
from penstock.schema.dtd_encoding import decode_dtd
from penstock.schema.element_declarations import declared_elements, minimal_heights, root_labels
from penstock.schema.limits import DTD_LIMITS, UNFOLD_LIMITS, DtdLimits, UnfoldLimits
from penstock.schema.path_expansion import Expansion, expand
from penstock.schema.prefix_resolution import Resolver, fixed_namespaces
from penstock.schema.tree import SchemaAttribute, SchemaTree
from penstock.schema.unfolding import Declared, unfold

CHARACTER_BYTES_MAX = 4
"""Bytes of the longest character, in UTF-8 and in UTF-16."""


class SchemaGraph:
    """The elements of a schema by label, and its possible roots; immutable, compared by identity.

    Examples
    --------
    >>> schema = SchemaGraph.from_dtd('''
    ...     <!ELEMENT shop (item*)>
    ...     <!ELEMENT item (name, price?)>
    ...     <!ATTLIST item lang (en | de) #REQUIRED>
    ...     <!ELEMENT name (#PCDATA)> <!ELEMENT price (#PCDATA)>''')
    >>> schema.root_labels
    ('shop',)
    >>> schema.elements["item"].children["price"]
    Occurs(required=False, many=False)
    """

    def __init__(
        self,
        elements: Mapping[str, Element],
        roots: Iterable[str] | None = None,
        namespaces: Mapping[str, str] | None = None,
    ) -> None:
        self._elements = dict(elements)
        self._heights = minimal_heights(elements)
        self._root_labels = root_labels(elements, roots)
        self._namespaces = dict(namespaces or {})
        self._resolver = Resolver(self._namespaces)
        self._names = {
            label: self._resolver.element(label, element.where)
            for label, element in elements.items()
        }
        self._labels = {name: label for label, name in self._names.items()}
        for label, name in self._names.items():
            if self._labels[name] != label:
                raise error(
                    "schema.namespace",
                    f"{label!r} and {self._labels[name]!r} are the same element",
                    elements[label].where,
                )
        # Elements with the content ANY share their children, whose number is that of all elements.
        resolved: dict[int, Mapping[Name, Occurs]] = {}
        self._children: dict[Name, Mapping[Name, Occurs]] = {}
        for label, element in elements.items():
            children = resolved.get(id(element.children))
            if children is None:
                children = {
                    self._names[child]: occurs for child, occurs in element.children.items()
                }
                resolved[id(element.children)] = children
            self._children[self._names[label]] = children
        self._attributes = {
            self._names[label]: self._rules(element) for label, element in elements.items()
        }

    def __repr__(self) -> str:
        return f"<SchemaGraph: {', '.join(self._root_labels)}; {len(self._elements)} elements>"

    @classmethod
    def from_dtd(
        cls,
        text: str,
        *,
        roots: Iterable[str] | None = None,
        namespaces: Mapping[str, str] | None = None,
        limits: DtdLimits = DTD_LIMITS,
    ) -> SchemaGraph:
        """Read a DTD.

        ``roots`` are the labels of possible document roots; they default to the elements that no
        other element contains. ``namespaces`` maps the DTD's prefixes to URIs (``""`` for elements
        without a prefix) unless the DTD fixes them with ``xmlns`` attributes.
        """
        found = read_dtd(text, limits)
        prefixes = {**fixed_namespaces(found.attributes), **(namespaces or {})}
        return cls(declared_elements(found), roots, prefixes)

    @classmethod
    def from_dtd_file(
        cls,
        path: str | FilePath,
        *,
        roots: Iterable[str] | None = None,
        namespaces: Mapping[str, str] | None = None,
        limits: DtdLimits = DTD_LIMITS,
    ) -> SchemaGraph:
        """Read a DTD from a file in its declared encoding."""
        path = FilePath(path)
        if path.stat().st_size > limits.size_max * CHARACTER_BYTES_MAX:
            raise error("schema.limit", f"the DTD is longer than {limits.size_max} characters")
        text = decode_dtd(path.read_bytes())
        return cls.from_dtd(text, roots=roots, namespaces=namespaces, limits=limits)

    # By label

    @property
    def elements(self) -> Mapping[str, Element]:
        """The declared elements by label, in declaration order."""
        return self._elements

    @property
    def root_labels(self) -> tuple[str, ...]:
        """The labels of possible document roots."""
        return self._root_labels

    @property
    def namespaces(self) -> Mapping[str, str]:
        """Prefixes and URIs, as given or fixed by the DTD; ``""`` stands for no prefix."""
        return self._namespaces

    @property
    def heights(self) -> Mapping[str, int]:
        """Minimum height of each element by label; 1 for an element that needs no children."""
        return self._heights

    def name_of(self, label: str) -> Name:
        """The expanded name of a label; raises :class:`KeyError` if it is unknown."""
        return self._names[label]

    def label_of(self, name: Name) -> str:
        """The label of an expanded name; raises :class:`KeyError` if it is unknown."""
        return self._labels[name]

    def tree(self, root: str | None = None, limits: UnfoldLimits = UNFOLD_LIMITS) -> SchemaTree:
        """Unfold to a tree from ``root``, by default the first root."""
        if root is not None and root not in self._elements:
            raise error("schema.root", f"the root {root!r} is not declared")
        return unfold(self._declared, root or self._root_labels[0], limits)

    def expand(self, query: Query | Path, limits: UnfoldLimits = UNFOLD_LIMITS) -> Expansion:
        """The concrete paths of a query in this schema."""
        return expand(self, query, limits)

    # By resolved name: the path universe

    def roots(self) -> frozenset[Name]:
        """The names of possible document roots."""
        return frozenset(self._names[label] for label in self._root_labels)

    def children(self, element: Name) -> Mapping[Name, Occurs]:
        """The possible children of an element."""
        return self._children.get(element, {})

    def attributes(self, element: Name) -> Mapping[Name, AttributeRule]:
        """The possible attributes of an element, excluding namespace declarations."""
        return self._attributes.get(element, {})

    def text(self, element: Name) -> TextRule:
        """The text rule of an element; no text for an unknown element."""
        label = self._labels.get(element)
        if label is None or isinstance(self._elements[label].content, Empty):
            return TextRule.NONE
        return TextRule.ANY if self._elements[label].has_text else TextRule.SPACE

    def admits(
        self, element: Name, among: frozenset[Name], wanted: frozenset[Name] = frozenset()
    ) -> bool:
        """Whether some valid content uses only names of ``among`` and contains all of
        ``wanted``."""
        label = self._labels.get(element)
        if label is None:
            return not wanted
        if not wanted <= self._children[element].keys():
            return False
        return admits(
            self._elements[label].content,
            frozenset(self._labels[name] for name in among if name in self._labels),
            frozenset(self._labels[name] for name in wanted),
        )

    def _declared(self, label: str) -> Declared[str]:
        element = self._elements[label]
        name = self._names[label]
        return Declared(
            name=TreeName(*name),
            text=element.has_text,
            attributes=tuple(
                SchemaAttribute(TreeName(*attribute), rule.required)
                for attribute, rule in self._attributes[name].items()
            ),
            children=element.children,
        )

    def _rules(self, element: Element) -> dict[Name, AttributeRule]:
        rules = {}
        for attribute in element.attributes.values():
            values = frozenset(attribute.values) or None
            if attribute.default is Default.FIXED and attribute.value is not None:
                values = frozenset([attribute.value])
            # The reader never loads external DTDs, so defaults do not apply: only #REQUIRED is
            # certain.
            required = attribute.default is Default.REQUIRED
            name = self._resolver.attribute(attribute.name, element.where)
            rules[name] = AttributeRule(required=required, values=values)
        return rules
