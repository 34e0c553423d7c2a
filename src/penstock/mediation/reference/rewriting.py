"""The reference rewriting: builds the global document as a tree, one operator at a time.

First the Exchanges, each on the complete document. Then the elements in document order: at each its
ToElement, Downgrade, Insert, Upgrade and Rename.

Text stays in its element, with one exception. If the schema allows no text in a node, white space
only separates its children: when ``Insert+`` or ``Upgrade+`` moves them, everything from the first
child on is moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from penstock.documents import (
    Attribute,
    EndElement,
    Event,
    Name,
    Span,
    StartElement,
    Text,
    TextBreak,
)
from penstock.errors import error
from penstock.mediation import limits
from penstock.mediation.global_document import (
    Applied,
    GlobalDocument,
    GlobalElement,
    GlobalNode,
    GlobalText,
    merged,
)
from penstock.mediation.mapping import Mapping
from penstock.mediation.operators import (
    Downgrade,
    Exchange,
    Insert,
    Operator,
    Rename,
    ToElement,
    Upgrade,
)
from penstock.schema import NodePath, Place, SchemaNode


@dataclass(slots=True, eq=False)
class _Element:
    name: Name
    namespaces: tuple[tuple[str, str], ...]
    span: Span | None
    """Span in the original; ``None`` for an inserted element."""
    place: Place | None
    """The node of the local schema; ``None`` for inserted and unknown elements."""
    attributes: list[Attribute] = field(default_factory=list)
    children: list[_Node] = field(default_factory=list)
    attribute_names: list[Name] = field(init=False)
    """The original names of the attributes."""

    def __post_init__(self) -> None:
        self.attribute_names = [attribute.name for attribute in self.attributes]

    def elements(self) -> list[_Element]:
        return [child for child in self.children if isinstance(child, _Element)]


_Node: TypeAlias = _Element | Text | TextBreak


def rewrite(mapping: Mapping, events: Iterable[Event]) -> GlobalDocument:
    """Rewrite a document, given as events.

    Examples
    --------
    >>> from penstock.documents import read_events
    >>> mapping = Mapping.from_text('''penstock mapping 1
    ... course
    ...   @code
    ...   => to-element @code
    ...   => insert schedule (time)
    ...   time text
    ... ''')
    >>> events = read_events(b"<course code='db1'><time>noon</time></course>")
    >>> print(rewrite(mapping, events).to_xml(), end="")
    <course><code>db1</code><schedule><time>noon</time></schedule></course>
    """
    return _Rewriting(mapping).run(events)


class _Rewriting:
    def __init__(self, mapping: Mapping) -> None:
        self._schema = mapping.local.nodes()
        self._exchanges = [each for each in mapping.operators if isinstance(each, Exchange)]
        self._operators: dict[NodePath, list[Operator]] = {}
        for operator in mapping.operators:
            if not isinstance(operator, Exchange):
                self._operators.setdefault(operator.node, []).append(operator)
        self._above = _Element(Name("", ""), (), None, Place(()))
        self._unknown = 0
        self._copied = 0
        self._trace: list[Applied] = []

    def run(self, events: Iterable[Event]) -> GlobalDocument:
        self._read(events)
        for operator in self._exchanges:
            self._exchange(operator)
        self._rewrite()
        trees = _finished(self._above)
        return GlobalDocument(trees, self._unknown, tuple(self._trace))

    def _read(self, events: Iterable[Event]) -> None:
        """Builds the tree of the original, each element with its schema node."""
        open_elements = [self._above]
        for event in events:
            parent = open_elements[-1]
            if isinstance(event, StartElement):
                place = self._place(parent, event.name)
                self._unknown += place is None
                made = _Element(
                    event.name, event.namespaces, event.span, place, list(event.attributes)
                )
                parent.children.append(made)
                open_elements.append(made)
            elif isinstance(event, EndElement):
                open_elements.pop().span = event.span
            else:
                parent.children.append(event)

    def _place(self, parent: _Element, name: Name) -> Place | None:
        if parent.place is None:
            return None
        path = (*parent.place.path, name)
        return Place(path) if path in self._schema else None

    def _record(self, operator: Operator, element: _Element, what: str) -> None:
        span = element.span or merged(_spans_in(element))[0]
        self._trace.append(Applied(operator, span, what))

    # Exchange

    def _exchange(self, operator: Exchange) -> None:
        node = Place(operator.node)
        parents = [p for p in _all(self._above) if any(c.place == node for c in p.elements())]
        for parent in parents:
            parent.children = [
                child for each in parent.children for child in self._exchanged(each, operator)
            ]

    def _exchanged(self, node: _Node, operator: Exchange) -> list[_Node]:
        """The nodes that replace the node."""
        if not isinstance(node, _Element) or node.place != Place(operator.node):
            return [node]
        inner, rest = _split(node, frozenset([Place(operator.child)]))
        if not inner:
            self._record(operator, node, f"stays in place: it has no {operator.child[-1]}")
            return [node]
        node.children = rest
        inner[0].children.append(node)
        for each in inner[1:]:
            each.children.append(self._copy(node))
        self._record(operator, node, f"now in each of {len(inner)} {operator.child[-1]}")
        return list(inner)

    def _copy(self, element: _Element) -> _Element:
        top = replace(element, attributes=list(element.attributes))
        waiting = [top]
        while waiting:
            made = waiting.pop()
            values = sum(len(each.value.encode()) for each in made.attributes)
            texts = [len(each.text.encode()) for each in made.children if isinstance(each, Text)]
            copies = sum(1 + size // limits.COPIED_NODE_BYTES for size in (values, *texts))
            self._count_copies(copies)
            made.children = [
                replace(each, attributes=list(each.attributes))
                if isinstance(each, _Element)
                else replace(each)
                for each in made.children
            ]
            waiting.extend(made.elements())
        return top

    def _count_copies(self, nodes: int) -> None:
        """Refuses the document if too many nodes are copied or inserted."""
        self._copied += nodes
        if self._copied > limits.COPIES_MAX:
            message = f"more than {limits.COPIES_MAX} nodes would be copied or inserted"
            raise error("mapping.copies", message)

    # The other operators

    def _rewrite(self) -> None:
        self._at(self._above, None)
        # Iterates by index, because an Upgrade adds siblings after its element.
        waiting = [(self._above, 0)]
        while waiting:
            parent, index = waiting.pop()
            if index == len(parent.children):
                continue
            waiting.append((parent, index + 1))
            child = parent.children[index]
            if isinstance(child, _Element):
                self._at(child, parent)
                waiting.append((child, 0))

    def _at(self, element: _Element, parent: _Element | None) -> None:
        place = element.place
        if place is None or place.attribute is not None:
            return
        operators = self._operators.get(place.path, [])
        made = 0
        shared: dict[tuple[Name, ...], _Element] = {}
        for operator in operators:
            match operator:
                case ToElement():
                    made += self._to_element(element, operator, made)
                case Downgrade():
                    self._downgrade(element, operator)
                case Insert():
                    self._insert(element, operator, shared)
                case Upgrade():
                    self._upgrade(element, operator, parent)
        self._rename(element, [each for each in operators if isinstance(each, Rename)])

    def _to_element(self, element: _Element, operator: ToElement, index: int) -> bool:
        found = next((a for a in element.attributes if a.name == operator.attribute), None)
        if found is None:
            return False
        at = element.attributes.index(found)
        del element.attributes[at], element.attribute_names[at]
        place = Place(operator.node, operator.attribute)
        made = _Element(operator.name, element.namespaces, element.span, place)
        if found.value:
            assert element.span is not None, "operators apply to original elements"
            made.children.append(Text(found.value, element.span))
        element.children.insert(index, made)
        self._record(operator, element, f"@{found.name} is now an element {operator.name}")
        return True

    def _downgrade(self, element: _Element, operator: Downgrade) -> None:
        moved, rest = _split(element, operator.children)
        targets = [each for each in element.elements() if each.place == operator.target]
        if not moved:
            return
        if not targets:
            self._record(operator, element, f"{len(moved)} stay in place: there is no target")
            return
        element.children = rest
        for number, target in enumerate(targets):
            target.children.extend(moved if number == 0 else map(self._copy, moved))
        self._record(operator, element, f"{len(moved)} moved into each of {len(targets)}")

    def _taken(
        self, element: _Element, children: frozenset[Place] | None
    ) -> tuple[list[_Node], list[_Node]]:
        """The nodes that an Insert or Upgrade of these children moves, and the others."""
        if children is not None or self._has_text(element):
            moved, rest = _split(element, children)
            return list(moved), rest
        for index, child in enumerate(element.children):
            if isinstance(child, _Element):
                return element.children[index:], element.children[:index]
        return [], element.children

    def _has_text(self, element: _Element) -> bool:
        node: SchemaNode | None = self._schema.get(element.place.path) if element.place else None
        return node is not None and node.text

    def _insert(
        self, element: _Element, operator: Insert, shared: dict[tuple[Name, ...], _Element]
    ) -> None:
        """Applies an Insert; ``shared`` are the shared elements that earlier ones created."""
        moved, rest = self._taken(element, operator.children)
        if not moved:
            return
        element.children = rest
        namespaces = element.namespaces
        if element is self._above:
            first = moved[0]
            assert isinstance(first, _Element), "the virtual node has only elements"
            namespaces = first.namespaces
        inner, created = element, 0
        for length, name in enumerate(operator.path, 1):
            made = shared.get(operator.path[:length]) if length <= operator.shared else None
            if made is None:
                made = _Element(name, namespaces, None, None)
                inner.children.append(made)
                created += 1
            if length <= operator.shared:
                shared[operator.path[:length]] = made
            inner = made
        inner.children += moved
        self._count_copies(max(created - 1, 0))
        path = "/".join(map(str, operator.path))
        number = sum(isinstance(each, _Element) for each in moved)
        self._record(operator, element, f"{number} moved into a new {path}")

    def _upgrade(self, element: _Element, operator: Upgrade, parent: _Element | None) -> None:
        moved, rest = self._taken(element, operator.children)
        if not moved:
            return
        number = sum(isinstance(each, _Element) for each in moved)
        if parent is None or parent is self._above:
            # Only after an Exchange without effect; otherwise the mapping is invalid.
            self._record(
                operator, element, f"{number} stay in place: the root cannot have siblings"
            )
            return
        element.children = rest
        index = parent.children.index(element) + 1
        parent.children[index:index] = moved
        self._record(operator, element, f"{number} moved after it")

    def _rename(self, element: _Element, operators: list[Rename]) -> None:
        """Renames simultaneously, so that attributes can swap names."""
        attributes = element.attributes
        wanted = {each.attribute: each for each in operators}
        names = [wanted[a.name].name if a.name in wanted else a.name for a in attributes]
        while len(set(names)) < len(names):
            # An attribute unknown to the schema already has the name, so it takes precedence.
            names = [
                attribute.name if names.count(name) > 1 else name
                for name, attribute in zip(names, attributes, strict=True)
            ]
        for number, (name, attribute) in enumerate(zip(names, attributes, strict=True)):
            operator = wanted.get(attribute.name)
            if operator is None:
                continue
            if name == attribute.name:
                self._record(
                    operator, element, f"@{name} keeps its name: there is another {operator.name}"
                )
                continue
            attributes[number] = replace(attribute, name=name)
            self._record(operator, element, f"@{attribute.name} is now @{name}")
        if None in wanted:
            self._record(wanted[None], element, f"{element.name} is now {wanted[None].name}")
            element.name = wanted[None].name


def _split(
    element: _Element, children: frozenset[Place] | None
) -> tuple[list[_Element], list[_Node]]:
    """The child elements at these places (or all), and the other children."""
    chosen: list[_Element] = []
    rest: list[_Node] = []
    for child in element.children:
        if isinstance(child, _Element) and (children is None or child.place in children):
            chosen.append(child)
        else:
            rest.append(child)
    return chosen, rest


def _all(top: _Element) -> Iterator[_Element]:
    waiting = [top]
    while waiting:
        element = waiting.pop()
        yield element
        waiting.extend(element.elements())


def _spans_in(element: _Element) -> Iterator[Span]:
    """The spans of the content of an inserted element."""
    for each in _all(element):
        if each.span is not None:
            yield each.span
        yield from (child.span for child in each.children if isinstance(child, Text))


def _finished(above: _Element) -> tuple[GlobalElement, ...]:
    """Converts the trees, children before parents."""
    made: dict[_Element, GlobalElement] = {}
    for element in reversed(list(_all(above))):
        children = tuple(_joined(element.children, made))
        spans: tuple[Span, ...] = (element.span,) if element.span is not None else ()
        made[element] = GlobalElement(
            element.name,
            tuple(element.attributes),
            element.namespaces,
            spans or merged(span for child in children for span in _spans_of(child)),
            children,
            tuple(element.attribute_names),
        )
    return tuple(made[child] for child in above.elements())


def _joined(children: Iterable[_Node], made: dict[_Element, GlobalElement]) -> Iterator[GlobalNode]:
    """The children, with adjacent texts merged."""
    texts: list[Text] = []
    for child in children:
        if isinstance(child, Text):
            texts.append(child)
            continue
        if texts:
            yield _one(texts)
            texts = []
        yield made[child] if isinstance(child, _Element) else child
    if texts:
        yield _one(texts)


def _one(texts: list[Text]) -> GlobalText:
    return GlobalText("".join(t.text for t in texts), merged(t.span for t in texts))


def _spans_of(node: GlobalNode) -> tuple[Span, ...]:
    return () if isinstance(node, TextBreak) else node.spans
