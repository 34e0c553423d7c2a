"""The XML file of a cache: what a person sees of bare elements is indented.

Bare elements come without the whitespace between their children, of which the cache has nothing. A
line for each child is easier to edit. Only elements whose label path belongs to nothing but bare
elements without text are indented; when the file is read, whitespace in elements with these label
paths does not count. The rest of the file is canonical XML.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import TypeAlias

from penstock.sync import DocumentTree
from penstock.sync.document_tree import NewNode, NodeId, NodeKind, Place

LabelPath: TypeAlias = tuple[tuple[str, str], ...]
"""Expanded names from the root element downwards."""

_SCRATCH_REPLICA = 2_000_000_000
"""Identities of the whitespace, in a tree that nobody else sees."""

_WHITESPACE = " \t\r\n"


def indented_paths(tree: DocumentTree) -> frozenset[LabelPath]:
    """The label paths whose elements are indented."""
    found: set[LabelPath] = set()
    level = [tree.root] if tree.root is not None else []
    while level:
        groups: dict[LabelPath, list[NodeId]] = {}
        for element in level:
            groups.setdefault(tree.label_path(element), []).append(element)
        level = []
        for path, elements in groups.items():
            if all(tree.node(each).is_bare and not _texts(tree, each) for each in elements):
                found.add(path)
                level += [child for each in elements for child in _elements(tree, each)]
    return frozenset(found)


def write_document(tree: DocumentTree, paths: frozenset[LabelPath]) -> bytes:
    """The file of a cache; empty if the cache is."""
    if paths:
        tree = DocumentTree.from_snapshot(tree.snapshot())
        _indent(tree, paths)
    content = tree.canonical_xml()
    return content + b"\n" if content else b""


def read_document(content: bytes, paths: frozenset[LabelPath]) -> DocumentTree:
    """The tree of a file, without the whitespace of indented elements.

    Raises
    ------
    DocumentError
        The file was refused.
    """
    tree = DocumentTree.read(content)
    for element in _with_paths(tree, paths):
        for text in _texts(tree, element):
            if not tree.node(text).value.strip(_WHITESPACE):
                tree.delete(text)
    return tree


def encode_paths(paths: frozenset[LabelPath]) -> str:
    """Label paths as JSON."""
    return json.dumps(sorted(paths), ensure_ascii=False)


def decode_paths(text: str) -> frozenset[LabelPath]:
    """The label paths of JSON."""
    return frozenset(tuple((uri, local) for uri, local in path) for path in json.loads(text))


def _indent(tree: DocumentTree, paths: frozenset[LabelPath]) -> None:
    numbers = count(1)

    def insert(value: str, place: Place) -> None:
        node = NewNode(f"{_SCRATCH_REPLICA}.{next(numbers)}", 0, NodeKind.TEXT, value=value)
        tree.insert((node,), place)

    for element in list(_with_paths(tree, paths)):
        depth = len(tree.label_path(element))
        children = tree.children(element)
        for child in children:
            insert("\n" + "  " * depth, Place(element, ((child, False),)))
        if children:
            insert("\n" + "  " * (depth - 1), Place(element, ((children[-1], True),)))


def _with_paths(tree: DocumentTree, paths: frozenset[LabelPath]) -> Iterator[NodeId]:
    """The elements with these label paths, which contain the paths above each."""
    waiting = [tree.root] if tree.root is not None else []
    while waiting:
        element = waiting.pop()
        if tree.label_path(element) in paths:
            yield element
            waiting += _elements(tree, element)


def _elements(tree: DocumentTree, element: NodeId) -> list[NodeId]:
    return [each for each in tree.children(element) if tree.node(each).kind is NodeKind.ELEMENT]


def _texts(tree: DocumentTree, element: NodeId) -> list[NodeId]:
    return [each for each in tree.children(element) if tree.node(each).kind is NodeKind.TEXT]
