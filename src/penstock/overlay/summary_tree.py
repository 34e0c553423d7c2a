"""The data-summary tree: what the documents of a window look like, looked up by twig query.

A vertex stands for a label path and has the bitmap of the documents that contain it. The paper's
tree knows no more, so that ``a[b][c]`` is found where ``b`` and ``c`` are in different ``a``, and
values are ignored. Here a vertex also distinguishes its *instances* by signature: the names of
children and attributes that occur together, with the values of attributes and of children that
contain nothing but text. A look-up finds every document that matches, and may find others: where
conditions meet below different children, and for comparisons other than of equal strings.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Final, TypeAlias

from penstock.documents import (
    Document,
    EndElement,
    Limits,
    Name,
    StartElement,
    Text,
    read_events,
)
from penstock.errors import DocumentError
from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    Exists,
    Expr,
    Kind,
    NameTest,
    Op,
    Or,
    Path,
    Query,
    Step,
)
from penstock.overlay.limits import (
    SUMMARY_DOCUMENT_BYTES_MAX,
    SUMMARY_SIGNATURES_MAX,
    SUMMARY_VALUE_CHARACTERS_MAX,
    SUMMARY_VERTICES_MAX,
)

Feature: TypeAlias = tuple[str, Name, str]
"""What an instance has: a child, an attribute, or one of them with a value."""

_CHILD: Final = "child"
_ATTRIBUTE: Final = "attribute"
_CHILD_VALUE: Final = "child value"
_ATTRIBUTE_VALUE: Final = "attribute value"
_UNKNOWN_VALUE: Final = "child with unknown value"
_NOWHERE: Final = Name("", "")


class _Vertex:
    __slots__ = ("bits", "children", "name", "parent", "signatures", "undistinguished", "used_at")

    def __init__(self, name: Name, parent: _Vertex | None) -> None:
        self.name = name
        self.parent = parent
        self.children: dict[Name, _Vertex] = {}
        self.bits = 0
        self.signatures: OrderedDict[frozenset[Feature], int] = OrderedDict()
        self.undistinguished = 0
        """Documents with instances whose signatures were evicted."""
        self.used_at = 0


class _Instance:
    """An open element while a document is read."""

    __slots__ = ("features", "has_elements", "name", "text", "vertex")

    def __init__(self, vertex: _Vertex, name: Name) -> None:
        self.vertex = vertex
        self.name = name
        self.features: set[Feature] = set()
        self.text: list[str] = []
        self.has_elements = False


class DataSummaryTree:
    """The documents of a window by label path.

    Documents are read when the first look-up needs them: most peers are never asked.

    Examples
    --------
    >>> from penstock.documents import Header
    >>> from penstock.language import parse
    >>> tree = DataSummaryTree(window=10)
    >>> for number, content in enumerate([b"<a><b/><c/></a>", b"<r><a><b/></a><a><c/></a></r>"], 1):
    ...     tree.observe(number, Document(content, Header(publisher="wire")))
    >>> f"{tree.look_up_query(parse('//a[b]'), 1, 2):02b}"
    '11'
    >>> f"{tree.look_up_query(parse('//a[b][c]'), 1, 2):02b}"
    '01'
    """

    def __init__(
        self,
        window: int,
        *,
        limits: Limits | None = None,
        vertices_max: int = SUMMARY_VERTICES_MAX,
        bytes_max: int = SUMMARY_DOCUMENT_BYTES_MAX,
    ) -> None:
        self._window = window
        self._limits = limits or Limits()
        self._vertices_max = vertices_max
        self._bytes_max = bytes_max
        self._documents: deque[tuple[int, Document]] = deque()
        self._bytes = 0
        self._read_through = 0
        self._origin = 0
        self._root = _Vertex(_NOWHERE, None)
        self._vertices = 0
        self._clock = 0
        self.evicted = 0
        """Vertices that were evicted."""
        self.evicted_documents = 0
        """Documents that were evicted before they left the window."""

    def __len__(self) -> int:
        """Number of vertices."""
        return self._vertices

    @property
    def documents(self) -> tuple[tuple[int, Document], ...]:
        """The documents of the window with their sequence numbers."""
        return tuple(self._documents)

    def clear(self) -> None:
        """Forget everything."""
        self._documents.clear()
        self._bytes = 0
        self._root = _Vertex(_NOWHERE, None)
        self._vertices = self._read_through = self._origin = 0

    def observe(self, sequence: int, document: Document) -> None:
        """Add a document; those that leave the window of sequence numbers are forgotten, and the
        oldest ones at the bound of bytes."""
        while self._documents and self._documents[0][0] <= sequence - self._window:
            self._forget_oldest()
        self._documents.append((sequence, document))
        self._bytes += len(document.content)
        while self._bytes > self._bytes_max:
            self._forget_oldest()
            self.evicted_documents += 1

    def _forget_oldest(self) -> None:
        _, document = self._documents.popleft()
        self._bytes -= len(document.content)

    def look_up_query(self, query: Query, first: int, last: int) -> int:
        """The documents ``first`` to ``last`` that may match, from bit 0 on."""
        self._read_pending()
        bits = 0
        for branch in query.branches:
            bits |= self._below(self._root, branch.steps, 0)
        shift = first - self._origin
        bits = bits >> shift if shift >= 0 else bits << -shift
        return bits & ((1 << max(0, last - first + 1)) - 1)

    # Reading

    def _read_pending(self) -> None:
        pending = [each for each in self._documents if each[0] > self._read_through]
        if not pending:
            return
        self._rebase(self._documents[0][0])
        for sequence, document in pending:
            self._read_through = sequence
            try:
                self._read(1 << (sequence - self._origin), document)
            except DocumentError:
                continue

    def _rebase(self, oldest: int) -> None:
        """Forget documents that have left the window, and the vertices of no others."""
        shift = oldest - self._origin
        if shift < self._window and self._origin:
            return
        self._origin = oldest
        waiting = [self._root]
        while waiting:
            vertex = waiting.pop()
            vertex.bits >>= shift
            vertex.undistinguished >>= shift
            for signature, bits in list(vertex.signatures.items()):
                if bits >> shift:
                    vertex.signatures[signature] = bits >> shift
                else:
                    del vertex.signatures[signature]
            for name, child in list(vertex.children.items()):
                if child.bits >> shift:
                    waiting.append(child)
                else:
                    self._vertices -= sum(1 for _ in _subtree(child))
                    del vertex.children[name]

    def _read(self, bit: int, document: Document) -> None:
        opened = [_Instance(self._root, _NOWHERE)]
        for event in read_events(document.content, limits=self._limits):
            match event:
                case StartElement(name=name):
                    vertex = self._vertex(opened[-1].vertex, name)
                    opened[-1].has_elements = True
                    instance = _Instance(vertex, name)
                    for attribute in event.attributes:
                        instance.features.add((_ATTRIBUTE, attribute.name, ""))
                        value = attribute.value[:SUMMARY_VALUE_CHARACTERS_MAX]
                        instance.features.add((_ATTRIBUTE_VALUE, attribute.name, value))
                    opened.append(instance)
                case Text(text=text):
                    opened[-1].text.append(text)
                case EndElement():
                    instance = opened.pop()
                    self._close(bit, instance, opened[-1])
                case _:
                    pass
        self._evict()

    def _close(self, bit: int, instance: _Instance, parent: _Instance) -> None:
        parent.features.add((_CHILD, instance.name, ""))
        if instance.has_elements:
            parent.features.add((_UNKNOWN_VALUE, instance.name, ""))
        else:
            value = "".join(instance.text)[:SUMMARY_VALUE_CHARACTERS_MAX]
            parent.features.add((_CHILD_VALUE, instance.name, value))
        vertex = instance.vertex
        vertex.bits |= bit
        signature = frozenset(instance.features)
        vertex.signatures[signature] = vertex.signatures.pop(signature, 0) | bit
        if len(vertex.signatures) > SUMMARY_SIGNATURES_MAX:
            _, bits = vertex.signatures.popitem(last=False)
            vertex.undistinguished |= bits

    def _vertex(self, parent: _Vertex, name: Name) -> _Vertex:
        vertex = parent.children.get(name)
        if vertex is None:
            vertex = parent.children[name] = _Vertex(name, parent)
            self._vertices += 1
        self._clock += 1
        vertex.used_at = self._clock
        return vertex

    def _evict(self) -> None:
        """Evict the least recently used leaves, down to nine tenths of the bound."""
        if self._vertices <= self._vertices_max:
            return
        target = self._vertices_max * 9 // 10
        while self._vertices > target:
            leaves = [each for each in _subtree(self._root) if not each.children]
            leaves.sort(key=lambda vertex: vertex.used_at)
            for leaf in leaves[: self._vertices - target]:
                assert leaf.parent is not None
                del leaf.parent.children[leaf.name]
                self._vertices -= 1
                self.evicted += 1

    # Looking up

    def _below(self, vertex: _Vertex, steps: tuple[Step, ...], position: int) -> int:
        """Documents in which the steps from a position on select something below a vertex."""
        step = steps[position]
        if step.kind is not Kind.ELEMENT:
            return vertex.bits if step.axis is Axis.CHILD else self._with_descendants(vertex)
        bits = 0
        for child in self._selected(vertex, step):
            self._clock += 1
            child.used_at = self._clock
            bits |= self._at(child, steps, position)
        return bits

    def _with_descendants(self, vertex: _Vertex) -> int:
        if vertex is not self._root:
            return vertex.bits
        bits = 0
        for child in vertex.children.values():
            bits |= child.bits
        return bits

    def _selected(self, vertex: _Vertex, step: Step) -> Iterator[_Vertex]:
        if step.axis is Axis.CHILD:
            candidates: Iterator[_Vertex] = iter(vertex.children.values())
        else:
            candidates = (each for each in _subtree(vertex) if each is not vertex)
        return (each for each in candidates if _is_named(step.test, each.name))

    def _at(self, vertex: _Vertex, steps: tuple[Step, ...], position: int) -> int:
        """Documents with an instance of a vertex that satisfies a step and the steps after it."""
        required: list[frozenset[Feature]] = []
        bits = vertex.bits
        for predicate in steps[position].predicates:
            bits &= self._condition(vertex, predicate, required)
        if position + 1 < len(steps):
            bits &= self._path(vertex, steps[position + 1 :], None, required)
        return bits & _instances(vertex, required) if bits else 0

    def _condition(self, vertex: _Vertex, expr: Expr, required: list[frozenset[Feature]]) -> int:
        """Documents in which a predicate may hold at a vertex; what an instance must have is added
        to ``required``. What the tree does not know counts as true."""
        match expr:
            case And(items):
                bits = vertex.bits
                for item in items:
                    bits &= self._condition(vertex, item, required)
                return bits
            case Or(items):
                bits = 0
                for item in items:
                    of_item: list[frozenset[Feature]] = []
                    found = self._condition(vertex, item, of_item)
                    bits |= found & _instances(vertex, of_item)
                return bits
            case Exists(path):
                return self._path(vertex, path.steps, None, required)
            case Compare(Path(steps), Op.EQ, str(literal)):
                return self._path(vertex, steps, literal, required)
            case Compare(Path(steps)):
                return self._path(vertex, steps, None, required)
            case _:
                return vertex.bits

    def _path(
        self,
        vertex: _Vertex,
        steps: tuple[Step, ...],
        literal: str | None,
        required: list[frozenset[Feature]],
    ) -> int:
        if not steps:
            return vertex.bits
        first = steps[0]
        features = _features(first, literal if len(steps) == 1 else None)
        if features is not None:
            required.append(features)
        if first.kind is not Kind.ELEMENT:
            return self._with_descendants(vertex)
        return self._below(vertex, steps, 0)


def _instances(vertex: _Vertex, required: list[frozenset[Feature]]) -> int:
    """Documents with an instance that has one feature of each required set."""
    if not required:
        return vertex.bits
    bits = vertex.undistinguished
    for signature, documents in vertex.signatures.items():
        if not any(signature.isdisjoint(each) for each in required):
            bits |= documents
    return bits


def _features(step: Step, literal: str | None) -> frozenset[Feature] | None:
    """Of what an instance must have one for a step to select a node; ``None`` if unknown."""
    if step.axis is not Axis.CHILD or step.test.uri is None or step.test.local is None:
        return None
    name = Name(step.test.uri, step.test.local)
    value = None if literal is None else literal[:SUMMARY_VALUE_CHARACTERS_MAX]
    if step.kind is Kind.ATTRIBUTE:
        return frozenset(
            {(_ATTRIBUTE, name, "") if value is None else (_ATTRIBUTE_VALUE, name, value)}
        )
    if step.kind is Kind.TEXT:
        return None
    if value is None or step.predicates:
        return frozenset({(_CHILD, name, "")})
    return frozenset({(_CHILD_VALUE, name, value), (_UNKNOWN_VALUE, name, "")})


def _is_named(test: NameTest, name: Name) -> bool:
    return (test.uri is None or test.uri == name.uri) and (
        test.local is None or test.local == name.local
    )


def _subtree(vertex: _Vertex) -> Iterator[_Vertex]:
    waiting = [vertex]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(found.children.values())
