"""Schema trees as editable text: an outline with one line per node.

Mapping files are outlines too, with operator lines below the nodes. This module parses both, and
leaves the text after ``=>`` to mediation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields

from penstock.documents import Name
from penstock.errors import PenstockError, Where, error
from penstock.language.relations.path_universe import Occurs
from penstock.schema.labels import Labels
from penstock.schema.limits import FILE_DEPTH_MAX, UnfoldLimits
from penstock.schema.tree import ONCE, NodePath, SchemaAttribute, SchemaNode, SchemaTree

INDENT = 2
"""Spaces per indentation level."""

SIGNS = {
    Occurs(required=True, many=False): "",
    Occurs(required=False, many=False): "?",
    Occurs(required=False, many=True): "*",
    Occurs(required=True, many=True): "+",
}
"""The occurrence indicators after a node's name."""

_OCCURS = {sign: occurs for occurs, sign in SIGNS.items()}
_NODE = re.compile(r"(?P<label>[^\s?*+@]+)(?P<sign>[?*+]?)(?P<text> text)?(?P<cut> \.\.\.)?")
_ATTRIBUTE = re.compile(r"@(?P<label>[^\s?]+)(?P<sign>\??)")
_LIMITS = {each.name for each in fields(UnfoldLimits)}
_EDITION = re.compile(
    r"domain (?P<domain>\S+) version (?P<version>[1-9][0-9]{0,8})(?: after (?P<after>\S+))?"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an outline with its position."""

    text: str
    depth: int | None
    """Indentation level; ``None`` if the indentation is invalid."""
    where: Where


@dataclass(frozen=True, slots=True)
class Note:
    """The text after ``=>`` below a node."""

    path: NodePath
    text: str
    where: Where


@dataclass(frozen=True, slots=True)
class Edition:
    """Domain and version of a global schema: ``domain NAME version N after DIGEST``."""

    domain: str
    version: int
    predecessor: str | None = None
    """Digest of the previous version."""

    def __str__(self) -> str:
        after = f" after {self.predecessor}" if self.predecessor else ""
        return f"domain {self.domain} version {self.version}{after}"


@dataclass(frozen=True, slots=True)
class Outline:
    """A parsed outline."""

    tree: SchemaTree
    notes: tuple[Note, ...]
    labels: Labels
    edition: Edition | None


@dataclass(slots=True)
class _Draft:
    node: SchemaNode
    path: NodePath
    where: Where
    attributes: dict[Name, SchemaAttribute] = field(default_factory=dict)
    children: dict[Name, _Draft] = field(default_factory=dict)


def print_tree(tree: SchemaTree, edition: Edition | None = None) -> str:
    """Print a tree as a schema file; for a global schema with its ``edition``.

    >>> from penstock.schema import SchemaGraph
    >>> dtd = "<!ELEMENT a (b+)> <!ATTLIST a n CDATA #IMPLIED> <!ELEMENT b (#PCDATA)>"
    >>> print(print_tree(SchemaGraph.from_dtd(dtd).tree()), end="")
    penstock schema 1
    <BLANKLINE>
    a
      @n?
      b+ text
    """
    named = [] if edition is None else [str(edition)]
    return print_schema(tree, [*named, *(f"# {remark}" for remark in tree.remarks)])


def print_schema(tree: SchemaTree, head: Iterable[str]) -> str:
    """Prints a schema file with these header lines."""
    labels = Labels.for_names(
        name for place in tree.places() for name in (*place.path[-1:], place.attribute) if name
    )
    return print_outline("schema", tree, labels, lambda _path: (), head)


def print_outline(
    kind: str,
    tree: SchemaTree,
    labels: Labels,
    notes: Callable[[NodePath], Iterable[str]],
    head: Iterable[str] = (),
) -> str:
    """Prints an outline of this kind; ``notes`` returns the texts after ``=>`` below each node.

    Without ``head``, equal trees have equal text: digests are computed from it.
    """
    lines = [f"penstock {kind} 1", *labels.lines()]
    lines += [f"cut {limit}" for limit in sorted(tree.cut_at)]
    lines += [*head, "", *(f"=> {note}" for note in notes(()))]
    for path, node in tree.nodes().items():
        margin = " " * INDENT * (len(path) - 1)
        flags = f"{' text' if node.text else ''}{' ...' if node.cut else ''}"
        lines.append(f"{margin}{labels.label(path[-1])}{SIGNS[node.occurs]}{flags}")
        inner = margin + " " * INDENT
        for attribute in node.attributes:
            sign = "" if attribute.required else "?"
            lines.append(f"{inner}@{labels.label(attribute.name)}{sign}")
        lines += [f"{inner}=> {note}" for note in notes(path)]
    return "\n".join(lines) + "\n"


def read_tree(text: str) -> SchemaTree:
    """Parse a schema file; raises :class:`~penstock.errors.SchemaError` if it is invalid."""
    outline = read_outline(text, "schema", "schema.file")
    for note in outline.notes:
        raise error(
            "schema.file", "a schema must not contain operators; this is a mapping file", note.where
        )
    return outline.tree


def read_outline(text: str, kind: str, code: str) -> Outline:
    """Parse an outline of this kind; errors have this code."""
    return _Reader(kind, code).read(text)


class _Reader:
    def __init__(self, kind: str, code: str) -> None:
        self._kind = kind
        self._code = code
        self._labels = Labels()
        self._cut_at: set[str] = set()
        self._edition: Edition | None = None
        self._notes: list[Note] = []
        self._open: list[_Draft] = []
        self._root: _Draft | None = None

    def read(self, text: str) -> Outline:
        lines = lines_of(text)
        first = next(lines, Line("", 0, Where(0, 1, 1)))
        if first.text != f"penstock {self._kind} 1":
            raise self._refuse(f"the first line must be `penstock {self._kind} 1`", first.where)
        for line in lines:
            self._line(line)
        if self._root is None:
            raise self._refuse("there is no node", Where(len(text), text.count("\n") + 1, 1))
        tree = SchemaTree(_finished(self._root), frozenset(self._cut_at))
        return Outline(tree, tuple(self._notes), self._labels, self._edition)

    def _refuse(self, message: str, where: Where) -> PenstockError:
        return error(self._code, message, where)

    def _line(self, line: Line) -> None:
        if self._root is None and _is_directive(line.text):
            self._directive(line)
        elif line.text.startswith("=>"):
            self._close_to(line)
            path = self._open[-1].path if self._open else ()
            self._notes.append(Note(path, line.text[2:].strip(), line.where))
        elif line.text.startswith("@"):
            self._attribute(line)
        else:
            self._node(line)

    def _directive(self, line: Line) -> None:
        limit = line.text.removeprefix("cut ").strip()
        if line.text.startswith("cut ") and limit in _LIMITS:
            self._cut_at.add(limit)
        elif line.text.startswith("domain "):
            self._domain(line)
        elif not self._labels.read_line(line.text):
            message = "expected `namespace PREFIX URI`, both new, or `cut LIMIT`"
            raise self._refuse(message, line.where)

    def _domain(self, line: Line) -> None:
        found = _EDITION.fullmatch(line.text)
        if found is None or self._kind != "schema" or self._edition is not None:
            message = "expected, once and in a schema, `domain NAME version N`"
            raise self._refuse(message, line.where)
        self._edition = Edition(found["domain"], int(found["version"]), found["after"])

    def _close_to(self, line: Line) -> None:
        """Closes the nodes that do not contain the line."""
        if line.depth is None:
            raise self._refuse(f"each level is indented by {INDENT} spaces", line.where)
        if line.depth > len(self._open):
            raise self._refuse("the line is indented too far: it has no parent", line.where)
        del self._open[line.depth :]

    def _attribute(self, line: Line) -> None:
        self._close_to(line)
        found = _ATTRIBUTE.fullmatch(line.text)
        name = self._labels.name(found["label"]) if found else None
        if found is None or name is None or not self._open:
            raise self._refuse("expected an attribute of a node: `@name` or `@name?`", line.where)
        owner = self._open[-1]
        if name in owner.attributes:
            raise self._refuse(f"duplicate attribute {found['label']!r}", line.where)
        owner.attributes[name] = SchemaAttribute(name, required=not found["sign"])

    def _node(self, line: Line) -> None:
        self._close_to(line)
        found = _NODE.fullmatch(line.text)
        name = self._labels.name(found["label"]) if found else None
        if found is None or name is None:
            raise self._refuse("expected a node: `name`, `name?`, `name* text`", line.where)
        occurs = _OCCURS[found["sign"]]
        above = self._open[-1] if self._open else None
        path = (*(above.path if above else ()), name)
        node = SchemaNode(name, occurs, bool(found["text"]), cut=bool(found["cut"]))
        if len(path) > FILE_DEPTH_MAX:
            raise self._refuse(f"more than {FILE_DEPTH_MAX} levels", line.where)
        draft = _Draft(node, path, line.where)
        if above is None:
            if self._root is not None:
                raise self._refuse("a second root", line.where)
            if occurs != ONCE:
                raise self._refuse("the root must not have an occurrence indicator", line.where)
            self._root = draft
        elif name in above.children:
            raise self._refuse(f"duplicate child {found['label']!r}", line.where)
        else:
            above.children[name] = draft
        self._open.append(draft)


def _is_directive(text: str) -> bool:
    """Whether a line above the root is a directive; the root itself may be named ``cut``."""
    return text.startswith(("namespace ", "cut ", "domain ")) and not _NODE.fullmatch(text)


def lines_of(text: str) -> Iterator[Line]:
    """The lines that are neither blank nor comments (starting with ``#``)."""
    offset = 0
    for number, whole in enumerate(text.split("\n"), start=1):
        said = whole.strip()
        if said and not said.startswith("#"):
            margin = len(whole) - len(whole.lstrip())
            is_clear = whole[:margin] == " " * margin and margin % INDENT == 0
            depth = margin // INDENT if is_clear else None
            yield Line(said, depth, Where(offset + margin, number, margin + 1))
        offset += len(whole) + 1


def _finished(root: _Draft) -> SchemaNode:
    drafts = [root]
    for draft in drafts:
        drafts.extend(draft.children.values())
    nodes: dict[int, SchemaNode] = {}
    for draft in reversed(drafts):
        nodes[id(draft)] = SchemaNode(
            draft.node.name,
            draft.node.occurs,
            draft.node.text,
            tuple(draft.attributes.values()),
            tuple(nodes.pop(id(child)) for child in draft.children.values()),
            draft.node.cut,
        )
    return nodes[id(root)]
